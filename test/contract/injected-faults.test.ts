// Every other test relies on the response checks, so they must be able to fail: each fault is injected into a copy of a
// valid response, and the checks must detect it.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createDatabase } from '../support/database.ts';
import { ContractViolation, checkAgainstContract } from '../support/response-check.ts';
import { cases, titleOf } from './cases/cases.ts';
import { check } from './cases/check.ts';
import { buildRequest } from './cases/draft.ts';
import { startEnvironment, type TestEnvironment } from './cases/environment.ts';
import { prepare } from './cases/prepare.ts';
import { responseTo } from './cases/run-cases.ts';
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
  const valid = await responseTo(draft);
  await check(draft, valid);
  const faulty = { ...valid, headers: new Headers(valid.headers), body: structuredClone(valid.body) };
  inject(faulty);
  const { method, path } = buildRequest(draft);
  const checkFaulty = () => checkAgainstContract(method, path, faulty, { allowsOtherHeaders: false });
  if (!conformsToContract) expect(checkFaulty).toThrow(ContractViolation);
  await expect(check(draft, faulty)).rejects.toThrow();
});

test('injects each fault into a different case', () => {
  expect(new Set(faults.map(({ caseTitle }) => caseTitle)).size).toBe(faults.length);
});
