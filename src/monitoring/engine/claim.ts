import type { SqlEntityManager } from '@mikro-orm/sql';
import type { CheckState } from './transition.ts';

/** A monitor that this process is going to check. */
export interface Claim {
  id: number;
  userId: number;
  url: string;
  type: 'http' | 'ping';
  state: CheckState;
  /** The result is recorded only if it carries the monitor's current token. */
  token: number;
  /** How long the monitor had been due. */
  latenessMs: number;
}

/** If a process dies, its claims expire after this time. It is longer than any check takes. */
export const leaseSeconds = 30;

/**
 * Claims due monitors. Processes can do this concurrently: rows that another one has locked are skipped, and next_check_at
 * is moved strictly into the future, so that no monitor is claimed twice.
 */
export async function claimDueMonitors(em: SqlEntityManager, limit: number): Promise<Claim[]> {
  const rows = await em.execute<
    {
      id: number;
      user_id: number;
      url: string;
      type: Claim['type'];
      status: CheckState['status'];
      failures: number;
      token: number;
      late_ms: number;
    }[]
  >(
    `with due as (
       select id, next_check_at as due_at from monitors where next_check_at <= now()
        order by next_check_at limit ? for update skip locked
     )
     update monitors m set next_check_at = now() + ? * interval '1 second', claim_token = nextval('claim_tokens')
       from due where m.id = due.id
     returning m.id, m.user_id, m.url, m.type, m.status, m.failures, m.claim_token as token,
               (extract(epoch from now() - due.due_at) * 1000)::float8 as late_ms`,
    [limit, leaseSeconds],
  );
  return rows.map((row) => ({
    id: row.id,
    userId: row.user_id,
    url: row.url,
    type: row.type,
    state: { status: row.status, failures: row.failures },
    token: row.token,
    latenessMs: row.late_ms,
  }));
}

/** After a suspension every monitor is overdue. The checks are spread over a minute instead of starting all at once. */
export async function spreadOverdue(em: SqlEntityManager): Promise<void> {
  await em.execute(
    `update monitors set next_check_at = now() + random() * least(interval_seconds, 60) * interval '1 second'
      where next_check_at < now() - interval '5 seconds'`,
    [],
    'run',
  );
}

export interface ReleasedClaim {
  claim: Pick<Claim, 'id' | 'token'>;
  /** The local failure that prevented the check, for the owner of the monitor. */
  reason?: string;
}

/**
 * Whether the reason becomes the last_error of the monitor: if there is no result to show yet, or if the last one is outdated.
 * A short local failure leaves the result of the last check alone.
 */
const showsReason = `(r.reason is not null and (m.status = 'pending' and m.failures = 0
  or m.last_checked_at < now() - (m.interval_seconds + 60) * interval '1 second'))`;

/** Releases claims without a result, after a local failure or at shutdown. The monitors are due again after `afterSeconds`. */
export async function releaseClaims(em: SqlEntityManager, released: ReleasedClaim[], afterSeconds: number): Promise<void> {
  const rows = released.map(({ claim: { id, token }, reason }) => ({
    id,
    token,
    reason: reason && `not checked: ${reason}`.slice(0, 1000),
  }));
  await em.execute(
    `update monitors m set next_check_at = now() + ? * interval '1 second', claim_token = null,
       last_error = case when ${showsReason} then r.reason else m.last_error end,
       state_version = m.state_version + case when ${showsReason} and m.last_error is distinct from r.reason then 1 else 0 end
       from json_to_recordset(?::json) as r (id bigint, token bigint, reason text) where m.id = r.id and m.claim_token = r.token`,
    [afterSeconds, JSON.stringify(rows)],
    'run',
  );
}
