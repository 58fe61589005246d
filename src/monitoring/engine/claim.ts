import type { SqlEntityManager } from '@mikro-orm/sql';
import { countBy, shareSlots } from '../fair-share.ts';
import { findDueUsers } from './due-users.ts';
import type { CheckState } from './transition.ts';

/** A monitor that this process is going to check. */
export interface Claim {
  id: number;
  userId: number;
  url: string;
  type: 'http' | 'ping';
  /** The host of the target. */
  host: string;
  state: CheckState;
  /** The result is recorded only if it carries the monitor's current token. */
  token: number;
  /** How long the monitor had been due. */
  latenessMs: number;
}

/** If a process dies, its claims expire after this time. It is longer than any check takes. */
export const leaseSeconds = 30;

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
}

/** Shares the free slots among the users who have due monitors. `running` are the checks that occupy the other slots. */
export async function claimFairly(
  em: SqlEntityManager,
  { freeSlots, running, afterUserId }: { freeSlots: number; running: Claim[]; afterUserId: number },
): Promise<FairClaims> {
  const { userIds, continueAfter } = await findDueUsers(em, freeSlots, afterUserId);
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
  const claims = shares.length > 0 ? await claimDueMonitors(em, shares) : [];
  return {
    claims,
    hasMore: continueAfter !== undefined || mayHaveMore(shares, claims),
    needsSlots: shares.length < userIds.length,
    continueAfter: continueAfter ?? 0,
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

export interface Share {
  userId: number;
  slots: number;
  /** The number of running checks of the user on each host. */
  running: ReadonlyMap<string, number>;
}

/**
 * Claims due monitors, for each user as many as its share. Monitors on a host that has all the checks it may have stay due, and
 * do not count. Processes can do this concurrently: rows that another one has locked are skipped, and next_check_at is moved
 * strictly into the future, so that no monitor is claimed twice.
 */
export async function claimDueMonitors(em: SqlEntityManager, shares: Share[]): Promise<Claim[]> {
  const users = shares.map(({ userId, slots, running }) => ({
    user_id: userId,
    slots,
    full_hosts: [...running].filter(([, checks]) => checks >= checksPerHost).map(([host]) => host),
  }));
  const hosts = shares.flatMap(({ userId, running }) => [...running].map(([host, checks]) => ({ user_id: userId, host, checks })));
  // The array tells the planner that the update concerns few rows. With the join alone it would read the whole table.
  const rows = await em.execute<
    {
      id: number;
      user_id: number;
      url: string;
      type: Claim['type'];
      host: string;
      status: CheckState['status'];
      failures: number;
      token: number;
      late_ms: number;
    }[]
  >(
    `with due as materialized (
       select next.* from json_to_recordset(?::json) as share (user_id bigint, slots integer, full_hosts text[]), lateral (
         select m.id, m.user_id, m.target_host as host, m.next_check_at as due_at from monitors m
          where m.user_id = share.user_id and m.next_check_at <= now() and m.target_host <> all (share.full_hosts)
          order by m.next_check_at limit share.slots for update skip locked
       ) next
     ),
     numbered as (
       select due.*, coalesce(running.checks, 0) + row_number() over (partition by due.user_id, due.host order by due.due_at) as nth_of_host
         from due left join json_to_recordset(?::json) as running (user_id bigint, host text, checks integer) using (user_id, host)
     )
     update monitors m set next_check_at = now() + ? * interval '1 second', claim_token = nextval('claim_tokens')
       from numbered n where m.id = n.id and m.id = any (array(select id from numbered where nth_of_host <= ?))
     returning m.id, m.user_id, m.url, m.type, n.host, m.status, m.failures, m.claim_token as token,
               (extract(epoch from now() - n.due_at) * 1000)::float8 as late_ms`,
    [JSON.stringify(users), JSON.stringify(hosts), leaseSeconds, checksPerHost],
  );
  return rows.map((row) => ({
    id: row.id,
    userId: row.user_id,
    url: row.url,
    type: row.type,
    host: row.host,
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
