import { sql } from 'kysely';
import { jsonRows } from '../../db/json-rows.ts';
import { prepare, type Query } from '../../db/statement.ts';
import { tables } from '../../db/tables.ts';
import type { MonitorEntity } from '../monitors/monitor.entity.ts';
import { wakeEngine } from '../wake.ts';
import type { Claim } from './claim.ts';

const db = tables<typeof MonitorEntity>();

/** After a suspension every monitor is overdue. The checks are spread over a minute instead of starting all at once. */
export const spreadOverdue = prepare(() =>
  db
    .updateTable('monitors')
    .set({ next_check_at: sql`app_now() + random() * least(interval_seconds, 60) * interval '1 second'` })
    .where('next_check_at', '<', sql<Date>`app_now() - interval '5 seconds'`),
);

export interface ReleasedClaim {
  claim: Pick<Claim, 'id' | 'token'>;
  /** The local failure that prevented the check, for the owner of the monitor. */
  reason?: string;
}

/**
 * Whether the reason becomes the last_error of the monitor: if there is no result to show yet, or if the last one is outdated.
 * A short local failure leaves the result of the last check alone.
 */
const showsReason = sql<boolean>`(r.reason is not null and (m.status = 'pending' and m.failures = 0
  or m.last_checked_at < app_now() - (m.interval_seconds + 60) * interval '1 second'))`;

const releaseMonitors = prepare((given: { released: string; afterSeconds: number }) =>
  db
    .updateTable('monitors as m')
    .from(jsonRows(given.released, 'r', { id: 'bigint', token: 'bigint', reason: 'text' }))
    .set({
      next_check_at: sql`app_now() + ${given.afterSeconds}::integer * interval '1 second'`,
      claim_token: null,
      last_error: sql`case when ${showsReason} then r.reason else m.last_error end`,
      state_version: sql`m.state_version + case when ${showsReason} and m.last_error is distinct from r.reason then 1 else 0 end`,
    })
    .whereRef('m.id', '=', 'r.id')
    .whereRef('m.claim_token', '=', 'r.token'),
);

/** Releases claims without a result, after a local failure or at shutdown. The monitors are due again after `afterSeconds`. */
export async function releaseClaims(query: Query, released: ReleasedClaim[], afterSeconds: number): Promise<void> {
  const rows = released.map(({ claim: { id, token }, reason }) => ({
    id,
    token,
    reason: reason && `not checked: ${reason}`.slice(0, 1000),
  }));
  await query(releaseMonitors({ released: JSON.stringify(rows), afterSeconds }), wakeEngine({}));
}
