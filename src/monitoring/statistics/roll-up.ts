import { type RawBuilder, sql } from 'kysely';
import type { BatchJob } from '../../db/batch-jobs.ts';
import type { Database } from '../../db/database.ts';
import { prepare, type Query } from '../../db/statement.ts';
import { tables } from '../../db/tables.ts';
import type { MonitorEntity } from '../monitors/monitor.entity.ts';
import type { CheckLogEntity } from './check-log.entity.ts';
import { dayMs, hourMs, startOfDay, startOfHour } from './periods.ts';
import { setProgress, startProgress, tryLockProgress } from './progress.ts';
import { type RolledMonitor, storeHour } from './store-hour.ts';

// When an hour is over, its statistics are calculated from the details, once for each monitor, and stored. Until then, readers calculate
// them. The progress moves in the same transaction as the statistics, so a crash neither loses nor doubles an hour. An hour that is rolled
// up again gets the same statistics, so it does no harm if the clock is moved back.

/** Results of checks are recorded within a minute, so after this time an hour no longer changes. */
const settledMs = 5 * 60_000;
/** The logs of checks are kept for two days, so nothing before can be calculated. */
const maxRestatedHours = 47;
/** The embedded database takes about 20 ms for a batch, in which this process responds to nobody. */
function batchSizeOf({ concurrency }: Database): number {
  return concurrency === 1 ? 20 : 200;
}

const db = tables<typeof MonitorEntity | typeof CheckLogEntity>();
const toMs = (column: string) => sql<number>`(extract(epoch from ${sql.ref(column)}) * 1000)::float8`;

const selectMonitors = prepare((given: { afterId: number; limit: number }) =>
  db
    .selectFrom('monitors')
    .select(['id', 'user_id as userId', toMs('restate_from').$castTo<number | null>().as('restateFromMs')])
    .where('id', '>', given.afterId)
    .orderBy('id')
    .limit(given.limit),
);

const clearRestatement = prepare((given: { ids: number[] }) =>
  db.updateTable('monitors').set({ restate_from: null }).where('id', '=', sql<number>`any (${given.ids}::bigint[])`),
);

/** After a time in which the service did not run, there are hours without anything to roll up. */
const selectNextLog = prepare((given: { hour: Date }) =>
  db.selectFrom('check_logs').select(toMs('hour').as('hourMs')).where('hour', '>=', given.hour).orderBy('hour').limit(sql.lit(1)),
);

const selectObserved = prepare((given: { from: Date; to: Date }) =>
  db.selectFrom('monitors').select('id').where(isObserved(given)).limit(sql.lit(1)),
);

function isObserved({ from, to }: { from: Date; to: Date }): RawBuilder<boolean> {
  return sql<boolean>`(observed_since < ${to} and observed_until > ${from}
    or observed_before && tstzmultirange(tstzrange(${from}, ${to})) or restate_from is not null)`;
}

/** Rolls up what is over, one batch of monitors in each transaction. While another process does so, there is nothing to do. */
export function rollUp(database: Database, batchSize = batchSizeOf(database)): BatchJob {
  return { name: 'Calculating the statistics of the last hours', runBatch: async () => ((await rollUpBatch(database, batchSize)) ? 1 : 0) };
}

/** Returns whether there may be more to do now. */
function rollUpBatch(database: Database, batchSize: number): Promise<boolean> {
  return database.engineTransaction(async (query) => {
    const [, [progress]] = await query(startProgress({}), tryLockProgress({}));
    if (!progress) return false;
    const { hourMs: startMs, monitorId: afterId, nowMs } = progress;
    if (startMs > startOfHour(nowMs)) {
      await query(setProgress({ hour: new Date(startOfHour(nowMs)), monitorId: 0 })); // The clock was moved back.
      return false;
    }
    if (nowMs < startMs + hourMs + settledMs) return false;
    if (afterId === 0 && !(await hasHistory(query, startMs))) {
      await query(setProgress({ hour: new Date(await nextHour(query, startMs, nowMs)), monitorId: 0 }));
      return true;
    }
    const [monitors] = await query(selectMonitors({ afterId, limit: batchSize }));
    await restate(query, monitors, startMs);
    await storeHour(query, monitors, startMs, startMs + hourMs);
    const last = monitors.at(-1);
    const isComplete = monitors.length < batchSize || !last;
    await query(
      setProgress(isComplete ? { hour: new Date(startMs + hourMs), monitorId: 0 } : { hour: new Date(startMs), monitorId: last.id }),
    );
    return true;
  });
}

/** The last hour of a day also has the statistics of the day to store. */
async function hasHistory(query: Query, startMs: number): Promise<boolean> {
  const endMs = startMs + hourMs;
  const [from, to] = [new Date(startMs === lastHourOfDay(startMs) ? startOfDay(startMs) : startMs), new Date(endMs)];
  const [[log], [observed]] = await query(selectNextLog({ hour: from }), selectObserved({ from, to }));
  return (log !== undefined && log.hourMs < endMs) || observed !== undefined;
}

/** After an hour without history, returns the next one that may have some. */
async function nextHour(query: Query, startMs: number, nowMs: number): Promise<number> {
  const [from, to] = [new Date(startMs), new Date(nowMs)];
  const [[log], [observed]] = await query(selectNextLog({ hour: from }), selectObserved({ from, to }));
  const lastMs = lastHourOfDay(startMs);
  if (observed || startMs === lastMs) return startMs + hourMs;
  return Math.min(log?.hourMs ?? Number.POSITIVE_INFINITY, lastMs, startOfHour(nowMs));
}

function lastHourOfDay(ms: number): number {
  return startOfDay(ms) + dayMs - hourMs;
}

/** Rolls up the earlier hours of monitors again whose statistics have changed since. */
async function restate(query: Query, monitors: (RolledMonitor & { restateFromMs: number | null })[], startMs: number): Promise<void> {
  const changed = monitors.filter(({ restateFromMs }) => restateFromMs !== null);
  if (changed.length === 0) return;
  const first = startMs - maxRestatedHours * hourMs;
  const fromMs = Math.max(first, Math.min(...changed.map(({ restateFromMs }) => restateFromMs ?? startMs)));
  for (let ms = fromMs; ms < startMs; ms += hourMs) {
    await storeHour(
      query,
      changed.filter(({ restateFromMs }) => restateFromMs !== null && restateFromMs <= ms),
      ms,
      startMs,
    );
  }
  await query(clearRestatement({ ids: changed.map(({ id }) => id) }));
}
