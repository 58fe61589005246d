import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { Database } from '../../../src/db/database.ts';
import { queryInTransaction } from '../../../src/db/statement.ts';
import type { CheckResult } from '../../../src/monitoring/checks/check.ts';
import type { Claim } from '../../../src/monitoring/engine/claim.ts';
import { type CompletedCheck, recordResults } from '../../../src/monitoring/engine/record.ts';
import type { StoredEvent } from '../../../src/monitoring/messages/event.ts';
import { readLoggedChecks, rollUpFrom } from '../../support/check-history.ts';
import { startService, type TestService, type TestUser } from '../../support/service.ts';
import { createMonitor, createProvider } from '../factories.ts';
import { claimOf, createMonitors, makeOverdue, secondsUntilDue, succeeded } from './due-monitors.ts';

let service: TestService;
let database: Database;
let user: TestUser;

beforeAll(async () => {
  service = await startService();
  database = service.database;
});
beforeEach(async () => {
  // Claims are not limited to one user, so the monitors of earlier tests must not be due.
  await database.asEngine((em) => em.execute('update monitors set next_check_at = null', [], 'run'));
  user = await service.createUser();
});
afterAll(() => service.stop());

async function claimOverdue(limit: number): Promise<Claim[]> {
  await database.asEngine((em) => makeOverdue(em, user.id));
  return database.asEngine((em) => claimOf(em, user.id, limit));
}

const failure = { up: false, cause: 'HTTP 503', statusCode: 503 } as const;

/** Returns the number of accepted results. */
async function record(completed: CompletedCheck[]): Promise<number> {
  return (await database.asEngine((em) => recordResults(queryInTransaction(em), completed))).accepted;
}

/** The statistics of a monitor in the last 24 hours. */
const readStatistics = async (id: number) => (await user.api.get(`/api/monitors/${id}/statistics?window=24h`)).body.data;

test('sets the next check into the future, at the phase of the monitor within its interval', async () => {
  await createMonitors(database, user.id, 300);
  const claims = await claimOverdue(300);
  expect(claims).toHaveLength(300);
  expect(await record(claims.map((claim) => succeeded(claim)))).toBe(300);
  const notInFuture = await database.asEngine((em) =>
    em.execute('select id from monitors where user_id = ? and next_check_at <= last_checked_at', [user.id]),
  );
  expect(notInFuture).toEqual([]);
  const seconds = await database.asEngine((em) => secondsUntilDue(em, user.id));
  expect(Math.max(...seconds)).toBeLessThanOrEqual(60);
  const tenths = new Set(seconds.map((value) => Math.floor(value / 6)));
  expect(tenths.size).toBeGreaterThanOrEqual(9);
});

test('accepts a result only with the current claim, and only once', async () => {
  await createMonitors(database, user.id, 1);
  const outdated = (await claimOverdue(1)).map((claim) => succeeded(claim));
  const current = (await claimOverdue(1)).map((claim) => succeeded(claim));
  expect([outdated.length, current.length]).toEqual([1, 1]);
  expect(await record(outdated)).toBe(0);
  expect(await record(current)).toBe(1);
  expect(await record(current)).toBe(0);
});

test('of two results for one monitor, accepts the one with the current claim, and the results of other monitors', async () => {
  await createMonitors(database, user.id, 3);
  const early = await claimOverdue(3);
  const late = await claimOverdue(1);
  expect(await record([...early, ...late].map((claim) => succeeded(claim)))).toBe(3);
  const checked = (await readLoggedChecks(database, user.id)).map(({ monitorId }) => monitorId);
  expect(checked.toSorted((one, other) => one - other)).toEqual(early.map(({ id }) => id).toSorted((one, other) => one - other));
});

test.each([
  ['its URL', { url: 'https://other.example/' }],
  ['its type', { type: 'ping' }],
  ['its interval', { interval: 300 }],
])('the result of a check that began before a user changed %s is dropped', async (_, json) => {
  const { path } = await createMonitor(user);
  const late = (await claimOverdue(1)).map((claim) => ({ ...succeeded(claim), result: failure }));
  expect(late).toHaveLength(1);
  const { body } = await user.api.put(path, { json });
  expect(await record(late)).toBe(0);
  expect((await user.api.get(path)).body.data).toEqual(body.data);
  expect((await claimOverdue(1))[0]).toMatchObject({ state: { status: 'pending', failures: 0 } });
});

test('a monitor that is not active accepts no result, also with a valid claim', async () => {
  await createMonitors(database, user.id, 1);
  const claims = await claimOverdue(1);
  await database.asUser(user.id, (em) => em.execute('update monitors set is_active = false', [], 'run'));
  expect(await record(claims.map((claim) => succeeded(claim)))).toBe(0);
});

test('records every check with its response time, in one row per hour, and adds them up', async () => {
  const { id } = await createMonitor(user);
  // now() is the start of the transaction, so all checks fall into the same hour only within one transaction.
  await database.asEngine(async (em) => {
    for (const ms of [20, 10, 30, 15]) {
      await makeOverdue(em, user.id);
      const completed = (await claimOf(em, user.id, 1)).map((claim) => succeeded(claim, ms));
      await recordResults(queryInTransaction(em), completed, completed[0]?.startedMs);
    }
  });
  const logs = await database.asUser(user.id, (em) =>
    em.execute(`select hour = date_trunc('hour', hour, 'UTC') as whole, monitor_id, last_failure from check_logs`),
  );
  expect(logs).toEqual([{ whole: true, monitor_id: id, last_failure: null }]);
  const checks = await readLoggedChecks(database, user.id);
  expect(checks.map(({ responseTimeMs, failure }) => [responseTimeMs, failure])).toEqual([20, 10, 30, 15].map((ms) => [ms, undefined]));
  expect(await readStatistics(id)).toMatchObject({
    checks: { total: 4, failed: 0 },
    response_time_ms: { average: 19, min: 10, max: 30 }, // 75 ms in total
  });
});

test('a failure is confirmed after 5 seconds, and the incident has the time, the cause and the status of the first one', async () => {
  const { id, path } = await createMonitor(user, { interval: 86_400 });
  const failures = [
    { result: { up: false, cause: `HTTP 500 ${'x'.repeat(2000)}`, statusCode: 500 }, agoMs: 3_600_000 },
    { result: { up: false, cause: 'HTTP 502', statusCode: 502 }, agoMs: 60_000 },
    { result: { up: false, cause: 'timed out', statusCode: null }, agoMs: 1000 },
  ] as const;
  for (const [index, { result, agoMs }] of failures.entries()) {
    const completed = (await claimOverdue(1)).map((claim) => ({ claim, result, startedMs: performance.now() - agoMs }));
    // Within one transaction the time stands still.
    const [seconds] = await database.asEngine(async (em) => {
      await recordResults(queryInTransaction(em), completed);
      return secondsUntilDue(em, user.id);
    });
    if (index < 2) expect(seconds).toBeCloseTo(5, 2);
  }
  const { last_checked_at, last_error } = (await user.api.get(path)).body.data;
  expect(last_error).toBe('timed out');
  const [incident] = (await user.api.get(`${path}/incidents`)).body.data;
  expect(incident).toMatchObject({ status_code: 500, cause: `HTTP 500 ${'x'.repeat(991)}` });
  // The checks began an hour ago and a second ago.
  expect((Date.parse(last_checked_at) - Date.parse(incident.started_at)) / 1000).toBeCloseTo(3599, -2);
  // The history has all three, at the times at which they began, and the beginnings of their causes.
  const checks = await readLoggedChecks(database, user.id);
  expect(checks.map(({ failure }) => failure)).toEqual([
    { cause: `HTTP 500 ${'x'.repeat(191)}`, statusCode: 500 },
    { cause: 'HTTP 502', statusCode: 502 },
    { cause: 'timed out', statusCode: null },
  ]);
  const [first = 0, second = 0, third = 0] = checks.map(({ checkedAtMs }) => checkedAtMs / 1000);
  expect(third - first).toBeCloseTo(3599, -2);
  expect(third - second).toBeCloseTo(59, -1);
  await rollUpFrom(database, first * 1000);
  expect(await readStatistics(id)).toMatchObject({ checks: { total: 3, failed: 3 } });
});

test('failures from before a stop expire a minute after the interval: the next one is the first of three, and dates the incident', async () => {
  const { path } = await createMonitor(user, { interval: 60 });
  const fail = async () => record((await claimOverdue(1)).map((claim) => ({ ...succeeded(claim), result: failure })));
  const letPass = (seconds: number) =>
    database.asEngine((em) =>
      em.execute(
        `update monitors set last_checked_at = last_checked_at - ? * interval '1 second',
           first_failed_at = first_failed_at - ? * interval '1 second' where user_id = ?`,
        [seconds, seconds, user.id],
        'run',
      ),
    );
  const readIncidents = async () => (await user.api.get(`${path}/incidents`)).body.data;
  await fail();
  await fail();
  await letPass(190); // The next check is due a minute ago.
  await fail();
  await fail();
  expect(await readIncidents()).toEqual([]);
  await letPass(170); // Not yet expired.
  await fail();
  const [incident] = await readIncidents();
  const { last_checked_at } = (await user.api.get(path)).body.data;
  expect((Date.parse(last_checked_at) - Date.parse(incident.started_at)) / 1000).toBeCloseTo(170, -1);
  // A monitor that is down stays down, however long it was not checked.
  await letPass(7200);
  await fail();
  expect((await user.api.get(path)).body.data.status).toBe('down');
  expect(await readIncidents()).toHaveLength(1);
});

test('a check that is only late, because others come first, confirms the failures before it', async () => {
  await createMonitor(user, { interval: 60 });
  await record((await claimOverdue(1)).map((claim) => ({ ...succeeded(claim), result: failure })));
  await database.asEngine((em) =>
    em.execute(
      `update monitors set last_checked_at = app_now() - interval '1 hour', next_check_at = app_now() - interval '59 minutes'
       where user_id = ?`,
      [user.id],
      'run',
    ),
  );
  expect(await database.asEngine((em) => claimOf(em, user.id, 1))).toMatchObject([{ state: { failures: 1 } }]);
});

test('a monitor that is down is checked every minute, or as often as its interval says if that is shorter, and one that is up once per interval', async () => {
  for (const interval of [86_400, 30]) await createMonitor(user, { interval });
  const check = async (result: CheckResult) => record((await claimOverdue(2)).map((claim) => ({ ...succeeded(claim), result })));
  const untilDue = () => database.asEngine((em) => secondsUntilDue(em, user.id));
  for (let count = 0; count < 3; count++) await check(failure);
  for (let count = 0; count < 5; count++) {
    const [daily = 0, twiceAMinute = 0] = await untilDue();
    expect(daily).toBeLessThanOrEqual(60);
    expect(twiceAMinute).toBeLessThanOrEqual(30);
    await check(failure);
  }
  await check({ up: true, responseTimeMs: 1 });
  // The turns of both are a whole number of intervals apart.
  const turns = await database.asEngine((em) =>
    em.execute<{ interval: number; into_interval: number }[]>(
      `select interval_seconds as interval, (extract(epoch from next_check_at) * 1000 - id * 53377081)::bigint % (interval_seconds * 1000) as into_interval
       from monitors where user_id = ? order by id`,
      [user.id],
    ),
  );
  expect(turns).toEqual([
    { interval: 86_400, into_interval: 0 },
    { interval: 30, into_interval: 0 },
  ]);
});

test('rounds response times up, so that the fastest is 1 ms and not 0', async () => {
  await createMonitors(database, user.id, 1);
  const read = () => database.asUser(user.id, (em) => em.execute('select last_response_time_ms as ms from monitors'));
  for (const [measured, ms] of [
    [0.04, 1],
    [0, 1],
    [12.01, 13],
    [13, 13],
  ] as const) {
    await record((await claimOverdue(1)).map((claim) => succeeded(claim, measured)));
    expect(await read()).toEqual([{ ms }]);
  }
});

test('alerts are queued for enabled assignments only, and the dispatchers of all processes are told', async () => {
  const { path } = await createMonitor(user);
  const [enabled, disabled] = [await createProvider(user), await createProvider(user)];
  await user.api.post(`${path}/notifications`, { json: { provider_id: enabled.id } });
  await user.api.post(`${path}/notifications`, { json: { provider_id: disabled.id, enabled: false } });
  const notified: string[] = [];
  await database.listen('work_available', { onNotification: (loop) => notified.push(loop), onReconnect() {} });
  for (let count = 0; count < 3; count++) await record((await claimOverdue(1)).map((claim) => ({ ...succeeded(claim), result: failure })));
  const alerts = await database.asUser(user.id, (em) => em.execute('select provider_id from alerts'));
  expect(alerts).toEqual([{ provider_id: enabled.id }]);
  await expect.poll(() => notified, { timeout: 10_000 }).toContain('dispatcher');
});

test('stores the time to a failing response, and null if there was no response', async () => {
  const { id } = await createMonitor(user);
  const read = () => database.asUser(user.id, (em) => em.execute('select last_response_time_ms as ms, last_error as error from monitors'));
  const failure = { up: false, cause: 'HTTP 500', statusCode: 500, responseTimeMs: 41.6 } as const;
  await record((await claimOverdue(1)).map((claim) => ({ ...succeeded(claim), result: failure })));
  expect(await read()).toEqual([{ ms: 42, error: 'HTTP 500' }]);
  const silence = { up: false, cause: 'timed out after 10 s', statusCode: null } as const;
  await record((await claimOverdue(1)).map((claim) => ({ ...succeeded(claim), result: silence })));
  expect(await read()).toEqual([{ ms: null, error: 'timed out after 10 s' }]);
  const checks = await readLoggedChecks(database, user.id);
  expect(checks.map(({ responseTimeMs }) => responseTimeMs)).toEqual([42, undefined]);
  // The times in the statistics are those of successful checks.
  expect(await readStatistics(id)).toMatchObject({ checks: { total: 2, failed: 2 }, response_time_ms: null });
  await record((await claimOverdue(1)).map((claim) => succeeded(claim, 7)));
  expect(await readStatistics(id)).toMatchObject({
    checks: { total: 3, failed: 2 },
    response_time_ms: { average: 7, p50: 7, p99: 7, min: 7, max: 7 },
  });
});

describe('the event of an alert', () => {
  const check = async (result: CheckResult) => record((await claimOverdue(1)).map((claim) => ({ ...succeeded(claim), result })));
  const goDown = async () => {
    for (let count = 0; count < 3; count++) await check({ ...failure, responseTimeMs: 70 });
  };
  const events = async () => {
    const alerts = await database.asUser(user.id, (em) => em.execute<{ payload: StoredEvent }[]>('select payload from alerts order by id'));
    return alerts.map(({ payload }) => payload);
  };

  async function createAssigned() {
    const monitor = await createMonitor(user);
    const provider = await createProvider(user);
    await user.api.post(`${monitor.path}/notifications`, { json: { provider_id: provider.id } });
    return monitor;
  }

  test('contains the monitor and the incident as lists show them, and when it has happened', async () => {
    const { path } = await createAssigned();
    const read = async () => {
      const [monitors, incidents] = await Promise.all([user.api.get('/api/monitors'), user.api.get(`${path}/incidents`)]);
      return { monitor: monitors.body.data[0], incident: incidents.body.data[0] };
    };
    await goDown();
    const [[down], { monitor, incident: opened }] = [await events(), await read()];
    expect(monitor).toMatchObject({ status: 'down', last_error: 'HTTP 503', last_response_time_ms: 70 });
    expect(opened).toMatchObject({ status: 'open', cause: 'HTTP 503', status_code: 503, resolved_at: null });
    expect(down).toMatchObject({ type: 'monitor.down', data: { monitor, incident: opened } });
    await check({ up: true, responseTimeMs: 30 });
    const [[, recovered], { incident: resolved, ...now }] = [await events(), await read()];
    expect(now.monitor).toMatchObject({ status: 'up', last_response_time_ms: 30 });
    expect(resolved).toMatchObject({ status: 'resolved', resolved_at: expect.any(String) });
    expect(recovered).toMatchObject({ type: 'monitor.recovered', data: { monitor: now.monitor, incident: resolved } });
    // The time of a check is calculated from its age, in whole milliseconds.
    expect(Date.parse(recovered?.timestamp ?? '')).toBeGreaterThanOrEqual(Date.parse(resolved.resolved_at) - 2);
    expect(Date.parse(down?.timestamp ?? '')).toBeGreaterThanOrEqual(Date.parse(opened.started_at) - 2);
  });

  test('contains the last success before the failures', async () => {
    const { path } = await createAssigned();
    await check({ up: true, responseTimeMs: 20 });
    await check({ up: true, responseTimeMs: 40 });
    const { last_checked_at } = (await user.api.get(path)).body.data;
    // What hides the result of a check does not hide that it succeeded.
    await database.asEngine((em) => em.execute(`update monitors set last_error = 'not checked: no memory'`, [], 'run'));
    await goDown();
    await check({ up: true, responseTimeMs: 50 });
    expect((await events()).map(({ lastGood }) => lastGood)).toEqual([{ at: last_checked_at, ms: 40 }, null]);
  });

  test('contains no success if there was none, or if it was that of another target', async () => {
    const { path } = await createAssigned();
    await goDown();
    await check({ up: true, responseTimeMs: 20 });
    expect((await user.api.put(path, { json: { url: 'https://other.example/' } })).status).toBe(200);
    await goDown();
    expect((await events()).map(({ type, lastGood }) => [type, lastGood])).toEqual([
      ['monitor.down', null],
      ['monitor.recovered', null],
      ['monitor.down', null],
    ]);
  });
});

test('a flapping target opens and resolves one incident, with two alerts, per confirmed failure', async () => {
  await createMonitors(database, user.id, 1);
  const [{ id } = { id: 0 }] = await database.asUser(user.id, (em) => em.execute<{ id: number }[]>('select id from monitors'));
  const provider = await createProvider(user);
  await user.api.post(`/api/monitors/${id}/notifications`, { json: { provider_id: provider.id } });
  // "-" is a failed check and "+" a successful one. Three failures in a row open an incident.
  for (const check of '---+--+---+-+-----+') {
    const claims = await claimOverdue(1);
    await record(claims.map((claim) => ({ ...succeeded(claim), ...(check === '-' && { result: failure }) })));
  }
  const incidents = await database.asUser(user.id, (em) => em.execute('select resolved_at is null as open from incidents'));
  expect(incidents).toEqual([{ open: false }, { open: false }, { open: false }]);
  const alerts = await database.asUser(user.id, (em) => em.execute<{ kind: string }[]>('select kind from alerts order by id'));
  expect(alerts.map(({ kind }) => kind)).toEqual([
    'monitor.down',
    'monitor.recovered',
    'monitor.down',
    'monitor.recovered',
    'monitor.down',
    'monitor.recovered',
  ]);
});

test('a recovery that seems to be before the failure, because the clock was moved back, ends the incident when it started', async () => {
  const { path } = await createMonitor(user);
  for (let count = 0; count < 3; count++) await record((await claimOverdue(1)).map((claim) => ({ ...succeeded(claim), result: failure })));
  await database.asEngine((em) =>
    em.execute(
      `with opened as (delete from incidents where resolved_at is null returning *)
       insert into incidents (user_id, monitor_id, started_at, cause) select user_id, monitor_id, now() + interval '1 hour', cause from opened`,
      [],
      'run',
    ),
  );
  expect(await record((await claimOverdue(1)).map((claim) => succeeded(claim)))).toBe(1);
  const [incident] = (await user.api.get(`${path}/incidents`)).body.data;
  expect(incident).toMatchObject({ status: 'resolved', resolved_at: incident.started_at, duration_seconds: 0 });
});

test('a long cause is cut without breaking a character, which the database would reject together with all other results', async () => {
  await createMonitors(database, user.id, 2);
  const [first, second] = (await claimOverdue(2)).map((claim) => succeeded(claim));
  if (!first || !second) throw new Error('Two monitors are due.');
  // As long as a text that users can search for makes it, because control characters are escaped.
  const text = JSON.stringify(`${'\u0001'.repeat(162)}🐘 not found`);
  const result = { ...failure, cause: `the body does not contain ${text}` };
  expect(await record([{ ...first, result }, second])).toBe(2);
});
