// What last_error says about a check that could not run.
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { LocalFailure } from '../../../src/monitoring/checks/local-failure.ts';
import { NoNetwork } from '../../../src/monitoring/engine/connectivity.ts';
import { recordResults } from '../../../src/monitoring/engine/record.ts';
import { releaseClaims } from '../../../src/monitoring/engine/release.ts';
import { startService, type TestService, type TestUser } from '../../support/service.ts';
import { claimOf, createMonitors, makeOverdue, secondsUntilDue } from './due-monitors.ts';

let service: TestService;
let user: TestUser;

beforeAll(async () => {
  service = await startService();
});
beforeEach(async () => {
  user = await service.createUser();
  await createMonitors(service.database, user.id, 1);
});
afterAll(() => service.stop());

async function claimMonitor() {
  await service.database.asEngine((em) => makeOverdue(em, user.id));
  const [claim] = await service.database.asEngine((em) => claimOf(em, user.id, 1));
  if (!claim) throw new Error('The monitor was not claimed.');
  return claim;
}

/** Claims the monitor and releases it. Returns what is stored then. */
async function release(failure?: LocalFailure) {
  const { database } = service;
  const claim = await claimMonitor();
  await database.engineTransaction((query) => releaseClaims(query, [failure ? { claim, failure } : { claim }], 10));
  const [row] = await database.asUser(user.id, (em) =>
    em.execute<{ error: string | null; version: number }[]>('select last_error as error, state_version as version from monitors'),
  );
  return row;
}

const morning = new NoNetwork(new Date('2026-05-04T10:12:00.123Z'));
const filesOpen = new LocalFailure('too many open files locally');

test('the time at which the network was lost stays, whichever process notices it later', async () => {
  const error = 'not checked since 2026-05-04T10:12:00Z: no network here';
  const before = await release(morning);
  expect(before).toMatchObject({ error });
  for (const later of [new NoNetwork(new Date('2026-05-04T11:00:00Z')), new NoNetwork(undefined)]) {
    expect(await release(later)).toEqual(before);
  }
});

test('a lost network replaces another reason', async () => {
  expect(await release(filesOpen)).toMatchObject({ error: 'not checked: too many open files locally' });
  expect(await release(morning)).toMatchObject({ error: 'not checked since 2026-05-04T10:12:00Z: no network here' });
});

test('the cause of a failed check stays while the next checks may still confirm it', async () => {
  const result = { up: false, cause: 'HTTP 503', statusCode: 503 } as const;
  const completed = [{ claim: await claimMonitor(), result, startedMs: performance.now() }];
  await service.database.engineTransaction((query) => recordResults(query, completed));
  const rows = await service.database.asUser(user.id, (em) => em.execute('select status, failures from monitors'));
  expect(rows).toEqual([{ status: 'pending', failures: 1 }]);
  expect(await release(filesOpen)).toMatchObject({ error: 'HTTP 503' });
});

test('the version changes with last_error only, and a shutdown changes neither', async () => {
  const [first, second, third] = [await release(filesOpen), await release(filesOpen), await release()];
  expect([second, third]).toEqual([first, first]);
  expect((await release(morning))?.version).toBe((first?.version ?? 0) + 1);
});

test('without a network a monitor waits for its turn within a minute, and a passive one for a whole period', async () => {
  const untilDue = async () => (await service.database.asEngine((em) => secondsUntilDue(em, user.id)))[0];
  const setGrace = (grace: number | null) =>
    service.database.asUser(user.id, (em) => em.execute('update monitors set interval_seconds = 3600, grace_seconds = ?', [grace], 'run'));
  await setGrace(null);
  await release(new NoNetwork(undefined));
  expect(await untilDue()).toBeLessThanOrEqual(60);
  await setGrace(300);
  await release(new NoNetwork(undefined));
  expect(await untilDue()).toBeGreaterThan(3600);
});

test('a passive monitor whose process stopped is due again at once', async () => {
  await service.database.asUser(user.id, (em) => em.execute('update monitors set grace_seconds = 300', [], 'run'));
  await release();
  expect((await service.database.asEngine((em) => secondsUntilDue(em, user.id)))[0]).toBeLessThanOrEqual(10);
});
