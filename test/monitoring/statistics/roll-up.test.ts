import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Database } from '../../../src/db/database.ts';
import type { MovableDatabase } from '../../../src/db/embedded.ts';
import { type Aggregate, addCounts, emptyAggregate, mergeAggregates } from '../../../src/monitoring/statistics/aggregate.ts';
import { tryLockProgress } from '../../../src/monitoring/statistics/progress.ts';
import { appendChecks } from '../../../src/monitoring/statistics/record-checks.ts';
import { rollUp } from '../../../src/monitoring/statistics/roll-up.ts';
import { addChecks, rollUpAll } from '../../support/check-history.ts';
import { reopen } from '../../support/database.ts';
import { startService, type TestService, type TestUser } from '../../support/service.ts';
import { createMonitor } from '../factories.ts';
import { aggregateOf } from './aggregates.ts';
import { checkMonitor, failure, success } from './engine-checks.ts';
import {
  addIncident,
  dayMs,
  hourMs,
  killedAtCommit,
  type MonitorKey,
  minuteMs,
  readProgress,
  readStored,
  setObserved,
  setProgress,
  startOfHour,
  within,
} from './stored-history.ts';

// Every test has its own database, because a roll-up is about all monitors.
let service: TestService;
let database: Database;
let user: TestUser;

async function start() {
  service = await startService();
  database = service.database;
  user = await service.createUser();
}

beforeEach(start);
afterEach(() => service.stop());

/** Runs a test that depends on the present period. If that ends meanwhile, the test runs again, with a new database. */
async function inOne(periodMs: number, run: (nowMs: number) => Promise<void>) {
  let isFirst = true;
  await within(database, periodMs, async (nowMs) => {
    if (!isFirst) {
      await service.stop();
      await start();
    }
    isFirst = false;
    await run(nowMs);
  });
}

async function create(of = user): Promise<MonitorKey> {
  return { userId: of.id, monitorId: (await createMonitor(of)).id };
}

const add = (monitor: MonitorKey, checks: Parameters<typeof addChecks>[2]) => addChecks(database, monitor, checks);
const observe = (monitor: MonitorKey, ...ranges: [fromMs: number, toMs: number][]) =>
  setObserved(
    database,
    monitor,
    ranges.map(([fromMs, toMs]) => ({ fromMs, toMs })),
  );
const stored = (monitor: MonitorKey) => readStored(database, monitor);
const sums = (of: { id: number } = user) => readStored(database, { userId: of.id, monitorId: 0 });
const runBatch = () => rollUp(database, 100).runBatch();
/** The end of the last hour that has been over for 5 minutes. */
const endOfLast = (nowMs = database.now()) => startOfHour(nowMs - 5 * minuteMs);
const yesterday = (nowMs = database.now()) => Math.floor(nowMs / dayMs) * dayMs - dayMs;

/** All rows of statistics, as text. */
const rows = () =>
  database.asEngine((em) =>
    em.execute(
      `select user_id, monitor_id, day::text as period, slot, encode(hours, 'hex') as bytes from hour_statistics
       union all select user_id, monitor_id, month::text, slot, encode(days, 'hex') from day_statistics order by 1, 2, 3, 4`,
    ),
  );

async function restateFrom({ monitorId }: MonitorKey, ms: number) {
  await database.asEngine((em) =>
    em.execute('update monitors set restate_from = ? where id = ?', [new Date(ms).toISOString(), monitorId], 'run'),
  );
}

const readRestatements = () =>
  database.asEngine((em) =>
    em.execute<{ id: number; ms: number }[]>(
      'select id, (extract(epoch from restate_from) * 1000)::float8 as ms from monitors where restate_from is not null order by id',
    ),
  );

/** A monitor of a user, with a check in every hour, an incident in the second, and nothing observed in the first 10 minutes. */
async function addHours(startMs: number, hours: number): Promise<MonitorKey> {
  const monitor = await create();
  await add(
    monitor,
    Array.from({ length: hours }, (_, index) => ({
      atMs: startMs + index * hourMs + 20 * minuteMs,
      ms: 100 + index,
      ...(index === 1 && { cause: 'HTTP 503' }),
    })),
  );
  await observe(monitor, [startMs + 10 * minuteMs, startMs + hours * hourMs]);
  await addIncident(database, monitor, startMs + hourMs + 20 * minuteMs, startMs + hourMs + 25 * minuteMs);
  return monitor;
}

const hoursOf = (hours: number): Aggregate[] =>
  Array.from({ length: hours }, (_, index) => {
    if (index === 1) return aggregateOf({ observedMs: hourMs, downMs: 5 * minuteMs, incidents: 1, checks: 1, failedChecks: 1 });
    return aggregateOf({ observedMs: index === 0 ? 50 * minuteMs : hourMs, checks: 1, times: [100 + index] });
  });

const withoutTimes = (value: Aggregate) => addCounts(value, emptyAggregate);

describe('hours', () => {
  test('are stored one after the other, each with what has happened in it', async () => {
    await inOne(hourMs, async (nowMs) => {
      const startMs = startOfHour(nowMs) - 6 * hourMs;
      const monitor = await addHours(startMs, 4);
      await setProgress(database, startMs);
      const expected = hoursOf(4);
      for (let count = 1; count <= 4; count++) {
        expect(await runBatch()).toBe(1);
        expect(await readProgress(database)).toEqual({ hour: startMs + count * hourMs, monitorId: 0 });
        const { hours } = await stored(monitor);
        expect([...hours]).toEqual(expected.slice(0, count).map((value, index) => [startMs + index * hourMs, value]));
        expect([...(await sums({ id: monitor.userId })).hours.values()]).toEqual(expected.slice(0, count).map(withoutTimes));
      }
    });
  });

  test('are rolled up until the last one that is over, and then there is nothing to do', async () => {
    await inOne(5 * minuteMs, async (nowMs) => {
      const monitor = await create();
      await add(monitor, [{ atMs: nowMs - 3 * hourMs, ms: 5 }]);
      await setProgress(database, nowMs - 4 * hourMs);
      await rollUpAll(database);
      expect(await readProgress(database)).toEqual({ hour: endOfLast(nowMs), monitorId: 0 });
      expect(Math.max(...(await stored(monitor)).hours.keys())).toBe(endOfLast(nowMs) - hourMs);
      const before = await rows();
      expect(await runBatch()).toBe(0);
      expect([await readProgress(database), await rows()]).toEqual([{ hour: endOfLast(nowMs), monitorId: 0 }, before]);
    });
  });

  test.runIf(!process.env.TEST_DATABASE_URL)(
    'are rolled up 5 minutes after their end, when no check of theirs is still to be recorded',
    async () => {
      const { moveClock } = database as MovableDatabase;
      const nowMs = database.now();
      const nextHour = startOfHour(nowMs) + hourMs;
      const monitor = await create();
      await add(monitor, [{ atMs: nextHour - hourMs, ms: 5 }]);
      await setProgress(database, nowMs);
      const runAt = async (ms: number) => {
        await moveClock(ms - Date.now());
        return runBatch();
      };
      expect(await runAt(nextHour + 4.5 * minuteMs)).toBe(0);
      expect((await stored(monitor)).hours.size).toBe(0);
      expect(await runAt(nextHour + 5 * minuteMs + 1)).toBe(1);
      expect([...(await stored(monitor)).hours.keys()]).toEqual([nextHour - hourMs]);
    },
  );

  test('begin with the first one that has checks, when there was no roll-up before', async () => {
    const nowMs = database.now();
    const monitor = await create();
    await add(monitor, [{ atMs: nowMs - 3 * hourMs, ms: 5 }]);
    expect(await database.asEngine((em) => em.execute('select from roll_up_progress'))).toEqual([]);
    await rollUpAll(database);
    expect((await readProgress(database)).hour).toBe(endOfLast());
    expect(Math.min(...(await stored(monitor)).hours.keys())).toBe(startOfHour(nowMs - 3 * hourMs));
  });

  test('that are rolled up again have the same statistics', async () => {
    await inOne(hourMs, async (nowMs) => {
      const startMs = startOfHour(nowMs) - 30 * hourMs;
      for (let count = 0; count < 3; count++) await addHours(startMs, 28);
      await setProgress(database, startMs);
      await rollUpAll(database);
      const before = await rows();
      expect(before.length).toBeGreaterThan(8);
      for (const fromMs of [startMs, startMs + 7 * hourMs, startMs + 27 * hourMs]) {
        await setProgress(database, fromMs);
        await rollUpAll(database);
        expect(await rows()).toEqual(before);
      }
    });
  });

  test('in which a monitor was observed, but not checked, are stored', async () => {
    await inOne(hourMs, async (nowMs) => {
      const startMs = startOfHour(nowMs) - 20 * hourMs;
      const monitor = await create();
      await user.api.put(`/api/monitors/${monitor.monitorId}`, { json: { interval: 86_400 } });
      await add(monitor, [{ atMs: startMs + 30 * minuteMs, ms: 5 }]);
      await setProgress(database, startMs);
      await rollUpAll(database);
      const { hours } = await stored(monitor);
      const last = (endOfLast(nowMs) - startMs) / hourMs;
      expect([...hours.values()]).toEqual([
        aggregateOf({ observedMs: 30 * minuteMs, checks: 1, times: [5] }),
        ...Array.from({ length: last - 1 }, () => aggregateOf({ observedMs: hourMs })),
      ]);
    });
  });

  test('of a monitor to which nothing has happened are not stored', async () => {
    const nowMs = database.now();
    const [monitor, idle] = [await create(), await create()];
    await add(monitor, [{ atMs: nowMs - 3 * hourMs, ms: 5 }]);
    await setProgress(database, nowMs - 4 * hourMs);
    await rollUpAll(database);
    expect((await stored(monitor)).hours.size).toBeGreaterThan(0);
    expect(await stored(idle)).toEqual({ hours: new Map(), days: new Map() });
  });

  test('in which nothing has happened at all are skipped, in two steps for each day', async () => {
    await inOne(dayMs, async (nowMs) => {
      await create();
      await setProgress(database, nowMs - 10 * dayMs);
      let batches = 0;
      while ((await runBatch()) > 0) batches++;
      expect((await readProgress(database)).hour).toBeGreaterThanOrEqual(endOfLast(nowMs));
      expect(batches).toBeLessThanOrEqual(22);
      expect(await rows()).toEqual([]);
    });
  });

  test('in which nothing has happened are skipped until the next one with checks', async () => {
    await inOne(hourMs, async (nowMs) => {
      const monitor = await create();
      const atMs = startOfHour(nowMs) - 5 * dayMs;
      await add(monitor, [{ atMs, ms: 5 }]);
      await observe(monitor);
      await setProgress(database, nowMs - 9 * dayMs);
      let batches = 0;
      while ((await runBatch()) > 0) batches++;
      expect(batches).toBeLessThanOrEqual(24);
      const { hours } = await stored(monitor);
      expect([...hours]).toEqual([[atMs, aggregateOf({ checks: 1, times: [5] })]]);
      expect((await readProgress(database)).hour).toBeGreaterThanOrEqual(endOfLast(nowMs));
    });
  });
});

describe('days', () => {
  test('are stored with their last hour, as the sum of their hours, and so are the sums of the user', async () => {
    const day = yesterday() - dayMs;
    const monitors = [await addHours(day, 24), await addHours(day + 20 * hourMs, 4)];
    await setProgress(database, day);
    for (let hour = 1; hour <= 24; hour++) {
      await runBatch();
      expect((await readProgress(database)).hour).toBe(day + hour * hourMs);
      for (const monitor of monitors) expect((await stored(monitor)).days.size).toBe(hour < 24 ? 0 : 1);
    }
    const [whole = emptyAggregate, part = emptyAggregate] = [hoursOf(24), hoursOf(4)].map((hours) => hours.reduce(mergeAggregates));
    const [first, second] = await Promise.all(monitors.map(stored));
    expect([first?.days, second?.days]).toEqual([new Map([[day, whole]]), new Map([[day, part]])]);
    expect(whole).toMatchObject({ observedMs: dayMs - 10 * minuteMs, downMs: 5 * minuteMs, incidents: 1, checks: 24, failedChecks: 1 });
    expect((await sums()).days).toEqual(new Map([[day, addCounts(whole, part)]]));
  });

  test('have all their hours, also if nothing has happened in the last ones', async () => {
    const day = yesterday() - dayMs;
    const monitor = await addHours(day + 3 * hourMs, 4);
    // Until 7:00 there are checks, and nothing more, as if the only monitor was paused or the service stopped then.
    await setProgress(database, day);
    await rollUpAll(database);
    const expected = hoursOf(4).reduce(mergeAggregates);
    expect((await stored(monitor)).days).toEqual(new Map([[day, expected]]));
    expect((await sums()).days).toEqual(new Map([[day, withoutTimes(expected)]]));
  });

  test('have all their hours, also if nothing has happened from the evening until the next day', async () => {
    const day = yesterday() - 2 * dayMs; // The next one must be over for some minutes.
    const monitor = await addHours(day + 18 * hourMs, 4);
    await add(monitor, [{ atMs: day + 32 * hourMs, ms: 5 }]);
    await observe(monitor, [day + 18 * hourMs + 10 * minuteMs, day + 22 * hourMs], [day + 32 * hourMs, day + 33 * hourMs]);
    await setProgress(database, day + 18 * hourMs);
    await rollUpAll(database);
    expect((await stored(monitor)).days.get(day)).toEqual(hoursOf(4).reduce(mergeAggregates));
    expect((await stored(monitor)).days.get(day + dayMs)).toMatchObject({ observedMs: hourMs, checks: 1 });
  });

  test('that were observed without any check are stored', async () => {
    const day = yesterday() - dayMs;
    const monitor = await create();
    await observe(monitor, [day + 3 * hourMs, day + 5 * hourMs]);
    await setProgress(database, day);
    await rollUpAll(database);
    expect((await stored(monitor)).days).toEqual(new Map([[day, aggregateOf({ observedMs: 2 * hourMs })]]));
  });

  test('of several months are stored in their months', async () => {
    // The last day of a month and the first one of the next, long ago.
    const first = Date.UTC(new Date(database.now()).getUTCFullYear() - 2, 11, 31);
    const monitor = await create();
    await add(monitor, [
      { atMs: first + 23 * hourMs, ms: 5 },
      { atMs: first + 24 * hourMs, ms: 7 },
    ]);
    await observe(monitor, [first, first + 2 * dayMs]);
    await setProgress(database, first);
    while ((await readProgress(database)).hour < first + 2 * dayMs) await runBatch();
    const { days, hours } = await stored(monitor);
    expect([...days]).toEqual([
      [first, aggregateOf({ observedMs: dayMs, checks: 1, times: [5] })],
      [first + dayMs, aggregateOf({ observedMs: dayMs, checks: 1, times: [7] })],
    ]);
    expect(hours.size).toBe(48);
  });
});

describe('many monitors', () => {
  /** Creates monitors of several users, in turn, each with a check of as many milliseconds as its number in the hour. */
  async function createMany(count: number, startMs: number, users: TestUser[]): Promise<MonitorKey[]> {
    const monitors: MonitorKey[] = [];
    for (let number = 0; number < count; number++) {
      const { id = 0 } = users[number % users.length] ?? {};
      monitors.push({ userId: id, monitorId: 0 });
    }
    for (const { id } of users) {
      const own = monitors.filter(({ userId }) => userId === id);
      const inserted = await database.asUser(id, (em) =>
        em.execute<{ id: number }[]>(
          `insert into monitors (user_id, friendly_name, url) select ?, 'M', 'https://example.com/' from generate_series(1, ?) returning id`,
          [id, own.length],
        ),
      );
      own.forEach((monitor, index) => {
        monitor.monitorId = Number(inserted[index]?.id);
      });
    }
    await database.engineTransaction((query) =>
      appendChecks(
        query,
        monitors.map((monitor, index) => ({ ...monitor, checkedAtMs: startMs + 1, responseTimeMs: index + 1, failure: undefined })),
      ),
    );
    await database.asEngine((em) =>
      em.execute(
        'update monitors set observed_before = tstzmultirange(tstzrange(?, ?))',
        [startMs, startMs + 2 * hourMs].map((ms) => new Date(ms).toISOString()),
        'run',
      ),
    );
    return monitors;
  }

  test('of several users are rolled up 100 at a time, and the sums of each user are those of their monitors', async () => {
    await inOne(hourMs, async (nowMs) => {
      const users = [user, await service.createUser(), await service.createUser()];
      // The last two hours of a day, so that the day is stored as well.
      const startMs = yesterday(nowMs) - 2 * hourMs;
      const monitors = await createMany(250, startMs, users);
      await setProgress(database, startMs);
      const ids = monitors.map(({ monitorId }) => monitorId).toSorted((one, other) => one - other);
      const progress: object[] = [];
      for (let batch = 0; batch < 6; batch++) {
        expect(await runBatch()).toBe(1);
        progress.push(await readProgress(database));
      }
      expect(progress).toEqual([
        { hour: startMs, monitorId: ids[99] },
        { hour: startMs, monitorId: ids[199] },
        { hour: startMs + hourMs, monitorId: 0 },
        { hour: startMs + hourMs, monitorId: ids[99] },
        { hour: startMs + hourMs, monitorId: ids[199] },
        { hour: startMs + 2 * hourMs, monitorId: 0 },
      ]);
      for (const [index, monitor] of monitors.entries()) {
        const first = aggregateOf({ observedMs: hourMs, checks: 1, times: [index + 1] });
        const { hours, days } = await stored(monitor);
        expect([...hours.values()]).toEqual([first, aggregateOf({ observedMs: hourMs })]);
        expect([...days.values()]).toEqual([{ ...first, observedMs: 2 * hourMs }]);
      }
      for (const { id } of users) {
        const count = monitors.filter(({ userId }) => userId === id).length;
        const { hours, days } = await sums({ id });
        expect([...hours.values()]).toEqual([
          aggregateOf({ observedMs: count * hourMs, checks: count }),
          aggregateOf({ observedMs: count * hourMs }),
        ]);
        expect([...days.values()]).toEqual([aggregateOf({ observedMs: 2 * count * hourMs, checks: count })]);
      }
      expect(users.map(({ id }) => monitors.filter(({ userId }) => userId === id).length)).toEqual([84, 83, 83]);
    });
  });

  test('that fill their last batch complete the hour with an empty one', async () => {
    const startMs = startOfHour(database.now()) - 5 * hourMs;
    const monitors = await createMany(100, startMs, [user]);
    await setProgress(database, startMs);
    await runBatch();
    expect(await readProgress(database)).toEqual({ hour: startMs, monitorId: Math.max(...monitors.map(({ monitorId }) => monitorId)) });
    await runBatch();
    expect(await readProgress(database)).toEqual({ hour: startMs + hourMs, monitorId: 0 });
    expect((await sums()).hours.get(startMs)).toEqual(aggregateOf({ observedMs: 100 * hourMs, checks: 100 }));
  });

  test('are rolled up 20 at a time on the embedded database, and 200 on a server', async () => {
    const size = process.env.TEST_DATABASE_URL ? 200 : 20;
    const startMs = startOfHour(database.now()) - 5 * hourMs;
    const ids = (await createMany(size + 1, startMs, [user])).map(({ monitorId }) => monitorId).toSorted((one, other) => one - other);
    await setProgress(database, startMs);
    await rollUp(database).runBatch();
    expect(await readProgress(database)).toEqual({ hour: startMs, monitorId: ids[size - 1] });
    await rollUp(database).runBatch();
    expect(await readProgress(database)).toEqual({ hour: startMs + hourMs, monitorId: 0 });
  });

  test('of which the last ones are deleted between two batches complete the hour', async () => {
    const startMs = startOfHour(database.now()) - 5 * hourMs;
    const monitors = await createMany(150, startMs, [user]);
    await setProgress(database, startMs);
    await runBatch();
    const last = monitors
      .map(({ monitorId }) => monitorId)
      .toSorted((one, other) => one - other)
      .slice(90);
    await user.api.post('/api/monitors/bulk', { json: { action: 'delete', ids: last } });
    await runBatch();
    expect(await readProgress(database)).toEqual({ hour: startMs + hourMs, monitorId: 0 });
  });

  test('a batch that fails changes nothing, and is done again', async () => {
    const startMs = startOfHour(database.now()) - 5 * hourMs;
    const monitors = await createMany(150, startMs, [user]);
    await setProgress(database, startMs);
    await runBatch();
    const [before, progress] = [await rows(), await readProgress(database)];
    await expect(rollUp(killedAtCommit(database), 100).runBatch()).rejects.toThrow('The process was killed.');
    expect([await rows(), await readProgress(database)]).toEqual([before, progress]);
    await rollUpAll(database);
    expect((await sums()).hours.get(startMs)).toEqual(aggregateOf({ observedMs: 150 * hourMs, checks: 150 }));
    for (const monitor of monitors) expect((await stored(monitor)).hours.get(startMs)?.checks).toBe(1);
  });

  test('one in a later batch is restated, and the others are not', async () => {
    const startMs = startOfHour(database.now()) - 5 * hourMs;
    const monitors = await createMany(150, startMs, [user]);
    await setProgress(database, startMs);
    await rollUpAll(database);
    const changed = monitors.at(-1) ?? { userId: 0, monitorId: 0 };
    for (const monitor of monitors.slice(-2)) await addIncident(database, monitor, startMs, startMs + 30 * minuteMs);
    await restateFrom(changed, startMs);
    await setProgress(database, startMs + 2 * hourMs);
    await rollUpAll(database);
    expect((await stored(changed)).hours.get(startMs)).toMatchObject({ downMs: 30 * minuteMs, incidents: 1 });
    const sum = aggregateOf({ observedMs: 150 * hourMs, downMs: 30 * minuteMs, incidents: 1, checks: 150 });
    expect((await sums()).hours.get(startMs)).toEqual(sum);
    expect(await readRestatements()).toEqual([]);
  });
});

describe('a restatement', () => {
  test('follows an incident that is confirmed after the hour of its first failure was rolled up', async () => {
    await inOne(hourMs, async (nowMs) => {
      const sibling = await addHours(startOfHour(nowMs) - 5 * hourMs, 4);
      const { id } = await createMonitor(user, { interval: 86_400, confirmations: 2 });
      const monitor = { userId: user.id, monitorId: id };
      const firstFailure = await checkMonitor(database, monitor, failure, 3 * hourMs);
      await setProgress(database, nowMs - 5 * hourMs);
      await rollUpAll(database);
      const hour = startOfHour(firstFailure);
      const observedMs = hour + hourMs - firstFailure;
      expect((await stored(monitor)).hours.get(hour)).toEqual(aggregateOf({ observedMs, checks: 1, failedChecks: 1 }));
      await checkMonitor(database, monitor, failure);
      expect(await readRestatements()).toEqual([]);
      await checkMonitor(database, monitor, failure);
      expect(await readRestatements()).toEqual([{ id, ms: hour }]);
      const [unchanged, { hours: before }] = [await stored(sibling), await sums()];
      await setProgress(database, endOfLast() - hourMs); // As if the next hour was over.
      await rollUpAll(database);
      const { hours } = await stored(monitor);
      expect(hours.get(hour)).toEqual(aggregateOf({ observedMs, downMs: observedMs, incidents: 1, checks: 1, failedChecks: 1 }));
      expect(hours.get(hour + hourMs)).toEqual(aggregateOf({ observedMs: hourMs, downMs: hourMs }));
      const { hours: after } = await sums();
      for (const [ms, sum] of after) {
        const isDown = ms === hour || ms > hour;
        const added = aggregateOf({ downMs: isDown ? (hours.get(ms)?.downMs ?? 0) : 0, incidents: ms === hour ? 1 : 0 });
        expect([ms, sum]).toEqual([ms, addCounts(before.get(ms) ?? emptyAggregate, added)]);
      }
      expect(await stored(sibling)).toEqual(unchanged);
      expect(await readRestatements()).toEqual([]);
    });
  });

  test('of an incident that began in an hour that was not rolled up yet is not needed', async () => {
    const { id } = await createMonitor(user, { interval: 86_400, confirmations: 1 });
    const monitor = { userId: user.id, monitorId: id };
    await setProgress(database, database.now() - 5 * hourMs);
    await checkMonitor(database, monitor, failure, 3 * hourMs);
    await checkMonitor(database, monitor, failure);
    expect(await readRestatements()).toEqual([]);
    await rollUpAll(database);
    const { hours } = await stored(monitor);
    expect([...hours.values()].reduce((sum, { incidents }) => sum + incidents, 0)).toBe(1);
  });

  test('follows a check that is recorded in an hour that was rolled up, as after the clock was moved back', async () => {
    const monitor = await create();
    await checkMonitor(database, monitor, success, 3 * hourMs);
    await setProgress(database, database.now() - 5 * hourMs);
    await rollUpAll(database);
    const late = await checkMonitor(database, monitor, success, 3 * hourMs - 1);
    expect(await readRestatements()).toEqual([{ id: monitor.monitorId, ms: startOfHour(late) }]);
    await setProgress(database, endOfLast() - hourMs); // As if the next hour was over.
    await rollUpAll(database);
    const checks = [...(await stored(monitor)).hours.values()].reduce((sum, { checks }) => sum + checks, 0);
    expect(checks).toBe(2);
    expect([...(await sums()).hours.values()].reduce((sum, { checks }) => sum + checks, 0)).toBe(2);
  });

  test('changes the day as well, and the sums of its user, but not those of another one', async () => {
    const day = yesterday() - dayMs;
    const monitor = await addHours(day, 24);
    const other = await service.createUser();
    const foreign = await create(other);
    await observe(foreign, [day, day + dayMs]);
    await setProgress(database, day);
    while ((await readProgress(database)).hour < day + dayMs) await runBatch();
    const ofOther = await sums(other);
    await addIncident(database, monitor, day + 22 * hourMs + 30 * minuteMs, day + 23 * hourMs + 15 * minuteMs);
    await addIncident(database, foreign, day + 20 * hourMs, day + 21 * hourMs); // It is not restated.
    await restateFrom(monitor, day + 22 * hourMs);
    await rollUpAll(database);
    const { hours, days } = await stored(monitor);
    const [before = emptyAggregate] = [hoursOf(24).reduce(mergeAggregates)];
    expect(hours.get(day + 22 * hourMs)).toMatchObject({ downMs: 30 * minuteMs, incidents: 1, checks: 1 });
    expect(hours.get(day + 23 * hourMs)).toMatchObject({ downMs: 15 * minuteMs, incidents: 0, checks: 1 });
    const expected = { ...before, downMs: before.downMs + 45 * minuteMs, incidents: before.incidents + 1 };
    expect(days.get(day)).toEqual(expected);
    expect((await sums()).days.get(day)).toEqual(withoutTimes(expected));
    expect(await sums(other)).toEqual(ofOther);
  });

  test('reaches back 47 hours, for which there are checks', async () => {
    await inOne(hourMs, async (nowMs) => {
      const startMs = startOfHour(nowMs) - 60 * hourMs;
      const monitor = await create();
      await observe(monitor, [startMs, nowMs]);
      await setProgress(database, startMs);
      await rollUpAll(database);
      await addIncident(database, monitor, startMs + minuteMs);
      await restateFrom(monitor, startMs);
      const lastMs = endOfLast(nowMs) - hourMs;
      await setProgress(database, lastMs);
      await rollUpAll(database);
      const restated = [...(await stored(monitor)).hours].filter(([, { downMs }]) => downMs > 0).map(([ms]) => ms);
      expect([restated[0], restated.at(-1), restated.length]).toEqual([lastMs - 47 * hourMs, lastMs, 48]);
    });
  });
});

describe('a clock that was moved back', () => {
  test('moves the progress back, and the hours that are rolled up again are the same', async () => {
    await inOne(5 * minuteMs, async (nowMs) => {
      const startMs = startOfHour(nowMs) - 6 * hourMs;
      await addHours(startMs, 4);
      await setProgress(database, startMs);
      await rollUpAll(database);
      const before = await rows();
      await setProgress(database, nowMs + 7 * hourMs);
      expect(await runBatch()).toBe(0);
      expect(await readProgress(database)).toEqual({ hour: startOfHour(nowMs), monitorId: 0 });
      await setProgress(database, startMs + hourMs);
      await rollUpAll(database);
      expect(await rows()).toEqual(before);
    });
  });

  test('in the middle of an hour starts that hour again with the first monitor', async () => {
    await setProgress(database, database.now() + 7 * hourMs);
    await database.asEngine((em) => em.execute('update roll_up_progress set monitor_id = 5', [], 'run'));
    await runBatch();
    expect((await readProgress(database)).monitorId).toBe(0);
  });

  test.runIf(!process.env.TEST_DATABASE_URL)('counts what has happened at both times, once', async () => {
    const { moveClock } = database as MovableDatabase;
    const monitor = await create();
    const realMs = startOfHour(Date.now()) + 30 * minuteMs - Date.now(); // Half past the hour.
    await moveClock(realMs);
    await setProgress(database, database.now());
    const checkAt = async (hours: number) => {
      await moveClock(realMs + hours * hourMs);
      await rollUpAll(database);
      await checkMonitor(database, monitor, success);
      return startOfHour(database.now());
    };
    const first = await checkAt(0);
    for (const hours of [1, 2, 3, 0, 1, 2]) await checkAt(hours);
    await moveClock(realMs + 6 * hourMs);
    await rollUpAll(database);
    const { hours } = await stored(monitor);
    expect([...hours].map(([ms, { checks }]) => [(ms - first) / hourMs, checks]).filter(([, checks]) => checks)).toEqual([
      [0, 2],
      [1, 2],
      [2, 2],
      [3, 1],
    ]);
    expect((await sums()).hours).toEqual(new Map([...hours].map(([ms, value]) => [ms, withoutTimes(value)])));
  });
});

describe.runIf(process.env.TEST_DATABASE_URL)('several processes', () => {
  test('while another one rolls up, there is nothing to do', async () => {
    const startMs = startOfHour(database.now()) - 6 * hourMs;
    const monitor = await addHours(startMs, 4);
    await setProgress(database, startMs);
    const other = await reopen(database);
    try {
      await other.engineTransaction(async (query) => {
        const [[locked]] = await query(tryLockProgress({}));
        expect(locked).toBeDefined();
        expect(await runBatch()).toBe(0);
        expect((await stored(monitor)).hours.size).toBe(0);
      });
      expect(await runBatch()).toBe(1);
      expect((await stored(monitor)).hours.size).toBe(1);
    } finally {
      await other.close();
    }
  });

  test('at the same time roll up each hour once', async () => {
    const startMs = startOfHour(database.now()) - 40 * hourMs;
    const monitors = [await addHours(startMs, 38), await addHours(startMs, 38)];
    await setProgress(database, startMs);
    const other = await reopen(database);
    try {
      const run = async (one: Database) => {
        while ((await readProgress(database)).hour < startMs + 38 * hourMs) await rollUp(one).runBatch();
      };
      await Promise.all([run(database), run(other), run(other)]);
    } finally {
      await other.close();
    }
    const expected = hoursOf(38);
    for (const monitor of monitors) expect([...(await stored(monitor)).hours.values()]).toEqual(expected);
    expect([...(await sums()).hours.values()]).toEqual(expected.map((value) => addCounts(value, value)));
  });
});
