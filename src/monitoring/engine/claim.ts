import type { SqlEntityManager } from '@mikro-orm/sql';
import type { CheckState } from './transition.ts';

/** A monitor that this worker has taken on to check. */
export interface Claim {
  id: number;
  userId: number;
  url: string;
  type: 'http' | 'ping';
  state: CheckState;
  /** Must come back with the result. */
  token: number;
  /** How long it had been due. */
  latenessMs: number;
}

/** A worker that dies loses its claims after this: longer than any check takes. */
export const leaseSeconds = 30;

/**
 * Takes on monitors that are due, whoever else does so at the same time: a row that another worker holds is skipped, and
 * the next due time is set strictly into the future at once.
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

/** After a sleep of ours everything is overdue at once; it is caught up with over a minute, not in one burst. */
export async function spreadOverdue(em: SqlEntityManager): Promise<void> {
  await em.execute(
    `update monitors set next_check_at = now() + random() * least(interval_seconds, 60) * interval '1 second'
      where next_check_at < now() - interval '5 seconds'`,
    [],
    'run',
  );
}

/** Gives claims back without a result: the fault was ours, or we are stopping. They are due again after a while. */
export async function releaseClaims(em: SqlEntityManager, claims: Pick<Claim, 'id' | 'token'>[], afterSeconds: number): Promise<void> {
  await em.execute(
    `update monitors m set next_check_at = now() + ? * interval '1 second', claim_token = null
       from json_to_recordset(?::json) as r (id bigint, token bigint) where m.id = r.id and m.claim_token = r.token`,
    [afterSeconds, JSON.stringify(claims.map(({ id, token }) => ({ id, token })))],
    'run',
  );
}
