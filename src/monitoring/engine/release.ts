import { sql } from 'kysely';
import { jsonRows } from '../../db/json-rows.ts';
import { prepare, type Query } from '../../db/statement.ts';
import { tables } from '../../db/tables.ts';
import type { LocalFailure } from '../checks/local-failure.ts';
import type { MonitorEntity } from '../monitors/monitor.entity.ts';
import { wakeEngine } from '../wake.ts';
import type { Claim } from './claim.ts';
import { NoNetwork } from './connectivity.ts';
import { turnAfterInterruption } from './schedule.ts';

const db = tables<typeof MonitorEntity>();

const spreadBatch = 5000;

const selectOverdueSince = prepare(() => db.selectNoFrom(sql<Date>`app_now() - interval '5 seconds'`.as('since')));

const spreadMonitors = prepare(({ since }: { since: Date }) => {
  const overdue = db
    .selectFrom('monitors')
    .select('id')
    .where('next_check_at', '<', sql<Date>`least(${since}::timestamptz, app_now() - interval '5 seconds')`)
    .orderBy('next_check_at')
    .limit(sql.lit(spreadBatch))
    .forUpdate()
    .skipLocked();
  return db
    .updateTable('monitors as m')
    .set({ next_check_at: turnAfterInterruption })
    .where(sql<boolean>`m.id = any (array(${overdue}))`)
    .returning('m.id');
});

/**
 * After a start or an interruption many monitors may be overdue. Each waits for its turn, instead of all being checked at once. Millions
 * would take longer than a statement may take, so each batch has its own transaction.
 */
export async function spreadOverdue(
  transaction: <T>(work: (query: Query) => Promise<T>) => Promise<T>,
  goesOn: () => boolean,
): Promise<void> {
  const [[{ since } = { since: new Date(0) }]] = await transaction((query) => query(selectOverdueSince({})));
  for (let count = spreadBatch; count === spreadBatch && goesOn(); ) {
    const [spread] = await transaction((query) => query(spreadMonitors({ since })));
    count = spread.length;
  }
}

export interface ReleasedClaim {
  claim: Pick<Claim, 'id' | 'token'>;
  /** The local failure that prevented the check. None if the process stops or was suspended. */
  failure?: LocalFailure;
}

/**
 * Whether the failure becomes the last_error of the monitor: if there is no result to show yet, or if the last one is outdated.
 * A short local failure leaves the result of the last check alone. A passive monitor that is down needs no check, but the reason why it
 * is down, for the incident that opens after its maintenance.
 */
const showsFailure = sql<boolean>`(r.reason is not null and (m.grace_seconds is null or m.status <> 'down') and (r.since is not null or m.status = 'pending' and m.failures = 0
  or m.last_checked_at < app_now() - (m.interval_seconds + 60) * interval '1 second'))`;
/** Without a network, the time at which that began stays, although other processes may have noticed it later. */
const isKnown = sql<boolean>`(m.last_error like 'not checked since %: ' || r.reason)`;
const shownError = sql<string | null>`case when ${showsFailure} and ${isKnown} is not true
  then 'not checked' || coalesce(' since ' || r.since, '') || ': ' || r.reason else m.last_error end`;

const releaseMonitors = prepare((given: { released: string; afterSeconds: number }) =>
  db
    .updateTable('monitors as m')
    .from(jsonRows(given.released, 'r', { id: 'bigint', token: 'bigint', reason: 'text', since: 'text', waits_for_turn: 'boolean' }))
    .set({
      next_check_at: sql`case when r.waits_for_turn then ${turnAfterInterruption}
        else app_now() + ${given.afterSeconds}::integer * interval '1 second' end`,
      claim_token: null,
      last_error: shownError,
      state_version: sql`m.state_version + case when ${shownError} is distinct from m.last_error then 1 else 0 end`,
    })
    .whereRef('m.id', '=', 'r.id')
    .whereRef('m.claim_token', '=', 'r.token'),
);

/**
 * Releases claims without a result, after a local failure or at shutdown. The monitors are due again after `afterSeconds`. Without a
 * network they wait for their turn, so that they are not checked all at once when it is back.
 */
export async function releaseClaims(query: Query, released: ReleasedClaim[], afterSeconds: number): Promise<void> {
  const rows = released.map(({ claim: { id, token }, failure }) => ({
    id,
    token,
    reason: failure?.message.slice(0, 900),
    since: failure instanceof NoNetwork ? failure.since?.toISOString().replace(/\.\d+/, '') : undefined,
    waits_for_turn: failure instanceof NoNetwork,
  }));
  await query(releaseMonitors({ released: JSON.stringify(rows), afterSeconds }), wakeEngine({}));
}
