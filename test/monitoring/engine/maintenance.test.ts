// Claims and results of checks around a maintenance. The tests check by themselves, so that they decide when.
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { queryInTransaction } from '../../../src/db/statement.ts';
import type { Claim } from '../../../src/monitoring/engine/claim.ts';
import { recordResults } from '../../../src/monitoring/engine/record.ts';
import { startService, type TestService, type TestUser } from '../../support/service.ts';
import { createMonitor } from '../factories.ts';
import { assignProvider, readAlertKinds, readIncidents, readMonitor } from '../heartbeats/heartbeat-monitors.ts';
import { claimOf, makeOverdue, secondsUntilDue, succeeded } from './due-monitors.ts';

let service: TestService;
let user: TestUser;
let monitor: { id: number; path: string };

beforeAll(async () => {
  service = await startService();
});
beforeEach(async () => {
  user = await service.createUser();
  monitor = await createMonitor(user, { confirmations: 0 });
  await assignProvider(user, monitor);
});
afterAll(() => service.stop());

const failure = { up: false as const, cause: 'HTTP 503', statusCode: 503 };

async function claim(): Promise<Claim> {
  await service.database.asEngine((em) => makeOverdue(em, user.id));
  const [claimed] = await service.database.asEngine((em) => claimOf(em, user.id, 1));
  if (!claimed) throw new Error('The monitor was not claimed.');
  return claimed;
}

/** Returns the number of accepted results. */
async function record(claimed: Claim, isUp: boolean, cause = failure.cause): Promise<number> {
  const completed = { ...succeeded(claimed), ...(!isUp && { result: { ...failure, cause } }) };
  return (await service.database.asEngine((em) => recordResults(queryInTransaction(em), [completed]))).accepted;
}

/** Runs checks: "+" is a successful one, "-" a failed one. */
async function check(results: string) {
  for (const result of results) expect(await record(await claim(), result === '+')).toBe(1);
}

const setMaintenance = (seconds: number | null) =>
  user.api.put(monitor.path, {
    json: { maintenance_until: seconds === null ? null : new Date(Date.now() + seconds * 1000).toISOString() },
  });

/** Lets the time of the maintenance pass. */
const passMaintenance = () =>
  service.database.asUser(user.id, (em) => em.execute(`update monitors set maintenance_until = now() - interval '1 second'`, [], 'run'));

const statusOf = async () => (await readMonitor(user, monitor)).status;
const alerts = () =>
  service.database.asUser(user.id, (em) => em.execute<{ kind: string; status: string }[]>('select kind, status from alerts order by id'));

test('the status tells the truth during a maintenance, and no incident opens', async () => {
  await setMaintenance(3600);
  const statuses: string[] = [];
  for (const result of '+-+-') {
    await check(result);
    statuses.push(await statusOf());
  }
  expect(statuses).toEqual(['up', 'down', 'up', 'down']);
  expect(await readMonitor(user, monitor)).toMatchObject({ last_error: 'HTTP 503' });
  expect(await readIncidents(user, monitor)).toEqual([]);
  expect(await alerts()).toEqual([]);
});

test('its start resolves an open incident, tells nobody, and cancels alerts that were not sent', async () => {
  await check('+-');
  expect(await alerts()).toEqual([{ kind: 'monitor.down', status: 'queued' }]);
  await setMaintenance(3600);
  expect(await readIncidents(user, monitor)).toMatchObject([{ status: 'resolved' }]);
  expect(await alerts()).toEqual([{ kind: 'monitor.down', status: 'suppressed' }]);
  expect(await statusOf()).toBe('down');
});

test('a check that was running when it started opens no incident', async () => {
  await check('+');
  const claimed = await claim();
  await setMaintenance(3600);
  expect(await record(claimed, false)).toBe(0);
  expect(await statusOf()).toBe('up');
  expect(await readIncidents(user, monitor)).toEqual([]);
});

test('a check that was running when a second one started opens no incident', async () => {
  await passMaintenance();
  const claimed = await claim();
  await setMaintenance(3600);
  expect(await record(claimed, false)).toBe(0);
  expect(await readIncidents(user, monitor)).toEqual([]);
});

test('failures from before its start do not count after its end', async () => {
  await user.api.put(monitor.path, { json: { confirmations: 2 } });
  await check('+--');
  await setMaintenance(3600);
  await setMaintenance(null);
  await check('--');
  expect(await readIncidents(user, monitor)).toEqual([]);
  await check('-');
  expect(await readIncidents(user, monitor)).toHaveLength(1);
});

test.each([
  ['its time passes', passMaintenance],
  ['it is ended early', () => setMaintenance(null)],
  ['its time is moved into the past', () => setMaintenance(-1)],
])('if the target still fails when %s, the first failing check opens an incident with alerts', async (_, end) => {
  await check('+');
  await setMaintenance(3600);
  await check('--');
  await end();
  expect(await readIncidents(user, monitor)).toEqual([]);
  await check('-');
  const [incident] = await readIncidents(user, monitor);
  expect(incident).toMatchObject({ status: 'open', cause: 'HTTP 503', status_code: 503 });
  expect(await readAlertKinds(service, user)).toEqual(['monitor.down']);
  await check('-');
  expect(await readIncidents(user, monitor)).toHaveLength(1);
});

test('an incident after a maintenance starts at the first failure after it, and not before', async () => {
  await setMaintenance(3600);
  await check('--');
  await passMaintenance();
  // The failures so far must be older than the end of the maintenance, if anything is known of them.
  await service.database.asUser(user.id, (em) =>
    em.execute(`update monitors set first_failed_at = first_failed_at - interval '10 minutes'`, [], 'run'),
  );
  const { maintenance_until } = await readMonitor(user, monitor);
  await check('-');
  const [incident] = await readIncidents(user, monitor);
  expect(Date.parse(incident.started_at)).toBeGreaterThanOrEqual(Date.parse(maintenance_until));
});

test.each([
  ['its time passes', passMaintenance],
  ['it is ended early', () => setMaintenance(null)],
])('failures during it do not count when %s before they are confirmed', async (_, end) => {
  await user.api.put(monitor.path, { json: { confirmations: 1 } });
  await check('+');
  await setMaintenance(3600);
  await check('-');
  await service.database.asUser(user.id, (em) =>
    em.execute(`update monitors set first_failed_at = now() - interval '1 minute'`, [], 'run'),
  );
  await end();
  await check('-');
  expect(await readIncidents(user, monitor)).toEqual([]);
  await check('-');
  expect(await readIncidents(user, monitor)).toHaveLength(1);
});

test('the cause of an incident after a maintenance is that of the first failure after it', async () => {
  await setMaintenance(3600);
  await record(await claim(), false, 'during');
  await passMaintenance();
  await record(await claim(), false, 'after');
  expect(await readIncidents(user, monitor)).toMatchObject([{ cause: 'after' }]);
});

test('a target that recovers during it or in the first check afterwards causes no message', async () => {
  await setMaintenance(3600);
  await check('-+');
  await passMaintenance();
  await check('+');
  await setMaintenance(3600);
  await check('-');
  await passMaintenance();
  await check('+');
  expect(await statusOf()).toBe('up');
  expect(await readIncidents(user, monitor)).toEqual([]);
  expect(await alerts()).toEqual([]);
});

test('a check that was running when its time passed opens no incident, and the next one does', async () => {
  await setMaintenance(3600);
  const claimed = await claim();
  await passMaintenance();
  expect(await record(claimed, false)).toBe(1);
  expect(await readIncidents(user, monitor)).toEqual([]);
  await check('-');
  expect(await readIncidents(user, monitor)).toHaveLength(1);
});

test.each([1, 2])(
  'a check that was running when it was ended early is repeated, and its failure does not count: of %i',
  async (failures) => {
    await user.api.put(monitor.path, { json: { confirmations: 1 } });
    await check('+');
    await setMaintenance(3600);
    await check('-'.repeat(failures));
    const claimed = await claim();
    await setMaintenance(null);
    expect(await service.database.asEngine((em) => secondsUntilDue(em, user.id))).toEqual([expect.closeTo(0, -1)]);
    expect(await record(claimed, false)).toBe(0);
    expect(await readIncidents(user, monitor)).toEqual([]);
    await check('-');
    // After two failures it is down. Then nothing has to be confirmed.
    expect(await readIncidents(user, monitor)).toHaveLength(failures - 1);
    await check('-');
    expect(await readIncidents(user, monitor)).toHaveLength(1);
  },
);

test('its start and its end keep the time of the next check', async () => {
  await check('+');
  await service.database.asEngine((em) => makeOverdue(em, user.id, '-50 seconds'));
  await setMaintenance(3600);
  const atStart = await service.database.asEngine((em) => secondsUntilDue(em, user.id));
  await setMaintenance(null);
  const atEnd = await service.database.asEngine((em) => secondsUntilDue(em, user.id));
  for (const [seconds] of [atStart, atEnd]) {
    expect(seconds).toBeGreaterThan(20);
    expect(seconds).toBeLessThanOrEqual(50);
  }
});

test('a paused monitor has no check after its start and its end', async () => {
  await user.api.put(monitor.path, { json: { is_active: false } });
  await setMaintenance(3600);
  expect(await service.database.asEngine((em) => secondsUntilDue(em, user.id))).toEqual([null]);
  await setMaintenance(null);
  expect(await service.database.asEngine((em) => secondsUntilDue(em, user.id))).toEqual([null]);
});

test('it can be extended without ending in between', async () => {
  await setMaintenance(60);
  await check('-');
  await setMaintenance(7200);
  await check('-');
  expect(await readIncidents(user, monitor)).toEqual([]);
  expect(await statusOf()).toBe('down');
});

test('an extension keeps the claim of a running check', async () => {
  await setMaintenance(60);
  const claimed = await claim();
  await setMaintenance(7200);
  expect(await record(claimed, false)).toBe(1);
});

test('a recovery from before its start is still told to those who know of the failure', async () => {
  await check('+-');
  await service.database.asEngine((em) => em.execute(`update alerts set status = 'sent' where user_id = ?`, [user.id], 'run'));
  await check('+');
  await setMaintenance(3600);
  expect(await alerts()).toEqual([
    { kind: 'monitor.down', status: 'sent' },
    { kind: 'monitor.recovered', status: 'queued' },
  ]);
});

test('the end of a maintenance that has already passed changes nothing: an open incident stays open', async () => {
  await check('+-');
  await setMaintenance(-60);
  expect(await readIncidents(user, monitor)).toMatchObject([{ status: 'open' }]);
  expect(await alerts()).toEqual([{ kind: 'monitor.down', status: 'queued' }]);
});
