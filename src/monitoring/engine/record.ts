import type { SqlEntityManager } from '@mikro-orm/sql';
import { downMessage, recoveredMessage } from '../alerts/alert-messages.ts';
import { queueAlerts } from '../alerts/outbox.ts';
import type { Claim } from './claim.ts';
import { type CheckResult, transition } from './transition.ts';

export interface CompletedCheck {
  claim: Claim;
  result: CheckResult;
  /** When the check started, on the monotonic clock. */
  startedMs: number;
}

const confirmSeconds = 5;

/**
 * Records the results of checks in the current transaction: status, incidents, alerts and statistics. A result is accepted
 * only if its claim is still valid; results of monitors that were changed or paused since are discarded. Returns the number
 * of accepted results.
 */
export async function recordResults(em: SqlEntityManager, completed: CompletedCheck[], nowMs = performance.now()): Promise<number> {
  const rows = completed.map(({ claim, result, startedMs }) => {
    const { kind, state } = transition(claim.state, result);
    return {
      id: claim.id,
      token: claim.token,
      kind,
      status: state.status,
      failures: state.failures,
      up: result.up,
      ms: result.responseTimeMs === undefined ? null : Math.round(result.responseTimeMs),
      cause: result.up ? null : result.cause.slice(0, 1000),
      code: result.up ? null : result.statusCode,
      age_ms: Math.max(0, Math.round(nowMs - startedMs)),
    };
  });
  // Each monitor has its own phase within its interval, so that many monitors created together are not checked together.
  const updated = await em.execute<{ id: number; token: number; kind: string }[]>(
    `update monitors m set
       status = r.status, failures = r.failures, state_version = m.state_version + 1, claim_token = null,
       last_checked_at = r.at, last_response_time_ms = r.ms, last_error = r.cause,
       first_failed_at = case when r.failures = 0 then null when m.failures = 0 then r.at else m.first_failed_at end,
       first_cause = case when r.failures = 0 then null when m.failures = 0 then r.cause else m.first_cause end,
       first_status_code = case when r.failures = 0 then null when m.failures = 0 then r.code else m.first_status_code end,
       next_check_at = case when r.kind = 'confirm' then now() + ? * interval '1 second' else to_timestamp(
         (floor((extract(epoch from now()) - p.phase) / m.interval_seconds) + 1) * m.interval_seconds + p.phase) end
     from (select *, now() - age_ms * interval '1 millisecond' as at from json_to_recordset(?::json)
             as j (id bigint, token bigint, kind text, status text, failures smallint, ms integer, cause text, code integer, age_ms integer)) r,
          lateral (select (r.id * 7919) % 86400 as phase) p
     where m.id = r.id and m.claim_token = r.token and m.is_active
     returning m.id, r.token, r.kind`,
    [confirmSeconds, JSON.stringify(rows)],
  );
  // Compared by token, because a monitor can have two results here, one of them too late to be accepted.
  const accepted = new Set(updated.map(({ token }) => token));
  await updateHourlyStatistics(
    em,
    rows.filter(({ token }) => accepted.has(token)),
  );
  await openIncidents(em, idsOf(updated, 'opened'));
  await resolveIncidents(em, idsOf(updated, 'resolved'));
  return accepted.size;
}

interface IncidentRow {
  incident_id: number;
  user_id: number;
  monitor_id: number;
  friendly_name: string;
  url: string;
  cause: string;
  started_at_ms: number;
  resolved_at_ms: number;
}

async function openIncidents(em: SqlEntityManager, monitorIds: number[]) {
  if (monitorIds.length === 0) return;
  const opened = await em.execute<IncidentRow[]>(
    `with opened as (
       insert into incidents (user_id, monitor_id, started_at, cause, status_code)
       select user_id, id, first_failed_at, first_cause, first_status_code from monitors where id = any (?::bigint[])
       on conflict (user_id, monitor_id) where resolved_at is null do nothing
       returning id, user_id, monitor_id, cause, started_at
     )
     select o.id as incident_id, o.user_id, o.monitor_id, o.cause, m.friendly_name, m.url,
            (extract(epoch from o.started_at) * 1000)::float8 as started_at_ms
       from opened o join monitors m on m.id = o.monitor_id`,
    [`{${monitorIds.join(',')}}`],
  );
  await queueAlerts(
    em,
    'down',
    opened.map((row) => ({ ...keysOf(row), ...downMessage(incidentOf(row)) })),
  );
}

async function resolveIncidents(em: SqlEntityManager, monitorIds: number[]) {
  if (monitorIds.length === 0) return;
  const resolved = await em.execute<IncidentRow[]>(
    `update incidents i set resolved_at = greatest(m.last_checked_at, i.started_at) from monitors m
      where i.monitor_id = any (?::bigint[]) and i.resolved_at is null and m.id = i.monitor_id
     returning i.id as incident_id, i.user_id, i.monitor_id, i.cause, m.friendly_name, m.url,
               (extract(epoch from i.started_at) * 1000)::float8 as started_at_ms,
               (extract(epoch from i.resolved_at) * 1000)::float8 as resolved_at_ms`,
    [`{${monitorIds.join(',')}}`],
  );
  await queueAlerts(
    em,
    'recovered',
    resolved.map((row) => ({ ...keysOf(row), ...recoveredMessage(incidentOf(row)) })),
  );
}

/** Counts all checks, and the response times of the successful ones. */
async function updateHourlyStatistics(em: SqlEntityManager, rows: { id: number; up: boolean; ms: number | null }[]) {
  if (rows.length === 0) return;
  await em.execute(
    `insert into check_hours as h (user_id, monitor_id, hour, checks, failures, total_ms, min_ms, max_ms)
     select m.user_id, m.id, date_trunc('hour', now()), 1, case when r.up then 0 else 1 end, coalesce(r.ms, 0), r.ms, r.ms
       from json_to_recordset(?::json) as r (id bigint, up boolean, ms integer) join monitors m on m.id = r.id
     on conflict (user_id, monitor_id, hour) do update set
       checks = h.checks + 1, failures = h.failures + excluded.failures, total_ms = h.total_ms + excluded.total_ms,
       min_ms = least(h.min_ms, excluded.min_ms), max_ms = greatest(h.max_ms, excluded.max_ms)`,
    [JSON.stringify(rows.map(({ id, up, ms }) => ({ id, up, ms: up ? ms : null })))],
    'run',
  );
}

function idsOf(updated: { id: number; kind: string }[], kind: string): number[] {
  return updated.filter((row) => row.kind === kind).map(({ id }) => id);
}

function keysOf(row: IncidentRow) {
  return { userId: row.user_id, monitorId: row.monitor_id, incidentId: row.incident_id };
}

function incidentOf(row: IncidentRow) {
  return { name: row.friendly_name, url: row.url, cause: row.cause, startedAtMs: row.started_at_ms, resolvedAtMs: row.resolved_at_ms };
}
