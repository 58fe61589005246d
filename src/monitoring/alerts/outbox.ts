import type { SqlEntityManager } from '@mikro-orm/sql';
import type { ProviderType } from '../providers/provider.entity.ts';

export type AlertKind = 'down' | 'recovered';

interface NewAlert {
  userId: number;
  monitorId: number;
  incidentId: number;
  subject: string;
  text: string;
}

/** Queues one alert per enabled assignment, in the transaction that opened or resolved the incident. */
export async function queueAlerts(em: SqlEntityManager, kind: AlertKind, alerts: NewAlert[]): Promise<void> {
  if (alerts.length === 0) return;
  await em.execute(
    `insert into alerts (user_id, incident_id, provider_id, kind, subject, body)
     select n.user_id, a."incidentId", n.provider_id, ?, a.subject, a.text
       from json_to_recordset(?::json) as a ("userId" bigint, "monitorId" bigint, "incidentId" bigint, subject text, text text)
       join notifications n on n.user_id = a."userId" and n.monitor_id = a."monitorId" and n.enabled
     on conflict (user_id, incident_id, provider_id, kind) do nothing`,
    [kind, JSON.stringify(alerts)],
    'run',
  );
}

export interface LeasedAlert {
  id: number;
  userId: number;
  providerId: number;
  channel: ProviderType;
  subject: string;
  body: string;
  attempts: number;
  ageSeconds: number;
  /** Whether it was counted by an earlier attempt. */
  isCounted: boolean;
  /** Whether it is the recovery of an incident whose down alert was sent to the same provider. */
  endsSentAlert: boolean;
  token: number;
}

/** How long an alert is leased. It is longer than any attempt takes; afterwards another process can try. */
const leaseSeconds = 60;

/** How many alerts of a provider are leased together. They are sent one after the other. */
const alertsPerLease = 10;
/** The number of users that are visited at most to find providers. */
const maxVisited = 1000;

/** A recovery alert waits until the down alert of its incident is sent or has failed. */
const isDue = `a.status = 'pending' and a.next_attempt_at <= now()
  and not exists (select from alerts earlier where earlier.user_id = a.user_id and earlier.incident_id = a.incident_id
        and earlier.provider_id = a.provider_id and earlier.id < a.id and earlier.status = 'pending')`;

export interface WaitingProvider {
  userId: number;
  providerId: number;
  channel: ProviderType;
}

export interface WaitingProviders {
  /** Those whose alerts have waited longest come first. */
  providers: WaitingProvider[];
  /** Where the search continues next time. */
  continueAfter: number;
}

/**
 * Finds providers with due alerts. It visits the users who have pending alerts one by one, starting after `afterUserId`, so that
 * thousands of alerts of one user do not hide those of the others.
 */
export async function findWaitingProviders(
  em: SqlEntityManager,
  { busyProviders, afterUserId }: { busyProviders: number[]; afterUserId: number },
): Promise<WaitingProviders> {
  const rows = await em.execute<{ userId: number; providerId: number | null; channel: ProviderType }[]>(
    `with recursive visited (user_id) as (
       (select user_id from alerts where user_id > ? and status = 'pending' order by user_id limit 1)
       union all
       select (select a.user_id from alerts a where a.user_id > v.user_id and a.status = 'pending' order by a.user_id limit 1)
         from visited v where v.user_id is not null
     )
     select v.user_id as "userId", p.id as "providerId", p.provider_type as channel
       from (select user_id from visited where user_id is not null limit ?) v
       left join lateral (
         select p.id, p.provider_type, due.at from providers p, lateral (
           select a.next_attempt_at as at from alerts a where a.user_id = p.user_id and a.provider_id = p.id and ${isDue}
            order by a.next_attempt_at limit 1
         ) due
          where p.user_id = v.user_id and not (p.id = any (?::bigint[]))
       ) p on true
      order by p.at`,
    [afterUserId, maxVisited, `{${busyProviders.join(',')}}`],
  );
  const visited = new Set(rows.map(({ userId }) => userId));
  return {
    providers: rows.flatMap(({ userId, providerId, channel }) => (providerId === null ? [] : [{ userId, providerId, channel }])),
    continueAfter: visited.size === maxVisited ? Math.max(...visited) : 0,
  };
}

/** Leases due alerts of these providers. */
export async function leaseAlerts(em: SqlEntityManager, providers: WaitingProvider[]): Promise<LeasedAlert[]> {
  if (providers.length === 0) return [];
  return em.execute<LeasedAlert[]>(
    `with due as materialized (
       select next.id, chosen.channel
         from json_to_recordset(?::json) as chosen ("userId" bigint, "providerId" bigint, channel text), lateral (
           select a.id from alerts a where a.user_id = chosen."userId" and a.provider_id = chosen."providerId" and ${isDue}
            order by a.next_attempt_at limit ${alertsPerLease} for update of a skip locked
         ) next
     )
     update alerts a set next_attempt_at = now() + ? * interval '1 second', lease_token = nextval('claim_tokens'), attempts = attempts + 1
       from due where a.id = due.id and a.id = any (array(select id from due))
     returning a.id, a.user_id as "userId", a.provider_id as "providerId", due.channel, a.subject, a.body, a.attempts,
               extract(epoch from now() - a.created_at)::float8 as "ageSeconds", a.lease_token as token,
               a.counted_at is not null as "isCounted",
               a.kind = 'recovered' and exists (select from alerts down where down.user_id = a.user_id and down.status = 'sent'
                 and down.incident_id = a.incident_id and down.provider_id = a.provider_id and down.kind = 'down') as "endsSentAlert"`,
    [JSON.stringify(providers), leaseSeconds],
  );
}

/** Counts the alerts that wait to be sent. */
export async function countPendingAlerts(em: SqlEntityManager): Promise<{ count: number; oldestSeconds: number }> {
  const [row] = await em.execute<{ count: number; oldestSeconds: number }[]>(
    `select count(*)::int as count, coalesce(extract(epoch from now() - min(created_at)), 0)::float8 as "oldestSeconds"
       from alerts where status = 'pending'`,
  );
  return row ?? { count: 0, oldestSeconds: 0 };
}

/** Releases alerts that were not sent before the shutdown, so that other processes need not wait for the leases to expire. */
export async function releaseAlerts(em: SqlEntityManager, alerts: LeasedAlert[]): Promise<void> {
  await em.execute(
    `update alerts a set next_attempt_at = now(), lease_token = null, attempts = a.attempts - 1
       from json_to_recordset(?::json) as r (id bigint, token bigint) where a.id = r.id and a.lease_token = r.token and a.status = 'pending'`,
    [JSON.stringify(alerts.map(({ id, token }) => ({ id, token })))],
    'run',
  );
}

/** Whether the alert still exists and is leased to this process: its user, monitor or provider may be deleted, or the lease expired. */
export async function isStillLeased(em: SqlEntityManager, { id, token }: LeasedAlert): Promise<boolean> {
  const found = await em.execute<unknown[]>('select from alerts where id = ? and lease_token = ? and next_attempt_at > now()', [id, token]);
  return found.length > 0;
}

export async function markCounted(em: SqlEntityManager, { id, token }: LeasedAlert): Promise<void> {
  await em.execute('update alerts set counted_at = now() where id = ? and lease_token = ?', [id, token], 'run');
}

export async function markSent(em: SqlEntityManager, { id, token }: LeasedAlert): Promise<void> {
  await em.execute(
    `update alerts set status = 'sent', done_at = now(), last_error = null where id = ? and lease_token = ?`,
    [id, token],
    'run',
  );
}

export async function markFailed(em: SqlEntityManager, { id, token }: LeasedAlert, reason: string): Promise<void> {
  await em.execute(
    `update alerts set status = 'failed', done_at = now(), last_error = ? where id = ? and lease_token = ?`,
    [reason, id, token],
    'run',
  );
}

export async function postpone(em: SqlEntityManager, { id, token }: LeasedAlert, reason: string, seconds: number): Promise<void> {
  await em.execute(
    `update alerts set next_attempt_at = now() + ? * interval '1 second', lease_token = null, last_error = ? where id = ? and lease_token = ?`,
    [seconds, reason, id, token],
    'run',
  );
}
