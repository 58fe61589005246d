// How many failures a monitor needs to go down, and how long the claim of its check lasts.
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { queryInTransaction } from '../../../src/db/statement.ts';
import { leaseMs } from '../../../src/monitoring/engine/claim.ts';
import { recordResults } from '../../../src/monitoring/engine/record.ts';
import { startService, type TestService, type TestUser } from '../../support/service.ts';
import { createMonitor } from '../factories.ts';
import { readIncidents, readMonitor } from '../heartbeats/heartbeat-monitors.ts';
import { claimOf, makeOverdue, secondsUntilDue, succeeded } from './due-monitors.ts';

let service: TestService;
let user: TestUser;

beforeAll(async () => {
  service = await startService();
});
beforeEach(async () => {
  user = await service.createUser();
});
afterAll(() => service.stop());

const failure = { up: false, cause: 'HTTP 503', statusCode: 503 } as const;

/** Lets one check fail. Returns the seconds until the next one. */
async function fail(): Promise<number> {
  await service.database.asEngine((em) => makeOverdue(em, user.id));
  const claims = await service.database.asEngine((em) => claimOf(em, user.id, 1));
  expect(claims).toHaveLength(1);
  // Within one transaction the time stands still.
  const [seconds = Number.NaN] = await service.database.asEngine(async (em) => {
    await recordResults(
      queryInTransaction(em),
      claims.map((claim) => ({ ...succeeded(claim), result: failure })),
    );
    return secondsUntilDue(em, user.id);
  });
  return seconds;
}

test.each([0, 1, 2, 5])('with %i confirmations, so many more failures, 5 seconds apart, bring a monitor down', async (confirmations) => {
  const monitor = await createMonitor(user, { confirmations });
  for (let count = 0; count < confirmations; count++) {
    expect(await fail()).toBeCloseTo(5, 2);
    expect(await readMonitor(user, monitor)).toMatchObject({ status: 'pending', last_error: 'HTTP 503' });
  }
  await fail();
  expect(await readMonitor(user, monitor)).toMatchObject({ status: 'down' });
  expect(await readIncidents(user, monitor)).toHaveLength(1);
});

test('fewer confirmations count from the next failure on, and what has failed before still counts', async () => {
  const monitor = await createMonitor(user, { confirmations: 5 });
  await fail();
  await fail();
  await user.api.put(monitor.path, { json: { confirmations: 1 } });
  expect(await readMonitor(user, monitor)).toMatchObject({ status: 'pending' });
  await fail();
  expect(await readMonitor(user, monitor)).toMatchObject({ status: 'down' });
  expect(await readIncidents(user, monitor)).toHaveLength(1);
});

test('more confirmations do not bring a monitor up that is down', async () => {
  const monitor = await createMonitor(user, { confirmations: 0 });
  await fail();
  await user.api.put(monitor.path, { json: { confirmations: 5 } });
  await fail();
  expect(await readMonitor(user, monitor)).toMatchObject({ status: 'down' });
  expect(await readIncidents(user, monitor)).toHaveLength(1);
});

test.each([1, 10, 30])('the claim of a check with a timeout of %i seconds lasts 20 seconds longer', async (timeout_seconds) => {
  await createMonitor(user, { timeout_seconds });
  await service.database.asEngine((em) => makeOverdue(em, user.id));
  // Within one transaction the time stands still.
  const [claims, [seconds]] = await service.database.asEngine(async (em) => [
    await claimOf(em, user.id, 1),
    await secondsUntilDue(em, user.id),
  ]);
  expect(seconds).toBeCloseTo(timeout_seconds + 20, 2);
  expect(claims.map(leaseMs)).toEqual([(timeout_seconds + 20) * 1000]);
});
