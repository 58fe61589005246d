import { sql } from 'kysely';
import { jsonRows } from '../../db/json-rows.ts';
import { prepare, type Query } from '../../db/statement.ts';
import { tables } from '../../db/tables.ts';
import type { CheckTarget, MonitorType } from '../checks/check.ts';
import { countBy, shareSlots } from '../fair-share.ts';
import type { MonitorEntity } from '../monitors/monitor.entity.ts';
import { isSuspended } from '../suspended-users.ts';
import { findDueUsers } from './due-users.ts';
import type { CheckState, TransitionRules } from './transition.ts';

/**
 * A claim reads at most about this, but at least one monitor: what is read at once blocks the process until it is parsed. What is left out
 * is claimed next. Small monitors do not count, so that they never wait for large ones.
 */
const claimedBytes = 512 * 1024;
const smallBytes = 2048;

/** A monitor that this process is going to check. */
export interface Claim extends CheckTarget {
  id: number;
  userId: number;
  type: MonitorType;
  /** The host of the target. */
  host: string;
  state: CheckState;
  rules: TransitionRules;
  /** The result is recorded only if it carries the monitor's current token. */
  token: number;
  /** How long the monitor had been due. */
  latenessMs: number;
}

interface ClaimedMonitors {
  claims: Claim[];
  /** Whether more may be due that were too large for this claim. */
  isFull: boolean;
}

/** If a process dies, its claims expire after the timeout of the check and this time, in which others are asked if it got no reply. */
const leaseMarginSeconds = 20;

/** How long a claim lasts. It is longer than its check takes. */
export function leaseMs({ timeoutSeconds }: Pick<Claim, 'timeoutSeconds'>): number {
  return (timeoutSeconds + leaseMarginSeconds) * 1000;
}

/** The checks of one user on one host that run at once, in one process. */
const checksPerHost = 10;

export interface FairClaims {
  claims: Claim[];
  /** Whether more monitors may be due that could be claimed now. */
  hasMore: boolean;
  /** Whether a user with due monitors got no slot. */
  needsSlots: boolean;
  /** Where the search for users continues next time. */
  continueAfter: number;
  /** The time until the next monitor is due, unless none is scheduled. */
  nextDueSeconds: number | undefined;
}

const db = tables<typeof MonitorEntity>();
const now = sql<Date>`app_now()`;

const selectNextDue = prepare(() =>
  db
    .selectFrom('monitors')
    .select(sql<number>`extract(epoch from next_check_at - ${now})::float8`.as('seconds'))
    .where('next_check_at', 'is not', null)
    .orderBy('next_check_at')
    .limit(sql.lit(1)),
);

/**
 * How long the monitor that waits longest for its check has been due; 0 if none is due. The claims of a process that died expire
 * with their leases, and then their monitors are due as well.
 */
export async function readOldestDueSeconds(query: Query): Promise<number> {
  const [[nextDue]] = await query(selectNextDue({}));
  return Math.max(0, -(nextDue?.seconds ?? 0));
}

/** Shares the free slots among the users who have due monitors. `running` are the checks that occupy the other slots. */
export async function claimFairly(
  query: Query,
  { freeSlots, running, afterUserId }: { freeSlots: number; running: Claim[]; afterUserId: number },
): Promise<FairClaims> {
  const { userIds, continueAfter } = await findDueUsers(query, freeSlots, afterUserId);
  const slots = shareSlots(
    userIds,
    countBy(running, ({ userId }) => userId),
    freeSlots,
  );
  const runningByUser = Map.groupBy(running, ({ userId }) => userId);
  const shares = [...slots].map(([userId, share]) => ({
    userId,
    slots: share,
    running: countBy(runningByUser.get(userId) ?? [], ({ host }) => host),
  }));
  const { claims, isFull } = shares.length > 0 ? await claimDueMonitors(query, shares) : { claims: [], isFull: false };
  const [[nextDue]] = await query(selectNextDue({}));
  return {
    claims,
    hasMore: continueAfter !== undefined || isFull || mayHaveMore(shares, claims),
    needsSlots: shares.length < userIds.length,
    continueAfter: continueAfter ?? 0,
    nextDueSeconds: nextDue?.seconds,
  };
}

/** Whether a user's whole share was used, or a host got its last check: quick checks end before the next claim. */
function mayHaveMore(shares: Share[], claims: Claim[]): boolean {
  const claimsByUser = Map.groupBy(claims, ({ userId }) => userId);
  return shares.some(({ userId, slots, running }) => {
    const claimed = claimsByUser.get(userId) ?? [];
    const hosts = countBy(claimed, ({ host }) => host);
    return claimed.length === slots || [...hosts].some(([host, checks]) => checks + (running.get(host) ?? 0) >= checksPerHost);
  });
}

/**
 * Failures from before a time without checks say nothing about the present. What counts is when the check was due, which every
 * interruption moves: one that is only late, because the process or the host is busy, still confirms them.
 */
const hasExpired = sql<boolean>`(m.status <> 'down' and m.last_checked_at < n.due_at - (m.interval_seconds + 60) * interval '1 second')`;

/** Failures during a maintenance open no incident, so those that began in it do not count once it is over. */
const beganInMaintenance = sql<boolean>`(m.status <> 'down' and m.maintenance_until <= ${now} and m.first_failed_at < m.maintenance_until)`;

export interface Share {
  userId: number;
  slots: number;
  /** The number of running checks of the user on each host. */
  running: ReadonlyMap<string, number>;
}

const claimMonitors = prepare((given: { shares: string; running: string }) =>
  db
    .with(
      (cte) => cte('due').materialized(),
      (cte) =>
        cte
          .selectFrom(jsonRows(given.shares, 'share', { user_id: 'bigint', slots: 'integer', full_hosts: 'text[]' }))
          .crossJoinLateral((from) =>
            from
              .selectFrom('monitors as m')
              .select(['m.id', 'm.user_id', 'm.target_host as host', 'm.next_check_at as due_at'])
              .select(sql<number>`greatest(m.claimed_bytes - ${sql.lit(smallBytes)}, 0)`.as('excess_bytes'))
              .whereRef('m.user_id', '=', 'share.user_id')
              .where('m.next_check_at', '<=', now)
              .where(sql<boolean>`m.target_host <> all (share.full_hosts)`)
              .orderBy('m.next_check_at')
              .limit(sql.ref<number>('share.slots'))
              .forUpdate()
              .skipLocked()
              .as('next'),
          )
          .selectAll('next'),
    )
    .with('numbered', (cte) =>
      cte
        .selectFrom('due')
        .leftJoin(jsonRows(given.running, 'running', { user_id: 'bigint', host: 'text', checks: 'integer' }), (join) =>
          join.onRef('running.user_id', '=', 'due.user_id').onRef('running.host', '=', 'due.host'),
        )
        .selectAll('due')
        .select([
          sql<number>`coalesce(running.checks, 0) + row_number() over (partition by due.user_id, due.host order by due.due_at)`.as(
            'nth_of_host',
          ),
          sql<number>`row_number() over (partition by due.user_id order by due.due_at)`.as('nth_of_user'),
        ]),
    )
    .with('bounded', (cte) =>
      cte
        .selectFrom((from) =>
          from
            .selectFrom('numbered')
            .selectAll()
            // One monitor of each user in turn, so that the large ones of one user do not delay those of others for long.
            .select(sql<number>`sum(excess_bytes) over (order by nth_of_user, due_at, id) - excess_bytes`.as('bytes_before'))
            .where('nth_of_host', '<=', sql.lit(checksPerHost))
            .as('summed'),
        )
        .selectAll()
        .where((where) => where.or([where('excess_bytes', '=', sql.lit(0)), where('bytes_before', '<', sql.lit(claimedBytes))])),
    )
    .updateTable('monitors as m')
    .from('bounded as n')
    .set({
      // A request that was running when its user was suspended may have scheduled a check. It is not claimed, but cancelled.
      next_check_at: sql`case when not ${isSuspended('m.user_id')}
        then ${now} + (m.timeout_seconds + ${sql.lit(leaseMarginSeconds)}) * interval '1 second' end`,
      claim_token: sql`case when not ${isSuspended('m.user_id')} then nextval('claim_tokens') end`,
    })
    .whereRef('m.id', '=', 'n.id')
    // The array tells the planner that the update concerns few rows. With the join alone it would read the whole table.
    .where(sql<boolean>`m.id = any (array(select id from bounded))`)
    .returning(['m.id', 'm.user_id as userId', 'm.type', 'm.settings', 'n.host', 'n.excess_bytes as excessBytes'])
    .returning(['m.interval_seconds as intervalSeconds', 'm.timeout_seconds as timeoutSeconds'])
    .returning([
      sql<string>`coalesce(m.url, '')`.as('url'),
      sql<string | null>`case when m.status = 'down' then m.last_error end`.as('downBecause'),
      'm.confirmations',
      sql<boolean>`coalesce(m.maintenance_until > ${now}, false)`.as('isInMaintenance'),
      sql<number>`case when ${hasExpired} or ${beganInMaintenance} then 0 else m.failures end`.as('failures'),
      sql<CheckState['status']>`m.status`.as('status'), // A paused monitor is never due.
      sql<number | null>`m.claim_token`.as('token'),
      sql<number>`(extract(epoch from ${now} - n.due_at) * 1000)::float8`.as('latenessMs'),
    ]),
);

/**
 * Claims due monitors, for each user as many as its share. Monitors on a host that has all the checks it may have stay due, and
 * do not count. Processes can do this concurrently: rows that another one has locked are skipped, and next_check_at is moved
 * strictly into the future, so that no monitor is claimed twice.
 */
export async function claimDueMonitors(query: Query, shares: Share[]): Promise<ClaimedMonitors> {
  const rows = shares.map(({ userId, slots, running }) => ({
    user_id: userId,
    slots,
    full_hosts: [...running].filter(([, checks]) => checks >= checksPerHost).map(([host]) => host),
  }));
  const running = shares.flatMap(({ userId, running }) => [...running].map(([host, checks]) => ({ user_id: userId, host, checks })));
  const [claimed] = await query(claimMonitors({ shares: JSON.stringify(rows), running: JSON.stringify(running) }));
  const claims = claimed.flatMap(({ status, failures, confirmations, isInMaintenance, token, excessBytes, ...claim }) =>
    token === null ? [] : [{ ...claim, token, state: { status, failures }, rules: { confirmations, isInMaintenance } }],
  );
  return { claims, isFull: claimed.reduce((sum, { excessBytes }) => sum + excessBytes, 0) >= claimedBytes };
}
