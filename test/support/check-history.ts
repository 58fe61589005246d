// The history of checks, for tests: what is stored, and what is added as if monitors had been checked at these times.
import type { Database } from '../../src/db/database.ts';
import { startOfHour } from '../../src/monitoring/statistics/periods.ts';
import { startProgress } from '../../src/monitoring/statistics/progress.ts';
import { purgeDeletedMonitors } from '../../src/monitoring/statistics/purge.ts';
import { appendChecks } from '../../src/monitoring/statistics/record-checks.ts';
import { rollUp } from '../../src/monitoring/statistics/roll-up.ts';
import { decodeChecks, type SingleCheck } from '../../src/monitoring/statistics/single-check.ts';
import { storeHour } from '../../src/monitoring/statistics/store-hour.ts';

export interface LoggedCheck extends SingleCheck {
  monitorId: number;
}

/** What `decodeLogs` and `countLogs` read, also through a connection that knows nothing of the service. */
export const selectLogs = `select user_id, monitor_id, (extract(epoch from hour) * 1000)::float8 as hour_ms, checks, more_successes, more_failures
  from check_logs`;

export interface LogRow {
  user_id: number;
  monitor_id: number;
  hour_ms: number;
  checks: Uint8Array;
  more_successes: number;
  more_failures: number;
}

/** Returns the checks in rows of the logs, in the order of time. */
export function decodeLogs(rows: LogRow[]): LoggedCheck[] {
  const checks = rows.flatMap(({ monitor_id, hour_ms, checks }) =>
    decodeChecks(checks, Number(hour_ms)).map((check) => ({ ...check, monitorId: Number(monitor_id) })),
  );
  return checks.toSorted((one, other) => one.checkedAtMs - other.checkedAtMs);
}

export interface CheckCounts {
  checks: number;
  failures: number;
}

/** Counts the checks in rows of the logs, also those for which there was no space, and how many of them have failed. */
export function countLogs(rows: LogRow[]): CheckCounts {
  const logged = decodeLogs(rows);
  const sumOf = (column: 'more_successes' | 'more_failures') => rows.reduce((sum, row) => sum + Number(row[column]), 0);
  const failures = logged.filter(({ failure }) => failure).length + sumOf('more_failures');
  return { checks: logged.length + sumOf('more_successes') + sumOf('more_failures'), failures };
}

function readLogs(database: Database, { userId, monitorId }: { userId?: number | undefined; monitorId?: number | undefined }) {
  return database.asEngine((em) =>
    em.execute<LogRow[]>(`${selectLogs} where coalesce(user_id = ?, true) and coalesce(monitor_id = ?, true)`, [
      userId ?? null,
      monitorId ?? null,
    ]),
  );
}

/** Reads all checks in the logs, or those of one user, in the order of time. The engine sees those of all users. */
export async function readLoggedChecks(database: Database, userId?: number): Promise<LoggedCheck[]> {
  return decodeLogs(await readLogs(database, { userId }));
}

/** The number of checks in the logs, and how many of them have failed. */
export async function countLoggedChecks(database: Database, monitorId?: number): Promise<CheckCounts> {
  return countLogs(await readLogs(database, { monitorId }));
}

export interface AddedCheck {
  atMs: number;
  ms?: number | undefined;
  /** A check without a cause succeeds. */
  cause?: string | undefined;
  statusCode?: number | null | undefined;
}

/** Adds checks of a monitor to the logs, and lets it be observed from the first one on until now. */
export async function addChecks(
  database: Database,
  { userId, monitorId }: { userId: number; monitorId: number },
  checks: AddedCheck[],
): Promise<void> {
  await database.engineTransaction(async (query) => {
    for (const { atMs, ms, cause, statusCode = null } of checks) {
      const failure = cause === undefined ? undefined : { cause, statusCode };
      await appendChecks(query, [{ userId, monitorId, checkedAtMs: atMs, responseTimeMs: ms, failure }]);
    }
  });
  const firstMs = Math.min(...checks.map(({ atMs }) => atMs));
  await database.asEngine((em) =>
    em.execute(
      `update monitors set observed_since = to_timestamp(?::float8 / 1000), observed_until = app_now() + interval '1 minute' where id = ?`,
      [firstMs, monitorId],
      'run',
    ),
  );
}

/** Lets statistics be rolled up from this time on, until now. */
export async function rollUpFrom(database: Database, ms: number): Promise<void> {
  await rollUpAll(database); // This inserts the row, if there is none.
  await database.asEngine((em) =>
    em.execute(`update roll_up_progress set hour = date_trunc('hour', to_timestamp(?::float8 / 1000)), monitor_id = 0`, [ms], 'run'),
  );
  await rollUpAll(database);
}

/** Rolls up the hours of these times that are over, of one monitor only. */
export async function rollUpHoursOf(database: Database, { userId, monitorId }: { userId: number; monitorId: number }, timesMs: number[]) {
  const presentMs = startOfHour(database.now());
  const hours = [...new Set(timesMs.map(startOfHour))].filter((ms) => ms < presentMs);
  await database.engineTransaction(async (query) => {
    for (const ms of hours) await storeHour(query, [{ id: monitorId, userId }], ms, presentMs);
  });
}

/** Rolls up everything that is over. */
export async function rollUpAll(database: Database): Promise<void> {
  const { runBatch } = rollUp(database);
  while ((await runBatch()) > 0);
}

/** Deletes the history of everything that was deleted, as the service does within a minute. */
export async function purgeAll(database: Database): Promise<void> {
  await database.engineTransaction((query) => query(startProgress({})));
  const { runBatch } = purgeDeletedMonitors(database);
  while ((await runBatch()) > 0);
}

const historyTables = ['check_logs', 'hour_statistics', 'day_statistics', 'deleted_monitors'] as const;

export interface HistoryRow {
  table: (typeof historyTables)[number];
  monitor_id: number;
}

/** Returns which rows there are of a user or a monitor in the tables of the history, and in the one of what is still to be deleted. */
export function readHistoryRows(database: Database, given: { userId?: number; monitorId?: number }): Promise<HistoryRow[]> {
  const each = historyTables.map((table) => `select '${table}' as table, user_id, monitor_id from ${table}`).join(' union all ');
  return database.asEngine((em) =>
    em.execute<HistoryRow[]>(
      `select "table", monitor_id from (${each}) as history
        where coalesce(user_id = ?, true) and coalesce(monitor_id = ?, true) order by 1, 2`,
      [given.userId ?? null, given.monitorId ?? null],
    ),
  );
}
