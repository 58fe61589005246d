// The engine notices that a heartbeat did not come.
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { commands } from '../../../src/commands/registry.ts';
import { queryInTransaction } from '../../../src/db/statement.ts';
import { LocalFailure } from '../../../src/monitoring/checks/local-failure.ts';
import { NoNetwork } from '../../../src/monitoring/engine/connectivity.ts';
import { recordResults } from '../../../src/monitoring/engine/record.ts';
import { releaseClaims, spreadOverdue } from '../../../src/monitoring/engine/release.ts';
import { checkHeartbeat } from '../../support/checks.ts';
import { startService, type TestService, type TestUser } from '../../support/service.ts';
import { wakeAll } from '../../support/wake.ts';
import { claimOf, makeOverdue, secondsUntilDue } from '../engine/due-monitors.ts';
import {
  assignProvider,
  createHeartbeat,
  type HeartbeatMonitor,
  readAlertKinds,
  readCounts,
  readIncidents,
  readMonitor,
} from './heartbeat-monitors.ts';

let service: TestService;
/** A service without an engine, for what a running one would disturb. */
let idle: TestService;
let user: TestUser;

beforeAll(async () => {
  service = await startService({}, { engine: true });
  idle = await startService();
});
beforeEach(async () => {
  user = await service.createUser();
});
afterAll(async () => {
  await service.stop();
  await idle.stop();
});

/** Ends the wait of a monitor. */
async function endWait({ id }: HeartbeatMonitor) {
  await service.database.asEngine((em) => em.execute('update monitors set next_check_at = now() where id = ?', [id], 'run'));
  await wakeAll(service.database);
}

const waitForStatus = (monitor: HeartbeatMonitor, status: string) =>
  expect.poll(async () => (await readMonitor(user, monitor)).status, { timeout: 20_000 }).toBe(status);

const waitForChecks = (monitor: HeartbeatMonitor, checks: number) =>
  expect.poll(async () => (await readCounts(service, monitor))?.checks, { timeout: 20_000 }).toBe(checks);

async function untilDue({ database }: TestService, { id }: TestUser): Promise<number> {
  return (await database.asEngine((em) => secondsUntilDue(em, id)))[0] ?? Number.NaN;
}

test.each([
  ['after its creation', false],
  ['after a heartbeat', true],
])('without a heartbeat for the interval and the grace period %s, a monitor goes down and alerts are queued', async (_, hasBeaten) => {
  const monitor = await createHeartbeat(user);
  await assignProvider(user, monitor);
  if (hasBeaten) await service.anonymous.post(monitor.receiver);
  const { last_checked_at } = await readMonitor(user, monitor);
  expect(last_checked_at === null).toBe(!hasBeaten);
  await endWait(monitor);
  await waitForStatus(monitor, 'down');
  // The record still tells when the last heartbeat came.
  expect(await readMonitor(user, monitor)).toMatchObject({ last_error: 'no heartbeat for 2 min', last_checked_at });
  expect(await readIncidents(user, monitor)).toMatchObject([{ status: 'open', cause: 'no heartbeat for 2 min', status_code: null }]);
  expect(await readAlertKinds(service, user)).toEqual(['monitor.down']);
});

test('a new monitor waits for the interval and the grace period before it is checked', async () => {
  user = await idle.createUser();
  await createHeartbeat(user, { interval: 300, heartbeat: { grace_seconds: 30 } });
  const seconds = await untilDue(idle, user);
  expect(seconds).toBeGreaterThan(300);
  expect(seconds).toBeLessThanOrEqual(330);
});

/** Expects that the wait ends in so many seconds. The test may be slow, but not by half a minute. */
async function expectWait(seconds: number) {
  const untilEnd = await untilDue(idle, user);
  expect(untilEnd).toBeGreaterThan(seconds - 30);
  expect(untilEnd).toBeLessThanOrEqual(seconds);
}

test('a monitor that is resumed begins a new wait', async () => {
  user = await idle.createUser();
  const monitor = await createHeartbeat(user, { is_active: false });
  expect((await user.api.put(monitor.path, { json: { is_active: true } })).status).toBe(200);
  await expectWait(120);
});

test.each([
  ['a longer interval', 5, { interval: 1800 }, 5 + 1740],
  ['a longer grace period', 5, { heartbeat: { grace_seconds: 600 } }, 5 + 540],
  ['a longer interval with a shorter grace period', 3600, { interval: 3700, heartbeat: { grace_seconds: 0 } }, 3600 + 40],
])('%s counts from the last heartbeat', async (_, untilEnd, json, wait) => {
  user = await idle.createUser();
  const monitor = await createHeartbeat(user, { interval: untilEnd === 5 ? 60 : 3600 });
  await idle.database.asEngine((em) => makeOverdue(em, user.id, `-${untilEnd} seconds`));
  expect((await user.api.put(monitor.path, { json })).status).toBe(200);
  await expectWait(wait);
});

test('a shorter period that would be over begins now, but never ends later than the one before', async () => {
  user = await idle.createUser();
  const monitor = await createHeartbeat(user, { interval: 86_400 });
  await idle.database.asEngine((em) => makeOverdue(em, user.id, '-40000 seconds'));
  await user.api.put(monitor.path, { json: { interval: 7200 } });
  await expectWait(7260);
  await idle.database.asEngine((em) => makeOverdue(em, user.id, '-60 seconds'));
  await user.api.put(monitor.path, { json: { interval: 3600 } });
  await expectWait(60);
});

test.each(['PUT', 'bulk'])('the start and the end of a maintenance do not change the end of the wait: %s', async (way) => {
  user = await idle.createUser();
  const monitor = await createHeartbeat(user, { interval: 86_400 });
  await idle.database.asEngine((em) => makeOverdue(em, user.id, '-3600 seconds'));
  const { maintenance_until: until } = maintenance();
  const send = (json: object, bulk: object) =>
    way === 'PUT' ? user.api.put(monitor.path, { json }) : user.api.post('/api/monitors/bulk', { json: { ids: [monitor.id], ...bulk } });
  expect((await send({ maintenance_until: until }, { action: 'start_maintenance', until })).status).toBe(200);
  await expectWait(3600);
  expect((await send({ maintenance_until: null }, { action: 'end_maintenance' })).status).toBe(200);
  await expectWait(3600);
});

test('a monitor that is claimed when a maintenance starts is checked in the maintenance', async () => {
  user = await idle.createUser();
  const monitor = await createHeartbeat(user, { interval: 86_400 });
  await idle.database.asEngine((em) => makeOverdue(em, user.id));
  const [claim] = await idle.database.asEngine((em) => claimOf(em, user.id, 1));
  expect(claim?.rules.isInMaintenance).toBe(false);
  await user.api.put(monitor.path, { json: maintenance() });
  expect(await untilDue(idle, user)).toBeLessThanOrEqual(0);
  const [again] = await idle.database.asEngine((em) => claimOf(em, user.id, 1));
  expect(again?.rules.isInMaintenance).toBe(true);
});

test.each([{ friendly_name: 'x' }, { tags: ['a'] }, { timeout_seconds: 5 }])('a change of %j keeps the end of the wait', async (json) => {
  user = await idle.createUser();
  const monitor = await createHeartbeat(user, { interval: 3600 });
  await idle.anonymous.post(monitor.receiver);
  await idle.database.asEngine((em) => makeOverdue(em, user.id, '-60 seconds'));
  expect((await user.api.put(monitor.path, { json })).status).toBe(200);
  expect(await untilDue(idle, user)).toBeLessThanOrEqual(60);
});

test.each([{ friendly_name: 'x' }, { tags: ['a'] }, { timeout_seconds: 5 }, { interval: 300 }, { heartbeat: { grace_seconds: 5 } }])(
  'a change of %j gives a monitor that is down no turn',
  async (json) => {
    user = await idle.createUser();
    const monitor = await createHeartbeat(user);
    await idle.anonymous.post(`${monitor.receiver}/fail`);
    expect((await user.api.put(monitor.path, { json })).status).toBe(200);
    expect(await idle.database.asEngine((em) => secondsUntilDue(em, user.id))).toEqual([null]);
  },
);

test('the next heartbeat brings the monitor up, resolves the incident and queues an alert', async () => {
  const monitor = await createHeartbeat(user);
  await assignProvider(user, monitor);
  await endWait(monitor);
  await waitForStatus(monitor, 'down');
  await service.anonymous.post(monitor.receiver);
  expect(await readMonitor(user, monitor)).toMatchObject({ status: 'up', last_error: null });
  expect(await readIncidents(user, monitor)).toMatchObject([{ status: 'resolved' }]);
  expect(await readAlertKinds(service, user)).toEqual(['monitor.down', 'monitor.recovered']);
});

test('a monitor that stays down opens one incident and queues one alert', async () => {
  const monitor = await createHeartbeat(user);
  await assignProvider(user, monitor);
  await endWait(monitor);
  await waitForStatus(monitor, 'down');
  await endWait(monitor);
  await waitForChecks(monitor, 2);
  expect(await readIncidents(user, monitor)).toHaveLength(1);
  expect(await readAlertKinds(service, user)).toEqual(['monitor.down']);
});

test('the reported failure stays the last error while the monitor has not waited for a whole period', async () => {
  const monitor = await createHeartbeat(user, { interval: 86_400 });
  await service.anonymous.post(`${monitor.receiver}/fail`);
  await endWait(monitor); // By itself it has no turn while it is down, except at the end of a maintenance.
  await waitForChecks(monitor, 2);
  expect(await readMonitor(user, monitor)).toMatchObject({ status: 'down', last_error: 'the job reported a failure' });
});

test('a failure that is reported during a maintenance is the cause of the incident that opens after its end', async () => {
  const maintenance_until = new Date(Date.now() + 3_600_000).toISOString();
  const monitor = await createHeartbeat(user, { interval: 86_400, maintenance_until });
  await service.anonymous.post(`${monitor.receiver}/fail`);
  await user.api.put(monitor.path, { json: { maintenance_until: null } });
  await endWait(monitor);
  await expect.poll(() => readIncidents(user, monitor), { timeout: 20_000 }).toHaveLength(1);
  expect(await readIncidents(user, monitor)).toMatchObject([{ cause: 'the job reported a failure' }]);
});

test('during a maintenance heartbeats and failures change the status, and nobody is alerted', async () => {
  const monitor = await createHeartbeat(user, { maintenance_until: new Date(Date.now() + 3_600_000).toISOString() });
  await assignProvider(user, monitor);
  const statuses: string[] = [];
  for (const path of [monitor.receiver, `${monitor.receiver}/fail`, `${monitor.receiver}/fail`, monitor.receiver]) {
    await service.anonymous.post(path);
    statuses.push((await readMonitor(user, monitor)).status);
  }
  expect(statuses).toEqual(['up', 'down', 'down', 'up']);
  await endWait(monitor);
  await waitForStatus(monitor, 'down');
  expect(await readIncidents(user, monitor)).toEqual([]);
  expect(await readAlertKinds(service, user)).toEqual([]);
});

test('a heartbeat that is still missing after a maintenance opens an incident, with alerts', async () => {
  const monitor = await createHeartbeat(user, { maintenance_until: new Date(Date.now() + 3_600_000).toISOString() });
  await assignProvider(user, monitor);
  await endWait(monitor);
  await waitForStatus(monitor, 'down');
  await service.database.asUser(user.id, (em) =>
    em.execute(`update monitors set maintenance_until = now() - interval '1 second'`, [], 'run'),
  );
  await endWait(monitor);
  await expect.poll(() => readAlertKinds(service, user), { timeout: 20_000 }).toEqual(['monitor.down']);
  expect(await readIncidents(user, monitor)).toMatchObject([{ status: 'open', cause: 'no heartbeat for 2 min' }]);
});

test('an incident opens at once if the maintenance ends between the check and the record of its result', async () => {
  user = await idle.createUser();
  const monitor = await createHeartbeat(user, { maintenance_until: new Date(Date.now() + 3_600_000).toISOString() });
  const runCheck = async (afterClaim: () => Promise<unknown>) => {
    await idle.database.asEngine((em) => makeOverdue(em, user.id));
    const [claim] = await idle.database.asEngine((em) => claimOf(em, user.id, 1));
    if (!claim) throw new Error('The monitor was not claimed.');
    await afterClaim();
    const result = { up: false, cause: 'no heartbeat for 2 min', statusCode: null } as const;
    const completed = [{ claim, result, startedMs: performance.now() }];
    await idle.database.asEngine((em) => recordResults(queryInTransaction(em), completed));
  };
  await runCheck(() =>
    idle.database.asUser(user.id, (em) => em.execute(`update monitors set maintenance_until = now() - interval '1 second'`, [], 'run')),
  );
  expect(await readMonitor(user, monitor)).toMatchObject({ status: 'down' });
  expect(await untilDue(idle, user)).toBeLessThanOrEqual(0);
  await runCheck(async () => {});
  expect(await readIncidents(user, monitor)).toMatchObject([{ status: 'open' }]);
});

test('a monitor that is down, and whose maintenance has ended while no process ran, has its turn within a minute of a start', async () => {
  user = await idle.createUser();
  const monitor = await createHeartbeat(user, { interval: 3600, maintenance_until: new Date(Date.now() + 3_600_000).toISOString() });
  await idle.anonymous.post(`${monitor.receiver}/fail`);
  await idle.database.asEngine((em) => makeOverdue(em, user.id, '1 hour'));
  await spreadOverdue(
    (work) => idle.database.engineTransaction(work),
    () => true,
  );
  expect(await untilDue(idle, user)).toBeLessThanOrEqual(60);
});

test('an overdue monitor waits for a whole period after a start, although others have their turn within a minute', async () => {
  user = await idle.createUser();
  const monitor = await createHeartbeat(user, { interval: 3600 });
  await idle.database.asEngine((em) => makeOverdue(em, user.id, '1 hour'));
  await spreadOverdue(
    (work) => idle.database.engineTransaction(work),
    () => true,
  );
  expect(await untilDue(idle, user)).toBeGreaterThan(3600);
  expect(await readMonitor(user, monitor)).toMatchObject({ status: 'pending' });
});

test('a monitor that is not overdue keeps the end of its wait after a start', async () => {
  user = await idle.createUser();
  await createHeartbeat(user, { interval: 3600 });
  await idle.database.asEngine((em) => makeOverdue(em, user.id, '-60 seconds'));
  await spreadOverdue(
    (work) => idle.database.engineTransaction(work),
    () => true,
  );
  expect(await untilDue(idle, user)).toBeLessThanOrEqual(60);
});

test('a monitor that was due without a network waits for a whole period', async () => {
  user = await idle.createUser();
  const monitor = await createHeartbeat(user, { interval: 3600 });
  await idle.database.asEngine((em) => makeOverdue(em, user.id));
  const [claim] = await idle.database.asEngine((em) => claimOf(em, user.id, 1));
  if (!claim) throw new Error('The monitor was not claimed.');
  await idle.database.engineTransaction((query) => releaseClaims(query, [{ claim, failure: new NoNetwork(undefined) }], 10));
  expect(await untilDue(idle, user)).toBeGreaterThan(3600);
  expect(await readMonitor(user, monitor)).toMatchObject({ status: 'pending' });
});

test('a time without a network does not become the cause of the incident that opens after a maintenance', async () => {
  user = await idle.createUser();
  const monitor = await createHeartbeat(user, { interval: 86_400, ...maintenance() });
  await idle.anonymous.post(`${monitor.receiver}/fail`);
  await user.api.put(monitor.path, { json: { maintenance_until: null } });
  const claim = async () => {
    await idle.database.asEngine((em) => makeOverdue(em, user.id));
    const [claimed] = await idle.database.asEngine((em) => claimOf(em, user.id, 1));
    if (!claimed) throw new Error('The monitor was not claimed.');
    return claimed;
  };
  const lost = await claim();
  await idle.database.engineTransaction((query) => releaseClaims(query, [{ claim: lost, failure: new NoNetwork(new Date()) }], 10));
  const found = await claim();
  const result = await checkHeartbeat(found);
  if (result instanceof LocalFailure) throw result;
  await idle.database.engineTransaction((query) => recordResults(query, [{ claim: found, result, startedMs: performance.now() }]));
  expect(await readIncidents(user, monitor)).toMatchObject([{ cause: 'the job reported a failure' }]);
  expect(await readMonitor(user, monitor)).toMatchObject({ last_error: 'the job reported a failure' });
});

test('the monitors of a resumed user wait for a whole period', async () => {
  user = await idle.createUser();
  await createHeartbeat(user, { interval: 3600 });
  await idle.database.asEngine((em) => makeOverdue(em, user.id));
  const { database } = idle;
  const context = { database, secretKeys: [], config: { dataDirectory: '' }, inService: true, progress: () => {} };
  for (const command of ['user suspend', 'user resume'] as const) {
    await commands[command]({ ...context, signal: AbortSignal.timeout(60_000) }, { email: user.email });
  }
  expect(await untilDue(idle, user)).toBeGreaterThan(3600);
});

test('a monitor that is paused before the engine claims it does not go down', async () => {
  user = await idle.createUser();
  const [paused, other] = [await createHeartbeat(user), await createHeartbeat(user)];
  await idle.database.asEngine((em) => makeOverdue(em, user.id));
  await user.api.put(paused.path, { json: { is_active: false } });
  const claims = await idle.database.asEngine((em) => claimOf(em, user.id, 2));
  expect(claims.map(({ id }) => id)).toEqual([other.id]);
  expect(await readMonitor(user, paused)).toMatchObject({ status: 'paused', last_error: null });
});

/** A maintenance of an hour. */
const maintenance = () => ({ maintenance_until: new Date(Date.now() + 3_600_000).toISOString() });

async function expectTurnAtEndOfMaintenance({ id }: HeartbeatMonitor) {
  const rows = await idle.database.asEngine((em) =>
    em.execute('select next_check_at = maintenance_until as "isAtEnd" from monitors where id = ?', [id]),
  );
  expect(rows).toEqual([{ isAtEnd: true }]);
}

test('a failure that is reported during a maintenance is checked when it ends', async () => {
  user = await idle.createUser();
  const monitor = await createHeartbeat(user, maintenance());
  await idle.anonymous.post(`${monitor.receiver}/fail`);
  await expectTurnAtEndOfMaintenance(monitor);
});

test('a heartbeat that is missed during a maintenance is checked again when it ends', async () => {
  user = await idle.createUser();
  const monitor = await createHeartbeat(user, maintenance());
  await idle.database.asEngine((em) => makeOverdue(em, user.id));
  const [claim] = await idle.database.asEngine((em) => claimOf(em, user.id, 1));
  if (!claim) throw new Error('The monitor was not claimed.');
  const result = { up: false, cause: 'no heartbeat for 2 min', statusCode: null, reply: 'not_asked' } as const;
  const completed = [{ claim, result, startedMs: performance.now() }];
  expect(await idle.database.engineTransaction((query) => recordResults(query, completed))).toMatchObject({ accepted: 1 });
  await expectTurnAtEndOfMaintenance(monitor);
});

test('a monitor that is down has no turn, unless a maintenance starts: then at its end', async () => {
  user = await idle.createUser();
  const monitor = await createHeartbeat(user);
  await idle.anonymous.post(`${monitor.receiver}/fail`);
  expect(await idle.database.asEngine((em) => secondsUntilDue(em, user.id))).toEqual([null]);
  await user.api.put(monitor.path, { json: maintenance() });
  await expectTurnAtEndOfMaintenance(monitor);
});

test('a monitor that is down after a maintenance has no turn', async () => {
  user = await idle.createUser();
  const monitor = await createHeartbeat(user);
  await idle.database.asUser(user.id, (em) => em.execute(`update monitors set maintenance_until = now() - interval '1 hour'`, [], 'run'));
  await idle.anonymous.post(`${monitor.receiver}/fail`);
  expect(await idle.database.asEngine((em) => secondsUntilDue(em, user.id))).toEqual([null]);
});

test('a monitor that is down is due at once when its maintenance is ended early', async () => {
  user = await idle.createUser();
  const monitor = await createHeartbeat(user, maintenance());
  await idle.anonymous.post(`${monitor.receiver}/fail`);
  await user.api.put(monitor.path, { json: { maintenance_until: null } });
  expect(await untilDue(idle, user)).toBeLessThanOrEqual(0);
});
