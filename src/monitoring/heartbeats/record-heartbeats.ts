import { sql } from 'kysely';
import { jsonRows } from '../../db/json-rows.ts';
import { selectNow } from '../../db/select-now.ts';
import { prepare, type Query } from '../../db/statement.ts';
import { tables } from '../../db/tables.ts';
import type { CheckResult } from '../checks/check.ts';
import { lastGood } from '../engine/record.ts';
import { openIncidents, resolveIncidents } from '../engine/record-incidents.ts';
import { endOfMaintenance, nextPeriod } from '../engine/schedule.ts';
import { type CheckState, type Transition, transition } from '../engine/transition.ts';
import type { MonitorEntity } from '../monitors/monitor.entity.ts';
import { observeCheck } from '../statistics/observation.ts';
import { appendChecks } from '../statistics/record-checks.ts';
import { restateFrom } from '../statistics/restatement.ts';
import { isSuspended } from '../suspended-users.ts';
import { wakeDispatcher } from '../wake.ts';

/** What a job has reported. */
export interface Heartbeat {
  /** The hash of the monitor's token. */
  hash: string;
  /** Whether the job has succeeded. */
  succeeded: boolean;
}

export type Reception = 'counted' | 'ignored';

const db = tables<typeof MonitorEntity>();

/** Locks the monitors in the order of their ids, so that two processes do not wait for each other. */
const lockMonitors = prepare((given: { hashes: string[] }) =>
  db
    .selectFrom('monitors as m')
    .select([
      'm.id',
      'm.user_id as userId',
      sql<string>`m.settings -> 'token' ->> 'hash'`.as('hash'),
      'm.status',
      'm.failures',
      'm.is_active as isActive',
    ])
    .select(sql<boolean>`coalesce(m.maintenance_until > app_now(), false)`.as('isInMaintenance'))
    .where('m.grace_seconds', 'is not', null)
    .where(sql<boolean>`m.settings -> 'token' ->> 'hash' = any (${given.hashes}::text[])`)
    .where(sql<boolean>`not ${isSuspended('m.user_id')}`)
    .orderBy('m.id')
    .forUpdate(),
);

const observed = observeCheck(sql<Date>`app_now()`, sql<boolean>`(r.status = 'down')`);

const updateMonitors = prepare((given: { results: string }) =>
  db
    .updateTable('monitors as m')
    .from(jsonRows(given.results, 'r', { id: 'bigint', status: 'text', failures: 'smallint', cause: 'text' }))
    .set({
      status: sql<CheckState['status']>`r.status`,
      failures: sql`r.failures`,
      state_version: sql`m.state_version + 1`,
      claim_token: null, // A check that is running has become meaningless.
      last_checked_at: sql`app_now()`,
      last_response_time_ms: null,
      last_error: sql`r.cause`,
      first_failed_at: sql`case when r.failures = 0 then null when r.failures = 1 then app_now() else m.first_failed_at end`,
      first_cause: sql`case when r.failures = 0 then null when r.failures = 1 then r.cause else m.first_cause end`,
      first_status_code: null,
      last_good_at: lastGood(sql<Date>`app_now()`, sql<Date>`m.last_good_at`),
      last_good_ms: null,
      ...observed,
      restate_from: restateFrom(sql<Date>`app_now()`),
      next_check_at: sql`case when r.status = 'down' then ${endOfMaintenance} else ${nextPeriod} end`,
    })
    .whereRef('m.id', '=', 'r.id')
    .returning('m.id'),
);

/**
 * Records heartbeats in the current transaction: status, incidents, alerts and statistics. There is at most one for each monitor.
 * Returns the hashes that belong to a monitor. A paused monitor ignores heartbeats.
 */
export async function recordHeartbeats(query: Query, heartbeats: Heartbeat[]): Promise<Map<string, Reception>> {
  const succeeded = new Map(heartbeats.map((heartbeat) => [heartbeat.hash, heartbeat.succeeded]));
  const [monitors] = await query(lockMonitors({ hashes: [...succeeded.keys()] }));
  const rows = monitors
    .filter(({ isActive }) => isActive)
    .map(({ id, userId, hash, status, failures, isInMaintenance }) => {
      const result = resultOf(succeeded.get(hash) ?? true);
      // A monitor that is active is not paused.
      const before = { status, failures } as CheckState;
      const { kind, state } = transition(before, result, { confirmations: 0, isInMaintenance });
      return { id, userId, kind, ...state, cause: result.up ? null : result.cause };
    });
  if (rows.length > 0) {
    const [, [clock]] = await query(updateMonitors({ results: JSON.stringify(rows) }), selectNow({}));
    const checkedAtMs = Math.round(clock?.ms ?? 0);
    await appendChecks(
      query,
      rows.map(({ id, userId, cause }) => ({
        userId,
        monitorId: id,
        checkedAtMs,
        responseTimeMs: undefined,
        failure: cause === null ? undefined : { cause, statusCode: null },
      })),
    );
    const idsOf = (kind: Transition['kind']) => rows.filter((row) => row.kind === kind).map(({ id }) => id);
    const alerts = (await openIncidents(query, idsOf('opened'))) + (await resolveIncidents(query, idsOf('resolved')));
    if (alerts > 0) await query(wakeDispatcher({}));
  }
  return new Map(monitors.map(({ hash, isActive }) => [hash, isActive ? 'counted' : 'ignored']));
}

function resultOf(succeeded: boolean): CheckResult {
  return succeeded ? { up: true } : { up: false, cause: 'the job reported a failure', statusCode: null };
}
