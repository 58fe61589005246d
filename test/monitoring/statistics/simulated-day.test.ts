// A day on a clock that the test moves: checks that succeed and fail, transactions that are rolled back at any point as if the process had
// been killed, results that come twice or too late, hours without the service, and a clock that is moved back. Whatever happens, each
// result that was accepted is counted exactly once.
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { MovableDatabase } from '../../../src/db/embedded.ts';
import { queryInTransaction } from '../../../src/db/statement.ts';
import type { Claim } from '../../../src/monitoring/engine/claim.ts';
import { type CompletedCheck, recordResults } from '../../../src/monitoring/engine/record.ts';
import { addCounts, emptyAggregate, isEmpty } from '../../../src/monitoring/statistics/aggregate.ts';
import { decodeChunk } from '../../../src/monitoring/statistics/chunk.ts';
import { aggregate } from '../../../src/monitoring/statistics/history.ts';
import { dayMs, hourMs, startOfDay, startOfHour } from '../../../src/monitoring/statistics/periods.ts';
import { readHistories } from '../../../src/monitoring/statistics/read-history.ts';
import { rollUp } from '../../../src/monitoring/statistics/roll-up.ts';
import { readLoggedChecks, rollUpAll } from '../../support/check-history.ts';
import { openFreshDatabase } from '../../support/fresh-database.ts';
import { claimOf, createUsersWithDueMonitor } from '../engine/due-monitors.ts';

const minuteMs = 60_000;

let database: MovableDatabase;
let offsetMs: number;

beforeEach(async () => {
  offsetMs = 0;
  database = (await openFreshDatabase('')) as MovableDatabase; // Only the clock of the embedded database can be moved.
});
afterEach(() => database.close());

async function moveClock(byMs: number) {
  offsetMs += byMs;
  await database.moveClock(offsetMs);
}

/** A generator of the numbers from 0 to 1, always the same for a seed. */
function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1_664_525 + 1_013_904_223) % 2 ** 32;
    return state / 2 ** 32;
  };
}

class Killed extends Error {}

/** Runs the work of a process that is killed before it commits, if `isKilled`. Returns undefined then. */
async function inTransaction<T>(work: Parameters<typeof database.engineTransaction<T>>[0], isKilled = false): Promise<T | undefined> {
  try {
    return await database.engineTransaction(async (query) => {
      const result = await work(query);
      if (isKilled) throw new Killed();
      return result;
    });
  } catch (error) {
    if (error instanceof Killed) return undefined;
    throw error;
  }
}

/** Rolls up some batches. Each may be killed at its end, and its transaction is rolled back. */
async function rollUpSome(random: () => number) {
  const killable = {
    ...database,
    engineTransaction: async <T>(work: Parameters<typeof database.engineTransaction<T>>[0]) => {
      const result = await inTransaction(work, random() < 0.2);
      if (result === undefined) throw new Killed();
      return result;
    },
  };
  const { runBatch } = rollUp(killable as typeof database);
  for (let count = Math.floor(random() * 6); count > 0; count--) {
    await runBatch().catch((error: unknown) => {
      if (!(error instanceof Killed)) throw error;
    });
  }
}

interface Accepted {
  monitorId: number;
  failed: boolean;
  ms: number | undefined;
}

/** Lives through a day and returns what was accepted. */
async function live(random: () => number, userIds: number[], movesBack: boolean): Promise<Accepted[]> {
  const accepted: Accepted[] = [];
  let unfinished: Claim[] = [];
  // Details of when monitors were observed are kept for 25 hours, and are compared afterwards.
  const endMs = database.now() + 20 * hourMs;
  while (database.now() < endMs) {
    const dice = random();
    if (dice < 0.02)
      await moveClock((1 + random() * 2) * hourMs); // The service does not run.
    else if (dice < 0.04 && movesBack) await moveClock(-random() * 100 * minuteMs);
    else await moveClock(random() * 25 * minuteMs);
    await database.asEngine((em) =>
      em.execute(`update monitors set next_check_at = app_now() where id % 3 <> ?`, [Math.floor(random() * 4)], 'run'),
    );
    const claims: Claim[] = [];
    for (const userId of userIds) claims.push(...(await database.asEngine((em) => claimOf(em, userId, 10))));
    // Results that come late, after another claim of the same monitor, and results of this claim. Some processes are killed before.
    const results = [...unfinished, ...claims].map((claim): CompletedCheck => {
      const ms = random() < 0.1 ? undefined : Math.ceil(random() * 2000);
      const up = random() < 0.7;
      const seen = ms === undefined ? {} : { responseTimeMs: ms };
      const result = up ? { up, ...seen } : { up, ...seen, cause: random() < 0.5 ? 'HTTP 503' : 'timed out', statusCode: up ? null : 503 };
      return { claim, result, startedMs: performance.now() - random() * 40_000 };
    });
    unfinished = claims.filter(() => random() < 0.1);
    const isKilled = random() < 0.15;
    const write = () => inTransaction((query) => recordWithTokens(query, results), isKilled);
    const tokens = await write();
    for (const { claim, result } of results.filter((check) => tokens?.has(check.claim.token))) {
      accepted.push({ monitorId: claim.id, failed: !result.up, ms: result.responseTimeMs });
    }
    // Nothing is accepted twice.
    if (tokens && random() < 0.3) expect(await write()).toEqual(isKilled ? undefined : new Set());
    if (random() < 0.2) await rollUpSome(random);
  }
  return accepted;
}

/** Records results. Returns the tokens of those that were accepted. */
async function recordWithTokens(query: Parameters<typeof recordResults>[0], results: CompletedCheck[]): Promise<Set<number>> {
  const tokens = new Set<number>();
  for (const result of results) {
    if ((await recordResults(query, [result])).accepted === 1) tokens.add(result.claim.token);
  }
  return tokens;
}

const readStored = async (table: string, column: string, start: string) => {
  const rows = await database.asEngine((em) =>
    em.execute<{ user_id: number; monitor_id: number; start_ms: number; bytes: Uint8Array }[]>(
      `select user_id, monitor_id, (extract(epoch from ${start}::timestamptz) * 1000)::float8 as start_ms, ${column} as bytes from ${table}`,
    ),
  );
  return rows.map((row) => ({ userId: row.user_id, monitorId: row.monitor_id, startMs: row.start_ms, chunk: decodeChunk(row.bytes) }));
};

test.each([
  { seed: 1, movesBack: false },
  { seed: 2, movesBack: false },
  { seed: 3, movesBack: true },
  { seed: 4, movesBack: true },
])('counts every accepted result exactly once (seed $seed, clock moved back: $movesBack)', async ({ seed, movesBack }) => {
  const random = randomFrom(seed);
  // At noon, so that the end of a day is within the day that is simulated, wherever the real clock is.
  await moveClock(startOfDay(Date.now()) + dayMs / 2 - Date.now() + (seed - 1) * 20 * dayMs);
  const userIds = await createUsersWithDueMonitor(database, 3);
  const accepted = await live(random, userIds, movesBack);
  expect(accepted.length).toBeGreaterThan(80);

  const logged = (await Promise.all(userIds.map((id) => readLoggedChecks(database, id)))).flat();
  const countsOf = (checks: Accepted[]) => checks.map((check) => JSON.stringify(check)).sort();
  expect(
    countsOf(logged.map(({ monitorId, failure, responseTimeMs }) => ({ monitorId, failed: Boolean(failure), ms: responseTimeMs }))),
  ).toEqual(countsOf(accepted));

  // The hours and days that are stored are those that the details give.
  await moveClock(2 * dayMs - (database.now() % dayMs));
  await rollUpAll(database);
  const monitors = await readMonitors();
  const hours = await readStored('hour_statistics', 'hours', 'day');
  const days = await readStored('day_statistics', 'days', 'month');
  let counted = 0;
  for (const { id, userId } of monitors) {
    const own = hours.filter((row) => row.monitorId === id);
    for (const { startMs, chunk } of own) {
      for (const [hour, value] of chunk) {
        const fromMs = startMs + hour * hourMs;
        const history = await historyOf(id, fromMs);
        const expected = aggregate(history, { fromMs, toMs: fromMs + hourMs });
        // If the clock was moved back, the same time has passed twice, so nobody can tell how much of it was observed.
        expect([id, fromMs, movesBack ? { ...value, observedMs: 0, downMs: 0 } : value]).toEqual([
          id,
          fromMs,
          movesBack ? { ...expected, observedMs: 0, downMs: 0 } : expected,
        ]);
        expect(value.observedMs).toBeLessThanOrEqual(hourMs);
        expect(value.downMs).toBeLessThanOrEqual(value.observedMs);
        counted += value.checks;
      }
      const day = days.find((row) => row.monitorId === id && row.startMs <= startMs && row.chunk.has(new Date(startMs).getUTCDate()));
      const sum = [...chunk.values()].reduce((one, other) => addCounts(one, other), emptyAggregate);
      const stored = day?.chunk.get(new Date(startMs).getUTCDate()) ?? emptyAggregate;
      expect([id, startMs, addCounts(emptyAggregate, stored)]).toEqual([id, startMs, sum]);
    }
    // A user has one monitor here, so the sums of the user are the values of that monitor.
    for (const rows of [hours, days]) {
      for (const { startMs, chunk } of rows.filter((row) => row.monitorId === id)) {
        const totals = rows.find((row) => row.userId === userId && row.monitorId === 0 && row.startMs === startMs)?.chunk;
        const counts = [...chunk].map(([number, value]) => [number, addCounts(emptyAggregate, value)] as const);
        expect([...(totals ?? [])].filter(([, value]) => !isEmpty(value))).toEqual(counts.filter(([, value]) => !isEmpty(value)));
      }
    }
  }
  expect(counted).toBe(accepted.length);
});

async function readMonitors() {
  const rows = await database.asEngine((em) =>
    em.execute<{ id: number; user_id: number }[]>('select id, user_id from monitors order by id'),
  );
  return rows.map(({ id, user_id }) => ({ id, userId: user_id }));
}

async function historyOf(monitorId: number, hourStartMs: number) {
  const wanted = { monitorIds: [monitorId], hours: [startOfHour(hourStartMs)], incidentsFromMs: hourStartMs };
  const history = (await database.asEngine((em) => readHistories(queryInTransaction(em), wanted))).get(monitorId);
  if (!history) throw new Error('The monitor does not exist.');
  return history;
}
