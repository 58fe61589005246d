// The checks that every other test relies on must be able to say no: each fault is planted in a copy of a good answer.
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { ApiResponse } from '../support/api-client.ts';
import { createDatabase } from '../support/database.ts';
import { ContractViolation, checkAgainstContract } from '../support/response-check.ts';
import { cases, titleOf } from './dredd/cases.ts';
import { check } from './dredd/check.ts';
import { compose, send } from './dredd/draft.ts';
import { prepare } from './dredd/prepare.ts';
import { openWorld, type World } from './dredd/world.ts';
import { faults } from './planted/faults.ts';

let world: World;

beforeAll(async () => {
  world = await openWorld(await createDatabase());
  // Somebody else's rows, which have the first ids.
  await world.main.createUser();
});
afterAll(() => world.stop());

test.each(faults)('$title is caught', async ({ on, plant, unseen }) => {
  const tried = cases.find((one) => titleOf(one) === on);
  if (!tried) throw new Error(`There is no case ${on}.`);
  const draft = await prepare(tried, world);
  const response = await send(draft);
  draft.after?.();
  const text = await response.text();
  const good: ApiResponse = { status: response.status, headers: response.headers, text, body: text === '' ? undefined : JSON.parse(text) };
  await check(draft, good);
  const copy = { ...good, headers: new Headers(good.headers), body: structuredClone(good.body) };
  plant(copy);
  const { method, path } = compose(draft);
  if (!unseen) expect(() => checkAgainstContract(method, path, copy)).toThrow(ContractViolation);
  await expect(check(draft, copy)).rejects.toThrow();
});

test('each fault has a case of its own', () => {
  expect(new Set(faults.map(({ on }) => on)).size).toBe(faults.length);
});
