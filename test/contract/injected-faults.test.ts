// Every other test relies on the response checks, so they must be able to fail: each fault is injected into a copy of a
// valid response, and the checks must detect it.
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { ApiResponse } from '../support/api-client.ts';
import { createDatabase } from '../support/database.ts';
import { ContractViolation, checkAgainstContract } from '../support/response-check.ts';
import { cases, titleOf } from './dredd/cases.ts';
import { check } from './dredd/check.ts';
import { buildRequest, send } from './dredd/draft.ts';
import { startEnvironment, type TestEnvironment } from './dredd/environment.ts';
import { prepare } from './dredd/prepare.ts';
import { faults } from './injected-faults/faults.ts';

let environment: TestEnvironment;

beforeAll(async () => {
  environment = await startEnvironment(await createDatabase());
  // The rows of this user get the first ids, so that some faults can use the id 1 as a row of another user.
  await environment.main.createUser();
});
afterAll(() => environment.stop());

test.each(faults)('detects $title', async ({ caseTitle, inject, conformsToContract }) => {
  const testCase = cases.find((one) => titleOf(one) === caseTitle);
  if (!testCase) throw new Error(`There is no case ${caseTitle}.`);
  const draft = await prepare(testCase, environment);
  const fetched = await send(draft);
  draft.cleanUp?.();
  const text = await fetched.text();
  const valid: ApiResponse = { status: fetched.status, headers: fetched.headers, text, body: text === '' ? undefined : JSON.parse(text) };
  await check(draft, valid);
  const faulty = { ...valid, headers: new Headers(valid.headers), body: structuredClone(valid.body) };
  inject(faulty);
  const { method, path } = buildRequest(draft);
  if (!conformsToContract) expect(() => checkAgainstContract(method, path, faulty)).toThrow(ContractViolation);
  await expect(check(draft, faulty)).rejects.toThrow();
});

test('injects each fault into a different case', () => {
  expect(new Set(faults.map(({ caseTitle }) => caseTitle)).size).toBe(faults.length);
});
