// What is stored of the history of monitors, for tests that calculate what statistics must say about it.
import type { Database } from '../../../src/db/database.ts';
import type { Aggregate } from '../../../src/monitoring/statistics/aggregate.ts';
import { decodeChunk } from '../../../src/monitoring/statistics/chunk.ts';
import { dayMs, hourMs, startOfHour } from '../../../src/monitoring/statistics/periods.ts';
import { startProgress } from '../../../src/monitoring/statistics/progress.ts';
import { rollUp } from '../../../src/monitoring/statistics/roll-up.ts';
import type { TimeRange } from '../../../src/monitoring/statistics/time-ranges.ts';

export const minuteMs = 60_000;
export { dayMs, hourMs, startOfHour };

export interface MonitorKey {
  userId: number;
  monitorId: number;
}

const iso = (ms: number) => new Date(ms).toISOString();
const multirange = (ranges: TimeRange[]) => `{${ranges.map(({ fromMs, toMs }) => `[${iso(fromMs)},${iso(toMs)})`).join()}}`;

/** Lets a monitor have been observed in these periods, and not at present. */
export async function setObserved(database: Database, { monitorId }: Pick<MonitorKey, 'monitorId'>, ranges: TimeRange[]): Promise<void> {
  await database.asEngine((em) =>
    em.execute(
      'update monitors set observed_since = null, observed_until = null, observed_before = ?::tstzmultirange where id = ?',
      [multirange(ranges), monitorId],
      'run',
    ),
  );
}

export interface Observation {
  sinceMs: number | null;
  /** Infinity if a heartbeat monitor is down. */
  untilMs: number | null;
  before: TimeRange[];
}

/** Reads what is stored about when a monitor was observed. */
export async function readObservation(database: Database, monitorId: number): Promise<Observation> {
  const ms = (column: string) => `(extract(epoch from ${column}) * 1000)::float8`;
  const [row] = await database.asEngine((em) =>
    em.execute<{ since: number | null; until: number | null; is_endless: boolean; before: [number, number][] | null }[]>(
      `select ${ms('observed_since')} as since, observed_until = 'infinity' as is_endless,
         case when isfinite(observed_until) then ${ms('observed_until')} end as until,
         (select json_agg(json_build_array(${ms('lower(p)')}, ${ms('upper(p)')}) order by lower(p)) from unnest(observed_before) p) as before
       from monitors where id = ?`,
      [monitorId],
    ),
  );
  if (!row) throw new Error(`There is no monitor ${monitorId}.`);
  const before = (row.before ?? []).map(([fromMs, toMs]) => ({ fromMs, toMs }));
  return { sinceMs: row.since, untilMs: row.is_endless ? Number.POSITIVE_INFINITY : row.until, before };
}

/** Lets time pass for a monitor: moves all its times into the past, those of its incidents and its maintenance included. */
export async function letPass(database: Database, { userId, monitorId }: MonitorKey, ms: number): Promise<void> {
  const moved = (column: string) => `${column} = ${column} - passed`;
  const columns = [
    'last_checked_at',
    'next_check_at',
    'first_failed_at',
    'last_good_at',
    'maintenance_until',
    'observed_since',
    'observed_until',
  ];
  await database.asUser(userId, (em) =>
    em.execute(
      `update monitors set ${columns.map(moved).join()}, observed_before = (select range_agg(tstzrange(lower(p) - passed, upper(p) - passed))
         from unnest(observed_before) p)
       from (select ? * interval '1 millisecond' as passed) given where id = ?`,
      [ms, monitorId],
      'run',
    ),
  );
  // Nothing may change when an incident began, so it is replaced.
  await database.asEngine((em) =>
    em.execute(
      `with given as (select ? * interval '1 millisecond' as passed),
         moved as (delete from incidents where monitor_id = ? returning *)
       insert into incidents (id, user_id, monitor_id, started_at, resolved_at, cause, status_code) overriding system value
       select id, user_id, monitor_id, started_at - passed, resolved_at - passed, cause, status_code from moved, given`,
      [ms, monitorId],
      'run',
    ),
  );
}

/** Creates an incident with exact times. Without an end it is open. */
export async function addIncident(database: Database, { userId, monitorId }: MonitorKey, fromMs: number, toMs?: number): Promise<void> {
  await database.asEngine((em) =>
    em.execute(
      `insert into incidents (user_id, monitor_id, started_at, resolved_at, cause, status_code) values (?, ?, ?, ?, 'HTTP 503', 503)`,
      [userId, monitorId, iso(fromMs), toMs === undefined ? null : iso(toMs)],
      'run',
    ),
  );
}

export interface Stored {
  /** By the start of the hour. */
  hours: Map<number, Aggregate>;
  /** By the start of the day. */
  days: Map<number, Aggregate>;
}

/** Reads the stored statistics of a monitor, or with the monitor 0 the sums of a user. */
export async function readStored(database: Database, { userId, monitorId }: MonitorKey): Promise<Stored> {
  const read = (table: string, period: string, bytes: string) =>
    database.asEngine((em) =>
      em.execute<{ start_ms: number; bytes: Uint8Array }[]>(
        `select (extract(epoch from ${period}::timestamp) * 1000)::float8 as start_ms, ${bytes} as bytes from ${table}
          where user_id = ? and monitor_id = ? order by 1`,
        [userId, monitorId],
      ),
    );
  const [hourRows, dayRows] = [await read('hour_statistics', 'day', 'hours'), await read('day_statistics', 'month', 'days')];
  const entries = (rows: typeof hourRows, timeOf: (startMs: number, number: number) => number) =>
    rows.flatMap(({ start_ms, bytes }) =>
      [...decodeChunk(bytes)].map(([number, value]): [number, Aggregate] => [timeOf(Number(start_ms), number), value]),
    );
  return {
    hours: new Map(entries(hourRows, (startMs, number) => startMs + number * hourMs)),
    days: new Map(entries(dayRows, (startMs, number) => startMs + (number - 1) * dayMs)),
  };
}

/** Reads how far hours were rolled up. */
export async function readProgress(database: Database): Promise<{ hour: number; monitorId: number }> {
  const [row] = await database.asEngine((em) =>
    em.execute<{ ms: number; monitor_id: number }[]>(
      'select (extract(epoch from hour) * 1000)::float8 as ms, monitor_id from roll_up_progress',
    ),
  );
  return { hour: Number(row?.ms), monitorId: Number(row?.monitor_id) };
}

/** Lets the hours before this time count as rolled up, whatever is stored. */
export async function setProgress(database: Database, ms: number): Promise<void> {
  await database.engineTransaction((query) => query(startProgress({})));
  await database.asEngine((em) => em.execute('update roll_up_progress set hour = ?, monitor_id = 0', [iso(startOfHour(ms))], 'run'));
}

/** Rolls up the hours between two times, both of them whole hours, and then lets the earlier progress count again. */
export async function rollUpBetween(database: Database, fromMs: number, toMs: number): Promise<void> {
  await database.engineTransaction((query) => query(startProgress({})));
  const before = await readProgress(database);
  await setProgress(database, fromMs);
  const { runBatch } = rollUp(database);
  while ((await readProgress(database)).hour < toMs) await runBatch();
  await setProgress(database, before.hour);
}

/** Runs a test that depends on the present hour, or another period. If that ends meanwhile, what the test saw proves nothing, so it runs again. */
export async function within<T>(database: Database, periodMs: number, run: (nowMs: number) => Promise<T>): Promise<T> {
  for (;;) {
    const nowMs = database.now();
    const isOver = () => Math.floor(database.now() / periodMs) !== Math.floor(nowMs / periodMs);
    try {
      const result = await run(nowMs);
      if (!isOver()) return result;
    } catch (error) {
      if (!isOver()) throw error;
    }
  }
}

/** The database of a process that is killed right before it commits. */
export function killedAtCommit(database: Database): Database {
  const engineTransaction: Database['engineTransaction'] = (work) =>
    database.engineTransaction(async (query) => {
      await work(query);
      throw new Error('The process was killed.');
    });
  return { ...database, engineTransaction };
}
