import type { Query } from '../../db/statement.ts';
import { hourMs, startOfHour } from './periods.ts';
import { selectProgress } from './progress.ts';
import { historyStatements, toHistories } from './read-history.ts';
import type { SingleCheck } from './single-check.ts';

const keptMs = 48 * hourMs;

/** Returns the checks of a monitor in the last 48 hours, newest first, or undefined if there is no such monitor. */
export async function readChecks(query: Query, monitorId: number, nowMs: number): Promise<SingleCheck[] | undefined> {
  // One hour more in both directions, because the clock of the database may differ a little.
  const firstMs = startOfHour(nowMs) - keptMs - hourMs;
  const hours = Array.from({ length: keptMs / hourMs + 3 }, (_, index) => firstMs + index * hourMs);
  const statements = historyStatements({ monitorIds: [monitorId], hours, incidentsFromMs: nowMs });
  const [[progress], ...rows] = await query(selectProgress({}), ...statements);
  const history = toHistories(...rows).get(monitorId);
  const sinceMs = (progress?.nowMs ?? nowMs) - keptMs;
  // There can be more than 100,000 heartbeats, so each hour is sorted on its own.
  const logs = [...(history?.logs ?? [])].toSorted(([one], [other]) => other - one).map(([, log]) => log.checks);
  const checks = logs.flatMap((log) => log.toSorted((one, other) => other.checkedAtMs - one.checkedAtMs));
  return history && checks.filter(({ checkedAtMs }) => checkedAtMs > sinceMs);
}
