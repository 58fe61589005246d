// Checks that the engine records, without a target: the tests say what the results are.
import type { Database } from '../../../src/db/database.ts';
import type { CheckResult } from '../../../src/monitoring/checks/check.ts';
import type { Claim } from '../../../src/monitoring/engine/claim.ts';
import { recordResults } from '../../../src/monitoring/engine/record.ts';
import { claimOf } from '../engine/due-monitors.ts';
import type { MonitorKey } from './stored-history.ts';

export const success: CheckResult = { up: true, responseTimeMs: 20 };
export const failure: CheckResult = { up: false, cause: 'HTTP 503', statusCode: 503, responseTimeMs: 7 };

/** Claims a monitor, as the engine does when it is due. */
export async function claimMonitor(database: Database, { userId, monitorId }: MonitorKey): Promise<Claim> {
  const claims = await database.asEngine(async (em) => {
    await em.execute(`update monitors set next_check_at = app_now() - interval '1 second' where id = ?`, [monitorId], 'run');
    return claimOf(em, userId, 100);
  });
  const claim = claims.find(({ id }) => id === monitorId);
  if (!claim) throw new Error(`Monitor ${monitorId} was not claimed.`);
  return claim;
}

/** Checks a monitor. `agoMs` is how long ago the check began. Returns the time of the check. */
export async function checkMonitor(database: Database, monitor: MonitorKey, result: CheckResult, agoMs = 0): Promise<number> {
  const claim = await claimMonitor(database, monitor);
  const nowMs = performance.now();
  const { accepted } = await database.engineTransaction((query) =>
    recordResults(query, [{ claim, result, startedMs: nowMs - agoMs }], nowMs),
  );
  if (accepted !== 1) throw new Error('The result was not accepted.');
  const [row] = await database.asEngine((em) =>
    em.execute<{ ms: number }[]>('select (extract(epoch from last_checked_at) * 1000)::float8 as ms from monitors where id = ?', [
      monitor.monitorId,
    ]),
  );
  return Number(row?.ms);
}
