// When a monitor is observed: from its first check on, while it is active, outside of maintenance, and while it is checked in time.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { queryInTransaction } from '../../../src/db/statement.ts';
import type { CheckResult } from '../../../src/monitoring/checks/check.ts';
import { recordResults } from '../../../src/monitoring/engine/record.ts';
import { rollUpFrom } from '../../support/check-history.ts';
import { startService, type TestService, type TestUser } from '../../support/service.ts';
import { createMonitor } from '../factories.ts';
import { createHeartbeat } from '../heartbeats/heartbeat-monitors.ts';
import { checkMonitor, claimMonitor, failure, success } from './engine-checks.ts';
import { hourMs, letPass, type MonitorKey, minuteMs, readObservation, setObserved, setProgress } from './stored-history.ts';

const secondMs = 1000;
const forever = Number.POSITIVE_INFINITY;

let service: TestService;
let user: TestUser;

beforeAll(async () => {
  service = await startService();
});
beforeEach(async () => {
  user = await service.createUser();
});
afterAll(() => service.stop());

/** Creates a monitor that is checked every minute, and whose first failure brings it down, unless the fields say otherwise. */
async function create(fields: object = {}): Promise<MonitorKey> {
  return { userId: user.id, monitorId: (await createMonitor(user, { interval: 60, confirmations: 0, ...fields })).id };
}

async function createPassive(fields: object = {}): Promise<MonitorKey & { receiver: string }> {
  const { id, receiver } = await createHeartbeat(user, fields); // It waits for 2 minutes.
  return { userId: user.id, monitorId: id, receiver };
}

const check = (monitor: MonitorKey, result: CheckResult = success, agoMs = 0) => checkMonitor(service.database, monitor, result, agoMs);
const pass = (monitor: MonitorKey, ms: number) => letPass(service.database, monitor, ms);
const read = ({ monitorId }: MonitorKey) => readObservation(service.database, monitorId);
const range = (fromMs: number | null, toMs: number | null) => ({ fromMs, toMs });
const maintenance = (ms: number) => new Date(service.database.now() + ms).toISOString();

/** Changes a monitor, and returns between which times that was. */
async function change({ monitorId }: MonitorKey, json: object): Promise<[earliest: number, latest: number]> {
  return during(() => user.api.put(`/api/monitors/${monitorId}`, { json }));
}

async function during(send: () => Promise<{ status: number }>): Promise<[earliest: number, latest: number]> {
  const earliest = service.database.now() - 1;
  expect((await send()).status).toBe(200);
  return [earliest, service.database.now() + 1];
}

/** Matches a time between these. */
const between = ([earliest, latest]: [earliest: number, latest: number]) =>
  expect.toSatisfy((ms: number) => ms >= earliest && ms <= latest, `from ${earliest} to ${latest}`) as number;

/** The observed time and the down time that the API shows, the same in hours and in 5 minutes. Fractions of minutes are not cut. */
async function shownMinutes({ monitorId }: MonitorKey): Promise<{ observed: number; down: number }> {
  // What was rolled up before time was let pass is in hours that are now other ones.
  await service.database.asEngine((em) => em.execute('delete from hour_statistics', [], 'run'));
  await rollUpFrom(service.database, service.database.now() - 20 * hourMs);
  const shown = await Promise.all(
    ['window=24h', 'resolution=5m', 'window=7d'].map(async (query) => {
      const { body } = await user.api.get(`/api/monitors/${monitorId}/statistics?${query}`);
      return { observed: body.data.observed_seconds, down: body.data.down_seconds };
    }),
  );
  const [first = { observed: 0, down: 0 }, ...others] = shown;
  // The requests may come in different seconds, and what is observed now goes on.
  for (const other of others) {
    expect(Math.abs(other.observed - first.observed)).toBeLessThanOrEqual(5);
    expect(Math.abs(other.down - first.down)).toBeLessThanOrEqual(5);
  }
  return { observed: first.observed / 60, down: first.down / 60 };
}

/** Expects as many minutes, and less than one more, because the test takes a moment. */
function expectMinutes(actual: number, expected: number) {
  expect(actual).toBeGreaterThan(expected - 0.05);
  expect(actual).toBeLessThan(expected + 0.9);
}

describe('checks', () => {
  test('before the first check nothing is observed', async () => {
    const monitor = await create();
    expect(await read(monitor)).toEqual({ sinceMs: null, untilMs: null, before: [] });
    expect(await shownMinutes(monitor)).toEqual({ observed: 0, down: 0 });
  });

  test.each([
    ['that succeeds', success],
    ['that fails', failure],
  ])('a monitor is observed from a first check %s on, until the next one is due', async (_, result) => {
    const monitor = await create();
    const checkedAt = await check(monitor, result);
    expect(await read(monitor)).toEqual({ sinceMs: checkedAt, untilMs: checkedAt + minuteMs, before: [] });
  });

  test('the time of a check is when it began', async () => {
    const monitor = await create();
    const latest = service.database.now();
    const checkedAt = await check(monitor, success, 40 * secondMs);
    expect(checkedAt).toBeLessThan(latest - 30 * secondMs);
    expect(await read(monitor)).toMatchObject({ sinceMs: checkedAt, untilMs: checkedAt + minuteMs });
  });

  test('checks in time, and up to 60 seconds late, continue the period', async () => {
    const monitor = await create();
    const first = await check(monitor);
    let passed = 0;
    for (const ms of [60, 30, 110, 100].map((seconds) => seconds * secondMs)) {
      await pass(monitor, ms);
      passed += ms;
      const last = await check(monitor);
      expect(await read(monitor)).toEqual({ sinceMs: first - passed, untilMs: last + minuteMs, before: [] });
    }
    expectMinutes((await shownMinutes(monitor)).observed, 5);
  });

  test.each([
    [59_998, false],
    [60_002, true],
  ])('a check that is %d ms late is too late: %s', async (lateMs, isTooLate) => {
    const monitor = await create();
    const first = await check(monitor);
    const claim = await claimMonitor(service.database, monitor);
    await service.database.asEngine(async (em) => {
      const update = `update monitors set observed_since = app_now() - interval '1 hour', observed_until = app_now() - ? * interval '1 millisecond' where id = ?`;
      await em.execute(update, [lateMs, monitor.monitorId], 'run');
      const nowMs = performance.now();
      await recordResults(queryInTransaction(em), [{ claim, result: success, startedMs: nowMs }], nowMs);
    });
    const { sinceMs, before } = await read(monitor);
    expect([before.length, (sinceMs ?? 0) >= first]).toEqual(isTooLate ? [1, true] : [0, false]);
  });

  test('a check that is more than 60 seconds late begins a new period, and the check before counts for one interval', async () => {
    const monitor = await create({ interval: 300 });
    const first = await check(monitor);
    await pass(monitor, 2 * hourMs);
    const second = await check(monitor);
    const [from, to] = [first - 2 * hourMs, first - 2 * hourMs + 5 * minuteMs];
    expect(await read(monitor)).toEqual({ sinceMs: second, untilMs: second + 5 * minuteMs, before: [range(from, to)] });
    await pass(monitor, 2 * minuteMs);
    expectMinutes((await shownMinutes(monitor)).observed, 7);
    await pass(monitor, 3 * hourMs);
    const third = await check(monitor);
    const passed = 3 * hourMs + 2 * minuteMs;
    expect(await read(monitor)).toEqual({
      sinceMs: third,
      untilMs: third + 5 * minuteMs,
      before: [range(from - passed, to - passed), range(second - passed, second - passed + 5 * minuteMs)],
    });
    expectMinutes((await shownMinutes(monitor)).observed, 10);
  });

  test('a check that is not followed by another one counts until 60 seconds after the interval, and then for the interval only', async () => {
    const monitor = await create({ interval: 300 });
    await check(monitor);
    await pass(monitor, 330 * secondMs);
    expectMinutes((await shownMinutes(monitor)).observed, 5.5);
    await pass(monitor, 31 * secondMs);
    expect((await shownMinutes(monitor)).observed).toBe(5);
    await pass(monitor, 5 * hourMs);
    expect((await shownMinutes(monitor)).observed).toBe(5);
  });

  test.each([
    [3600, 60],
    [60, 60],
    [30, 30],
  ])('while a monitor with an interval of %d s is down, a check counts for %d s at most', async (interval, seconds) => {
    const monitor = await create({ interval });
    const first = await check(monitor, failure);
    expect((await read(monitor)).untilMs).toBe(first + seconds * secondMs);
    await pass(monitor, hourMs);
    expect(await shownMinutes(monitor)).toEqual({ observed: seconds / 60, down: seconds / 60 });
    const second = await check(monitor);
    expect(await read(monitor)).toEqual({
      sinceMs: second,
      untilMs: second + interval * secondMs,
      before: [range(first - hourMs, first - hourMs + seconds * secondMs)],
    });
  });

  test('a failure that is not confirmed yet counts for the interval', async () => {
    const monitor = await create({ interval: 3600, confirmations: 2 });
    const first = await check(monitor);
    const checkedAt = await check(monitor, failure);
    expect(await read(monitor)).toEqual({ sinceMs: first, untilMs: checkedAt + hourMs, before: [] });
  });

  test.each([
    [60, 3600],
    [3600, 60],
  ])('a change of the interval from %d s to %d s applies from the next check on', async (former, interval) => {
    const monitor = await create({ interval: former });
    const first = await check(monitor);
    await change(monitor, { interval });
    expect(await read(monitor)).toEqual({ sinceMs: first, untilMs: first + former * secondMs, before: [] });
    const second = await check(monitor);
    expect(await read(monitor)).toEqual({ sinceMs: first, untilMs: second + interval * secondMs, before: [] });
  });

  test('a result that is dropped, because the monitor was changed, observes nothing', async () => {
    const monitor = await create();
    const claim = await claimMonitor(service.database, monitor);
    await change(monitor, { url: 'https://other.example/' });
    const completed = [{ claim, result: success, startedMs: performance.now() }];
    expect(await service.database.engineTransaction((query) => recordResults(query, completed))).toMatchObject({ accepted: 0 });
    expect(await read(monitor)).toMatchObject({ sinceMs: null, before: [] });
  });
});

describe('a reset', () => {
  const resets: [string, object][] = [
    ['a pause', { is_active: false }],
    ['another URL', { url: 'https://other.example/' }],
    ['another type', { type: 'ping', url: 'other.example' }],
    ['an option that results depend on', { http: { expected_status: ['204'] } }],
  ];

  test.each(resets)('%s ends the period', async (_, json) => {
    const monitor = await create();
    const checkedAt = await check(monitor);
    await pass(monitor, 30 * secondMs);
    const changedAt = await change(monitor, json);
    expect(await read(monitor)).toMatchObject({ sinceMs: null, before: [range(checkedAt - 30 * secondMs, between(changedAt))] });
    await pass(monitor, hourMs);
    expectMinutes((await shownMinutes(monitor)).observed, 0.5);
  });

  test.each(resets)('%s ends a period that has not been certain any more when it was', async (_, json) => {
    const monitor = await create();
    const checkedAt = await check(monitor);
    await pass(monitor, hourMs);
    await change(monitor, json);
    expect((await read(monitor)).before).toEqual([range(checkedAt - hourMs, checkedAt - hourMs + minuteMs)]);
  });

  test('after a pause, the first check begins a new period', async () => {
    const monitor = await create({ interval: 3600 });
    await check(monitor);
    await pass(monitor, 10 * minuteMs);
    await change(monitor, { is_active: false });
    const { before } = await read(monitor);
    await pass(monitor, 3 * hourMs);
    await change(monitor, { is_active: true });
    await pass(monitor, minuteMs);
    expect(await read(monitor)).toMatchObject({ sinceMs: null });
    const checkedAt = await check(monitor);
    const passed = 3 * hourMs + minuteMs;
    const ended = before.map(({ fromMs, toMs }) => range(fromMs - passed, toMs - passed));
    expect(await read(monitor)).toEqual({ sinceMs: checkedAt, untilMs: checkedAt + hourMs, before: ended });
    await pass(monitor, 5 * minuteMs);
    expectMinutes((await shownMinutes(monitor)).observed, 15);
  });

  test('pauses by a bulk operation do the same', async () => {
    const [monitor, other] = [await create(), await create()];
    const checkedAt = await check(monitor);
    const pausedAt = await during(() =>
      user.api.post('/api/monitors/bulk', { json: { action: 'pause', ids: [monitor.monitorId, other.monitorId] } }),
    );
    const paused = { sinceMs: null, before: [range(checkedAt, between(pausedAt))] };
    expect(await read(monitor)).toMatchObject(paused);
    expect(await read(other)).toEqual({ sinceMs: null, untilMs: null, before: [] });
    await user.api.post('/api/monitors/bulk', { json: { action: 'resume', ids: [monitor.monitorId] } });
    expect(await read(monitor)).toMatchObject(paused);
  });

  test('several pauses leave a period each', async () => {
    const monitor = await create({ interval: 3600 });
    for (let count = 0; count < 3; count++) {
      await check(monitor);
      await pass(monitor, 10 * minuteMs);
      await change(monitor, { is_active: false });
      await pass(monitor, 20 * minuteMs);
      await change(monitor, { is_active: true });
    }
    expect((await read(monitor)).before).toHaveLength(3);
    expectMinutes((await shownMinutes(monitor)).observed, 30);
  });

  test.each<[string, object]>([
    ['a name', { friendly_name: 'Other' }],
    ['tags', { tags: ['production'] }],
    ['a timeout', { timeout_seconds: 5 }],
    ['confirmations', { confirmations: 3 }],
    ['an option that results do not depend on', { http: { tls_warning_days: 3 } }],
    ['nothing', { interval: 60 }],
  ])('a change of %s does not end the period', async (_, json) => {
    const monitor = await create();
    const checkedAt = await check(monitor);
    await change(monitor, json);
    expect(await read(monitor)).toEqual({ sinceMs: checkedAt, untilMs: checkedAt + minuteMs, before: [] });
  });
});

describe('a maintenance', () => {
  test('its start ends the period, and its end begins the next one', async () => {
    const monitor = await create({ interval: 3 * 3600 });
    const checkedAt = await check(monitor);
    await pass(monitor, 10 * minuteMs);
    const until = maintenance(hourMs);
    const startedAt = await change(monitor, { maintenance_until: until });
    const before = [range(checkedAt - 10 * minuteMs, between(startedAt))];
    expect(await read(monitor)).toEqual({ sinceMs: Date.parse(until), untilMs: expect.any(Number), before });
    await check(monitor);
    expect(await read(monitor)).toMatchObject({ sinceMs: Date.parse(until), before });
    await pass(monitor, 40 * minuteMs);
    expectMinutes((await shownMinutes(monitor)).observed, 10);
    await pass(monitor, 30 * minuteMs); // It has ended 10 minutes ago, and the next check is still to come.
    expectMinutes((await shownMinutes(monitor)).observed, 20);
    await check(monitor);
    expect((await read(monitor)).sinceMs).toBe(Date.parse(until) - 70 * minuteMs);
    await pass(monitor, 10 * minuteMs);
    expectMinutes((await shownMinutes(monitor)).observed, 30);
  });

  test('its early end begins the next period at once', async () => {
    const monitor = await create({ interval: 3600 });
    await check(monitor);
    await change(monitor, { maintenance_until: maintenance(5 * hourMs) });
    const { before } = await read(monitor);
    await pass(monitor, 30 * minuteMs);
    const endedAt = await change(monitor, { maintenance_until: null });
    const moved = before.map(({ fromMs, toMs }) => range(fromMs - 30 * minuteMs, toMs - 30 * minuteMs));
    expect(await read(monitor)).toMatchObject({ sinceMs: between(endedAt), before: moved });
    await pass(monitor, 10 * minuteMs);
    expectMinutes((await shownMinutes(monitor)).observed, 10);
  });

  test('its end is moved, and the time before stays', async () => {
    const monitor = await create();
    await check(monitor);
    await change(monitor, { maintenance_until: maintenance(hourMs) });
    const { before } = await read(monitor);
    for (const ms of [2 * hourMs, 30 * minuteMs]) {
      const until = maintenance(ms);
      await change(monitor, { maintenance_until: until });
      expect(await read(monitor)).toMatchObject({ sinceMs: Date.parse(until), before });
    }
  });

  test('a second one ends the period after the first', async () => {
    const monitor = await create({ interval: 3600 });
    await check(monitor);
    await change(monitor, { maintenance_until: maintenance(30 * minuteMs) });
    await check(monitor);
    await pass(monitor, 40 * minuteMs);
    const { sinceMs } = await read(monitor);
    const startedAt = await change(monitor, { maintenance_until: maintenance(hourMs) });
    const { before } = await read(monitor);
    expect(before.at(-1)).toEqual(range(sinceMs, between(startedAt)));
    expectMinutes((await shownMinutes(monitor)).observed, 10);
  });

  test('a monitor that is first checked in one is observed from its end on', async () => {
    const until = maintenance(hourMs);
    const monitor = await create({ interval: 3 * 3600, maintenance_until: until });
    expect(await read(monitor)).toEqual({ sinceMs: null, untilMs: null, before: [] });
    await check(monitor);
    expect(await read(monitor)).toMatchObject({ sinceMs: Date.parse(until), before: [] });
    await pass(monitor, 30 * minuteMs);
    expect(await shownMinutes(monitor)).toEqual({ observed: 0, down: 0 });
    await pass(monitor, 45 * minuteMs);
    expectMinutes((await shownMinutes(monitor)).observed, 15);
  });

  test('a monitor that was not checked yet is not observed after its end either', async () => {
    const monitor = await create({ maintenance_until: maintenance(hourMs) });
    await change(monitor, { maintenance_until: null });
    expect(await read(monitor)).toEqual({ sinceMs: null, untilMs: null, before: [] });
    const checkedAt = await check(monitor);
    expect(await read(monitor)).toMatchObject({ sinceMs: checkedAt });
  });

  test('when it starts after checks have stopped, only one interval before counts', async () => {
    const monitor = await create();
    const checkedAt = await check(monitor);
    await pass(monitor, hourMs);
    await change(monitor, { maintenance_until: maintenance(hourMs) });
    expect((await read(monitor)).before).toEqual([range(checkedAt - hourMs, checkedAt - hourMs + minuteMs)]);
  });

  test('a late check in it begins no period', async () => {
    const monitor = await create();
    await check(monitor);
    const until = maintenance(5 * hourMs);
    await change(monitor, { maintenance_until: until });
    const { before } = await read(monitor);
    await pass(monitor, hourMs);
    await check(monitor);
    const moved = before.map(({ fromMs, toMs }) => range(fromMs - hourMs, toMs - hourMs));
    expect(await read(monitor)).toMatchObject({ sinceMs: Date.parse(until) - hourMs, before: moved });
  });

  test('after its end, time counts again when the first check comes, if checks have stopped meanwhile', async () => {
    const monitor = await create();
    await check(monitor);
    await change(monitor, { maintenance_until: maintenance(hourMs) });
    await pass(monitor, 3 * hourMs);
    expectMinutes((await shownMinutes(monitor)).observed, 0);
    const checkedAt = await check(monitor);
    expect((await read(monitor)).sinceMs).toBe(checkedAt);
  });

  test('a monitor that is paused in it has no period until it is resumed and the maintenance is over', async () => {
    const monitor = await create();
    await check(monitor);
    const until = maintenance(hourMs);
    await change(monitor, { maintenance_until: until });
    const { before } = await read(monitor);
    await change(monitor, { is_active: false });
    expect(await read(monitor)).toMatchObject({ sinceMs: null, before });
    await change(monitor, { is_active: true });
    await check(monitor);
    expect(await read(monitor)).toMatchObject({ sinceMs: Date.parse(until), before });
  });

  test('of many monitors starts and ends by bulk operations in the same way', async () => {
    const monitor = await create({ interval: 3600 });
    const checkedAt = await check(monitor);
    const bulk = (json: object) => during(() => user.api.post('/api/monitors/bulk', { json: { ids: [monitor.monitorId], ...json } }));
    const until = maintenance(hourMs);
    const startedAt = await bulk({ action: 'start_maintenance', until });
    const before = [range(checkedAt, between(startedAt))];
    expect(await read(monitor)).toMatchObject({ sinceMs: Date.parse(until), before });
    const endedAt = await bulk({ action: 'end_maintenance' });
    expect(await read(monitor)).toMatchObject({ sinceMs: between(endedAt), before });
  });

  test('down time in it does not count', async () => {
    const monitor = await create({ interval: 3600 });
    await check(monitor, failure);
    await pass(monitor, minuteMs);
    await check(monitor, failure);
    await change(monitor, { maintenance_until: maintenance(10 * hourMs) });
    await pass(monitor, 2 * hourMs);
    const { observed, down } = await shownMinutes(monitor);
    expectMinutes(observed, 1);
    expectMinutes(down, 1);
  });
});

describe('a heartbeat monitor', () => {
  const beat = async ({ receiver }: { receiver: string }) => {
    expect((await service.anonymous.post(receiver)).status).toBe(200);
  };
  const missed: CheckResult = { up: false, cause: 'no heartbeat for 2 min', statusCode: null, reply: 'not_asked' };

  test('is not observed before its first heartbeat', async () => {
    const monitor = await createPassive();
    await pass(monitor, minuteMs);
    expect(await shownMinutes(monitor)).toEqual({ observed: 0, down: 0 });
  });

  test('is observed from a heartbeat on, until the end of its period', async () => {
    const monitor = await createPassive({ interval: 300, heartbeat: { grace_seconds: 120 } });
    await beat(monitor);
    const { sinceMs, untilMs, before } = await read(monitor);
    expect([(untilMs ?? 0) - (sinceMs ?? 0), before]).toEqual([7 * minuteMs, []]);
    await pass(monitor, 5 * minuteMs);
    await beat(monitor);
    const next = await read(monitor);
    expect(next).toMatchObject({ sinceMs: (sinceMs ?? 0) - 5 * minuteMs, before: [] });
    expect((next.untilMs ?? 0) - (untilMs ?? 0)).toBeGreaterThanOrEqual(0);
    expectMinutes((await shownMinutes(monitor)).observed, 5);
  });

  test('that misses a heartbeat is observed for as long as it is down', async () => {
    const monitor = await createPassive();
    await beat(monitor);
    await pass(monitor, 2 * minuteMs);
    const { sinceMs } = await read(monitor);
    await check(monitor, missed);
    expect(await read(monitor)).toEqual({ sinceMs, untilMs: forever, before: [] });
    await pass(monitor, 3 * hourMs);
    const { observed, down } = await shownMinutes(monitor);
    expectMinutes(observed, 182);
    expectMinutes(down, 180);
    await beat(monitor);
    await pass(monitor, minuteMs);
    const after = await shownMinutes(monitor);
    expectMinutes(after.observed, 183);
    expectMinutes(after.down, 180);
  });

  test('whose job reports a failure is observed until the next heartbeat', async () => {
    const monitor = await createPassive();
    await service.anonymous.post(`${monitor.receiver}/fail`);
    expect(await read(monitor)).toMatchObject({ untilMs: forever, before: [] });
    await pass(monitor, 2 * hourMs);
    const { observed, down } = await shownMinutes(monitor);
    expectMinutes(observed, 120);
    expectMinutes(down, 120);
    await beat(monitor);
    const { sinceMs, untilMs } = await read(monitor);
    expect((untilMs ?? 0) - (sinceMs ?? 0)).toBeGreaterThanOrEqual(122 * minuteMs);
    expect(untilMs).toBeLessThan(forever);
  });

  test('that was not watched when its heartbeat was due has one period before', async () => {
    const monitor = await createPassive();
    await beat(monitor);
    const { sinceMs } = await read(monitor);
    await pass(monitor, hourMs);
    expect((await shownMinutes(monitor)).observed).toBe(2);
    const earliest = service.database.now() - 1;
    await beat(monitor);
    const from = (sinceMs ?? 0) - hourMs;
    expect(await read(monitor)).toMatchObject({
      sinceMs: between([earliest, service.database.now() + 1]),
      before: [range(from, from + 2 * minuteMs)],
    });
  });

  test('is observed until the end of a period that was changed', async () => {
    const monitor = await createPassive();
    await beat(monitor);
    const { sinceMs } = await read(monitor);
    await change(monitor, { interval: 3600 });
    const { untilMs } = await read(monitor);
    expect((untilMs ?? 0) - (sinceMs ?? 0)).toBe(61 * minuteMs);
    await pass(monitor, 30 * minuteMs);
    expectMinutes((await shownMinutes(monitor)).observed, 30);
    await beat(monitor);
    expect((await read(monitor)).before).toEqual([]);
    // A shorter period begins now.
    const [earliest, latest] = await change(monitor, { heartbeat: { grace_seconds: 60 }, interval: 60 });
    expect(await read(monitor)).toMatchObject({ untilMs: between([earliest + 2 * minuteMs, latest + 2 * minuteMs]), before: [] });
  });

  test('that is down stays observed when its period is changed', async () => {
    const monitor = await createPassive();
    await service.anonymous.post(`${monitor.receiver}/fail`);
    await change(monitor, { interval: 3600 });
    expect(await read(monitor)).toMatchObject({ untilMs: forever, before: [] });
  });

  test('that is down is no longer observed when it is paused', async () => {
    const monitor = await createPassive();
    await service.anonymous.post(`${monitor.receiver}/fail`);
    await pass(monitor, hourMs);
    const { sinceMs } = await read(monitor);
    const pausedAt = await change(monitor, { is_active: false });
    expect(await read(monitor)).toMatchObject({ sinceMs: null, before: [range(sinceMs, between(pausedAt))] });
    await pass(monitor, hourMs);
    expectMinutes((await shownMinutes(monitor)).observed, 60);
    await change(monitor, { is_active: true });
    await beat(monitor);
    await pass(monitor, minuteMs);
    expectMinutes((await shownMinutes(monitor)).observed, 61);
  });

  test('that is down is not observed in a maintenance, and is again after it', async () => {
    const monitor = await createPassive();
    await service.anonymous.post(`${monitor.receiver}/fail`);
    await pass(monitor, hourMs);
    const until = maintenance(hourMs);
    await change(monitor, { maintenance_until: until });
    expect(await read(monitor)).toMatchObject({ sinceMs: Date.parse(until), untilMs: forever });
    await pass(monitor, 90 * minuteMs);
    expectMinutes((await shownMinutes(monitor)).observed, 90);
  });

  test('is no longer observed when it gets another type, and is from the first check of that on', async () => {
    const monitor = await createPassive();
    await service.anonymous.post(`${monitor.receiver}/fail`);
    const { sinceMs } = await read(monitor);
    const changedAt = await change(monitor, { type: 'http', url: 'https://example.com/' });
    expect(await read(monitor)).toMatchObject({ sinceMs: null, before: [range(sinceMs, between(changedAt))] });
    const checkedAt = await check(monitor);
    expect(await read(monitor)).toMatchObject({ sinceMs: checkedAt, untilMs: checkedAt + minuteMs });
  });
});

describe('earlier periods', () => {
  /** Ends the present period of a monitor, which was observed before in these hours before now. */
  async function endPeriodAfter(hours: [from: number, to: number][], rolledUpHoursAgo: number) {
    const monitor = await create();
    const nowMs = service.database.now();
    const earlier = hours.map(([from, to]) => ({ fromMs: nowMs - from * hourMs, toMs: nowMs - to * hourMs }));
    await setObserved(service.database, monitor, earlier);
    await setProgress(service.database, nowMs - rolledUpHoursAgo * hourMs);
    await check(monitor);
    await pass(monitor, minuteMs);
    await change(monitor, { is_active: false });
    return { earlier: earlier.map(({ fromMs, toMs }) => range(fromMs - minuteMs, toMs - minuteMs)), before: (await read(monitor)).before };
  }

  test('are kept for a day if they were rolled up', async () => {
    const { earlier, before } = await endPeriodAfter(
      [
        [60, 50],
        [40, 30],
        [24, 20],
        [10, 5],
      ],
      2,
    );
    expect(before.slice(0, -1)).toEqual(earlier.slice(2));
  });

  test('are kept until they were rolled up', async () => {
    const { earlier, before } = await endPeriodAfter(
      [
        [60, 50],
        [40, 30],
        [24, 20],
      ],
      45,
    );
    expect(before.slice(0, -1)).toEqual(earlier.slice(1));
  });

  test('of which a part is old lose that part', async () => {
    const { earlier, before } = await endPeriodAfter([[30, 20]], 2);
    const [first] = before;
    expect(first?.toMs).toBe(earlier[0]?.toMs);
    expect(Math.abs((first?.fromMs ?? 0) - (service.database.now() - 25 * hourMs))).toBeLessThan(minuteMs);
  });

  test('are stored as long as there are less than about a thousand, and then the next one does not count', async () => {
    const monitor = await create();
    const nowMs = service.database.now();
    const many = (count: number) =>
      Array.from({ length: count }, (_, index) => range(nowMs - 20 * hourMs + index * 40_000, nowMs - 20 * hourMs + index * 40_000 + 1000));
    const endPeriod = async () => {
      await change(monitor, { is_active: true });
      await check(monitor);
      await pass(monitor, 1000);
      await change(monitor, { is_active: false });
      return (await read(monitor)).before.length;
    };
    await setProgress(service.database, nowMs);
    await setObserved(service.database, monitor, many(900) as { fromMs: number; toMs: number }[]);
    expect(await endPeriod()).toBe(901);
    await setObserved(service.database, monitor, many(1500) as { fromMs: number; toMs: number }[]);
    expect(await endPeriod()).toBe(1500);
  });
});
