import { type RawBuilder, sql } from 'kysely';
import { jsonRows } from '../../db/json-rows.ts';
import { selectNow } from '../../db/select-now.ts';
import { prepare, type Query } from '../../db/statement.ts';
import { tables } from '../../db/tables.ts';
import type { CheckResult } from '../checks/check.ts';
import type { MonitorEntity } from '../monitors/monitor.entity.ts';
import { observeCheck } from '../statistics/observation.ts';
import { appendChecks } from '../statistics/record-checks.ts';
import { restateFrom } from '../statistics/restatement.ts';
import { wakeDispatcher } from '../wake.ts';
import type { Claim } from './claim.ts';
import { openIncidents, resolveIncidents } from './record-incidents.ts';
import { needsTlsWarning, queueTlsRenewals, queueTlsWarnings, replacedExpiry } from './record-tls-warnings.ts';
import { atMostAMinute, endOfMaintenance, nextTurn } from './schedule.ts';
import { type CheckState, type Transition, transition } from './transition.ts';

export interface CompletedCheck {
  claim: Claim;
  result: CheckResult;
  /** When the check started, on the monotonic clock. */
  startedMs: number;
}

export interface Recorded {
  /** The number of results that were accepted. */
  accepted: number;
  /** Whether alerts wait to be sent. */
  hasAlerts: boolean;
}

/**
 * Records the results of checks in the current transaction: status, incidents, alerts and statistics. A result is accepted
 * only if its claim is still valid; results of monitors that were changed or paused since are discarded.
 */
export async function recordResults(query: Query, completed: CompletedCheck[], nowMs = performance.now()): Promise<Recorded> {
  const rows = completed.map(({ claim, result, startedMs }) => {
    const { kind, state } = transition(claim.state, result, claim.rules);
    return {
      id: claim.id,
      user_id: claim.userId,
      token: claim.token,
      kind,
      status: state.status,
      failures: state.failures,
      ms: result.responseTimeMs === undefined ? null : Math.max(1, Math.ceil(result.responseTimeMs)),
      cause: result.up ? null : result.cause.slice(0, 1000).toWellFormed(), // A cut character would make the JSON below invalid.
      code: result.up ? null : result.statusCode,
      age_ms: Math.max(0, Math.round(nowMs - startedMs)),
      tls_expires_at: result.certificate?.expiresAt.toISOString(),
      warning_days: result.certificate?.warningDays,
    };
  });
  const [updated, [clock]] = await query(updateMonitors({ results: JSON.stringify(rows) }), selectNow({}));
  // Compared by token, because a monitor can have two results here, one of them too late to be accepted.
  const tokens = new Set(updated.map(({ token }) => token));
  const accepted = rows.filter(({ token }) => tokens.has(token));
  await appendChecks(
    query,
    accepted.map(({ id, user_id, ms, cause, code, age_ms }) => ({
      userId: user_id,
      monitorId: id,
      checkedAtMs: Math.round(clock?.ms ?? 0) - age_ms,
      responseTimeMs: ms ?? undefined,
      failure: cause === null ? undefined : { cause, statusCode: code },
    })),
  );
  const idsOf = (kind: Transition['kind']) => updated.filter((row) => row.kind === kind).map(({ id }) => id);
  const warned = updated.filter(({ needsWarning }) => needsWarning).map(({ id }) => id);
  const replaced = new Map(updated.flatMap(({ id, replacedExpiry: expiry }) => (expiry ? [[id, expiry]] : [])));
  const alerts =
    (await openIncidents(query, idsOf('opened'))) +
    (await resolveIncidents(query, idsOf('resolved'))) +
    (await queueTlsRenewals(query, replaced)) +
    (await queueTlsWarnings(query, warned));
  if (alerts > 0) await query(wakeDispatcher({}));
  return { accepted: tokens.size, hasAlerts: alerts > 0 };
}

const db = tables<typeof MonitorEntity>();
const confirmSeconds = sql.lit(5);

const checkedAt = sql<Date>`app_now() - r.age_ms * interval '1 millisecond'`;
/** A passive monitor keeps the time of its last heartbeat. */
const lastCheckedAt = sql<Date | null>`case when m.grace_seconds is null then ${checkedAt} else m.last_checked_at end`;
/**
 * A monitor that is down is checked at least once a minute, so that a recovery is seen soon. A passive one waits for its recovery, or for
 * the end of its maintenance, after which an incident opens. The maintenance may have ended since the check began.
 */
const nextCheckAt = sql`case when m.grace_seconds is not null
  then coalesce(${endOfMaintenance}, case when r.status = 'down' and r.failures = 0 then app_now() end)
  else ${nextTurn(sql`case when r.status = 'down' then ${atMostAMinute} else m.interval_seconds end`)} end`;

/** The last success. Of a monitor that is pending none is known: an earlier one may be that of another target. */
export const lastGood = <Value>(ofThis: RawBuilder<Value>, before: RawBuilder<Value>) =>
  sql<Value | null>`case when r.cause is null then ${ofThis} when m.status <> 'pending' then ${before} end`;

/** An incident begins with the first failure, which may be in an hour that was rolled up since. */
const restatement = restateFrom(checkedAt, sql<Date | null>`case when r.kind = 'opened' then m.first_failed_at end`);

const observed = observeCheck(checkedAt, sql<boolean>`(r.status = 'down')`);

const updateMonitors = prepare((given: { results: string }) =>
  db
    .updateTable('monitors as m')
    .from(
      jsonRows(given.results, 'r', {
        id: 'bigint',
        token: 'bigint',
        kind: 'text',
        status: 'text',
        failures: 'smallint',
        ms: 'integer',
        cause: 'text',
        code: 'integer',
        age_ms: 'integer',
        tls_expires_at: 'timestamptz',
        warning_days: 'integer',
      }),
    )
    .set({
      status: sql<CheckState['status']>`r.status`,
      failures: sql`r.failures`,
      state_version: sql`m.state_version + 1`,
      claim_token: null,
      last_checked_at: lastCheckedAt,
      last_response_time_ms: sql`r.ms`,
      last_error: sql`r.cause`,
      tls_expires_at: sql`coalesce(r.tls_expires_at, m.tls_expires_at)`,
      first_failed_at: sql`case when r.failures = 0 then null when r.failures = 1 then ${checkedAt} else m.first_failed_at end`,
      first_cause: sql`case when r.failures = 0 then null when r.failures = 1 then r.cause else m.first_cause end`,
      first_status_code: sql`case when r.failures = 0 then null when r.failures = 1 then r.code else m.first_status_code end`,
      last_good_at: lastGood(lastCheckedAt, sql<Date | null>`m.last_good_at`),
      last_good_ms: lastGood(sql<number | null>`r.ms`, sql<number | null>`m.last_good_ms`),
      ...observed,
      restate_from: restatement,
      next_check_at: sql`case when r.kind = 'confirm' then app_now() + ${confirmSeconds} * interval '1 second' else ${nextCheckAt} end`,
    })
    .whereRef('m.id', '=', 'r.id')
    .whereRef('m.claim_token', '=', 'r.token')
    .where('m.is_active', '=', sql.lit(true))
    .returning(['m.id', 'r.token', 'r.kind', needsTlsWarning(sql`r.warning_days`).as('needsWarning')])
    .returning(replacedExpiry.as('replacedExpiry')),
);
