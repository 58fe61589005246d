import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { deleteUser } from '../../../src/accounts/users.ts';
import type { Database } from '../../../src/db/database.ts';
import { addCounts, emptyAggregate } from '../../../src/monitoring/statistics/aggregate.ts';
import { purgeDeletedMonitors } from '../../../src/monitoring/statistics/purge.ts';
import { rollUp } from '../../../src/monitoring/statistics/roll-up.ts';
import { addChecks, purgeAll, readHistoryRows, rollUpAll } from '../../support/check-history.ts';
import { reopen } from '../../support/database.ts';
import { startService, type TestService, type TestUser } from '../../support/service.ts';
import { createMonitor } from '../factories.ts';
import { aggregateOf } from './aggregates.ts';
import {
  addIncident,
  dayMs,
  hourMs,
  killedAtCommit,
  type MonitorKey,
  minuteMs,
  readStored,
  setObserved,
  setProgress,
} from './stored-history.ts';

let service: TestService;
let database: Database;
let user: TestUser;
/** The start of a day whose hours were rolled up, as was the day itself. */
let day: number;

beforeEach(async () => {
  service = await startService();
  database = service.database;
  user = await service.createUser();
  day = Math.floor(database.now() / dayMs) * dayMs - 2 * dayMs;
});
afterEach(() => service.stop());

/** A monitor that was observed for this number of minutes of the day, 10 of them down, and is observed now. */
async function createObserved(of: TestUser, minutes: number): Promise<MonitorKey> {
  const monitor = { userId: of.id, monitorId: (await createMonitor(of)).id };
  await addChecks(database, monitor, [
    { atMs: day + minuteMs, ms: 5 },
    { atMs: day + 30 * hourMs, ms: 7 },
    { atMs: database.now(), ms: 9 },
  ]);
  await setObserved(database, monitor, [{ fromMs: day, toMs: day + minutes * minuteMs }]);
  await addIncident(database, monitor, day, day + 10 * minuteMs);
  return monitor;
}

async function rollUpEverything() {
  await setProgress(database, day);
  await rollUpAll(database);
}

const sums = ({ id }: { id: number }) => readStored(database, { userId: id, monitorId: 0 });
const ofMinutes = (...minutes: number[]) => {
  const observedMs = minutes.reduce((sum, each) => sum + each, 0) * minuteMs;
  return aggregateOf({ observedMs, downMs: minutes.length * 10 * minuteMs, incidents: minutes.length, checks: minutes.length });
};
const tablesOf = async (given: { userId?: number; monitorId?: number }) => [
  ...new Set((await readHistoryRows(database, given)).map(({ table }) => table)),
];
const purgeBatch = () => purgeDeletedMonitors(database).runBatch();

describe('a deleted monitor', () => {
  test('loses its history, and the sums of its user no longer contain it', async () => {
    const [deleted, kept] = [await createObserved(user, 40), await createObserved(user, 30)];
    await rollUpEverything();
    const before = await readStored(database, kept);
    expect((await sums(user)).days.get(day)).toEqual(ofMinutes(40, 30));
    expect((await sums(user)).hours.get(day)).toEqual(ofMinutes(40, 30));
    expect(await tablesOf({ monitorId: deleted.monitorId })).toEqual(['check_logs', 'day_statistics', 'hour_statistics']);
    await user.api.delete(`/api/monitors/${deleted.monitorId}`);
    expect(await tablesOf({ monitorId: deleted.monitorId })).toContain('deleted_monitors');
    expect(await purgeBatch()).toBe(1);
    expect(await readHistoryRows(database, { monitorId: deleted.monitorId })).toEqual([]);
    const { hours, days } = await sums(user);
    expect([hours.get(day), days.get(day)]).toEqual([ofMinutes(30), ofMinutes(30)]);
    // Every sum is that of the monitor that is left.
    const withoutTimes = (values: typeof hours) => [...values].map(([ms, value]) => [ms, addCounts(value, emptyAggregate)]);
    const notEmpty = (values: typeof hours) => [...values].filter(([, { observedMs, checks }]) => observedMs > 0 || checks > 0);
    expect(notEmpty(hours)).toEqual(withoutTimes(before.hours));
    expect(notEmpty(days)).toEqual(withoutTimes(before.days));
    expect(await readStored(database, kept)).toEqual(before);
    expect(await purgeBatch()).toBe(0);
  });

  test('is purged once, and not again with a later one', async () => {
    const monitors = [await createObserved(user, 40), await createObserved(user, 30), await createObserved(user, 20)];
    await rollUpEverything();
    for (const [index, { monitorId }] of monitors.entries()) {
      await user.api.delete(`/api/monitors/${monitorId}`);
      await purgeAll(database);
      await purgeAll(database);
      expect((await sums(user)).days.get(day)).toEqual(ofMinutes(...[40, 30, 20].slice(index + 1)));
    }
    expect(await tablesOf({ userId: user.id })).toEqual(['day_statistics', 'hour_statistics']);
  });

  test('whose last hours were not rolled up yet takes only what was added', async () => {
    const [deleted] = [await createObserved(user, 40), await createObserved(user, 30)];
    await setProgress(database, day);
    await rollUp(database, 100).runBatch();
    expect((await sums(user)).hours).toEqual(new Map([[day, ofMinutes(40, 30)]]));
    await user.api.delete(`/api/monitors/${deleted.monitorId}`);
    await purgeAll(database);
    expect((await sums(user)).hours).toEqual(new Map([[day, ofMinutes(30)]]));
    await rollUpAll(database);
    expect((await sums(user)).hours.get(day)).toEqual(ofMinutes(30));
    expect((await sums(user)).days.get(day)).toEqual(ofMinutes(30));
  });

  test('that is rolled up and purged in the middle of an hour of many monitors is not in the sums', async () => {
    const deleted = await createObserved(user, 40);
    await database.asUser(user.id, (em) =>
      em.execute(
        `insert into monitors (user_id, friendly_name, url) select ?, 'M', 'https://example.com/' from generate_series(1, 120) n`,
        [user.id],
      ),
    );
    const last = await createObserved(user, 30);
    await setProgress(database, day);
    await rollUp(database, 100).runBatch(); // The first 100.
    await user.api.delete(`/api/monitors/${deleted.monitorId}`);
    await purgeAll(database);
    await rollUpAll(database);
    expect((await sums(user)).hours.get(day)).toEqual(ofMinutes(30));
    expect((await readStored(database, last)).hours.get(day)?.checks).toBe(1);
  });

  test('that was never checked is forgotten', async () => {
    const { id, path } = await createMonitor(user);
    await user.api.delete(path);
    expect(await readHistoryRows(database, { monitorId: id })).toHaveLength(1);
    expect(await purgeBatch()).toBe(1);
    expect(await readHistoryRows(database, { monitorId: id })).toEqual([]);
  });

  test('loses the checks of the last three days and of the present hour', async () => {
    const { id, path } = await createMonitor(user);
    const nowMs = database.now();
    const checks = Array.from({ length: 72 }, (_, index) => ({ atMs: nowMs - index * hourMs, ms: 5 }));
    await addChecks(database, { userId: user.id, monitorId: id }, checks);
    expect(await readHistoryRows(database, { monitorId: id })).toHaveLength(72);
    await user.api.delete(path);
    await purgeAll(database);
    expect(await readHistoryRows(database, { monitorId: id })).toEqual([]);
  });

  test('is purged with at most four others in one transaction', async () => {
    const ids: number[] = [];
    for (let count = 0; count < 12; count++) ids.push((await createObserved(user, 20)).monitorId);
    await createObserved(user, 15);
    await rollUpEverything();
    await user.api.post('/api/monitors/bulk', { json: { action: 'delete', ids } });
    const purged: number[] = [];
    for (let count = 0; count < 4; count++) purged.push(await purgeBatch());
    expect(purged).toEqual([5, 5, 2, 0]);
    expect((await sums(user)).days.get(day)).toEqual(ofMinutes(15));
  });

  test('keeps its history and stays in the sums if the purge fails, and is purged later', async () => {
    const { monitorId } = await createObserved(user, 20);
    await rollUpEverything();
    await user.api.delete(`/api/monitors/${monitorId}`);
    const before = [await readHistoryRows(database, { userId: user.id }), await sums(user)];
    await expect(purgeDeletedMonitors(killedAtCommit(database)).runBatch()).rejects.toThrow('The process was killed.');
    expect([await readHistoryRows(database, { userId: user.id }), await sums(user)]).toEqual(before);
    await purgeAll(database);
    expect(await readHistoryRows(database, { monitorId })).toEqual([]);
    expect((await sums(user)).days.get(day)).toEqual(emptyAggregate);
  });

  test('leaves the history of other users as it is', async () => {
    const { monitorId } = await createObserved(user, 40);
    const other = await service.createUser();
    const foreign = await createObserved(other, 25);
    await rollUpEverything();
    const before = [await readHistoryRows(database, { userId: other.id }), await sums(other), await readStored(database, foreign)];
    await user.api.delete(`/api/monitors/${monitorId}`);
    await purgeAll(database);
    expect([await readHistoryRows(database, { userId: other.id }), await sums(other), await readStored(database, foreign)]).toEqual(before);
    expect((await sums(other)).days.get(day)).toEqual(ofMinutes(25));
  });
});

describe('a deleted user', () => {
  test('leaves no history, and that of others stays as it is', async () => {
    for (const minutes of [40, 30, 20]) await createObserved(user, minutes);
    const other = await service.createUser();
    const foreign = await createObserved(other, 25);
    await rollUpEverything();
    const before = [await readHistoryRows(database, { userId: other.id }), await sums(other), await readStored(database, foreign)];
    expect((await sums(user)).days.get(day)).toEqual(ofMinutes(40, 30, 20));
    await deleteUser(database, user.id);
    const waiting = (await readHistoryRows(database, { userId: user.id })).filter(({ table }) => table === 'deleted_monitors');
    expect(waiting).toHaveLength(4); // Three monitors, and the sums.
    await purgeAll(database);
    expect(await readHistoryRows(database, { userId: user.id })).toEqual([]);
    expect([await readHistoryRows(database, { userId: other.id }), await sums(other), await readStored(database, foreign)]).toEqual(before);
  });

  test('whose monitors were deleted shortly before leaves no history', async () => {
    const monitors = [await createObserved(user, 40), await createObserved(user, 30)];
    await rollUpEverything();
    await user.api.delete(`/api/monitors/${monitors[0]?.monitorId}`);
    await deleteUser(database, user.id);
    await purgeAll(database);
    expect(await readHistoryRows(database, { userId: user.id })).toEqual([]);
  });

  test('with more monitors than one transaction purges leaves no history', async () => {
    for (let count = 0; count < 8; count++) await createObserved(user, 20);
    await rollUpEverything();
    await deleteUser(database, user.id);
    await purgeAll(database);
    expect(await readHistoryRows(database, { userId: user.id })).toEqual([]);
  });
});

test.runIf(process.env.TEST_DATABASE_URL)(
  'a purge waits until another process has rolled up its batch, and takes what that has added',
  async () => {
    const [deleted] = [await createObserved(user, 40), await createObserved(user, 30)];
    const other = await reopen(database);
    try {
      await setProgress(database, day);
      const [rolledUp, isWaiting] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
      const engineTransaction: Database['engineTransaction'] = (work) =>
        other.engineTransaction(async (query) => {
          const result = await work(query);
          rolledUp.resolve();
          await isWaiting.promise;
          return result;
        });
      const batch = rollUp({ ...other, engineTransaction }, 100).runBatch();
      await rolledUp.promise;
      await user.api.delete(`/api/monitors/${deleted.monitorId}`);
      const purge = purgeBatch();
      const waitingLocks = () =>
        database.asAuthenticator((em) =>
          em.execute<unknown[]>(
            'select from pg_locks join pg_stat_activity using (pid) where not granted and datname = current_database()',
          ),
        );
      await expect.poll(async () => (await waitingLocks()).length, { timeout: 10_000 }).toBeGreaterThan(0);
      isWaiting.resolve();
      expect([await batch, await purge]).toEqual([1, 1]);
      expect((await sums(user)).hours).toEqual(new Map([[day, ofMinutes(30)]]));
    } finally {
      await other.close();
    }
  },
);
