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
  token: number;
}

/** How long an alert is leased. It is longer than any attempt takes; afterwards another process can try. */
const leaseSeconds = 60;

/** Leases due alerts. A recovery alert waits until the down alert of its incident is sent or has failed. */
export async function leaseAlerts(
  em: SqlEntityManager,
  { freeSlots, busyProviders }: { freeSlots: Map<ProviderType, number>; busyProviders: number[] },
): Promise<LeasedAlert[]> {
  return em.execute<LeasedAlert[]>(
    `with due as (
       select next.* from unnest(?::text[], ?::int[]) as free (channel, slots), lateral (
         select a.id, free.channel from alerts a join providers p on p.user_id = a.user_id and p.id = a.provider_id
          where a.status = 'pending' and a.next_attempt_at <= now() and p.provider_type = free.channel
            and not (a.provider_id = any (?::bigint[]))
            and not exists (select from alerts earlier where earlier.user_id = a.user_id and earlier.incident_id = a.incident_id
                  and earlier.provider_id = a.provider_id and earlier.id < a.id and earlier.status = 'pending')
          order by a.next_attempt_at limit free.slots for update of a skip locked
       ) next
     )
     update alerts a set next_attempt_at = now() + ? * interval '1 second', lease_token = nextval('claim_tokens'), attempts = attempts + 1
       from due where a.id = due.id
     returning a.id, a.user_id as "userId", a.provider_id as "providerId", due.channel, a.subject, a.body, a.attempts,
               extract(epoch from now() - a.created_at)::float8 as "ageSeconds", a.lease_token as token`,
    [toArrayLiteral(freeSlots.keys()), toArrayLiteral(freeSlots.values()), toArrayLiteral(busyProviders), leaseSeconds],
  );
}

function toArrayLiteral(values: Iterable<string | number>): string {
  return `{${[...values].join(',')}}`;
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
