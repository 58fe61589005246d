import { sql } from 'kysely';
import { jsonRows } from '../../db/json-rows.ts';
import { prepare, type Query } from '../../db/statement.ts';
import { tables } from '../../db/tables.ts';
import type { ProviderType } from '../channels/channel.ts';
import type { EventType } from '../messages/event.ts';
import type { AlertEntity } from './alert.entity.ts';
import { endsAlert, resetReason, tellingKinds } from './cancel-alerts.ts';
import { isTypeWithIncidents, wasDelivered } from './delivered.ts';
import { selectDue, type WaitingProvider } from './due-alerts.ts';
import { type Lease, leaseEnd } from './leases.ts';

export interface LeasedAlert extends WaitingProvider, Lease {
  kind: EventType;
  /** The monitor that the event is about. */
  monitorId: number | null;
  createdAt: Date;
  attempts: number;
  /** The time since it was queued. */
  ageSeconds: number;
  /** Whether it was counted by an earlier attempt. */
  isCounted: boolean;
  /** Whether it ends what the provider was told of. */
  endsSentAlert: boolean;
  /** Whether it is queued again, because the user asks for that. */
  isRepeated: boolean;
  /** Why there is no point in sending it, if so. */
  pointlessReason: string | null;
  /** The down alert that was sent about the same incident to the same provider. */
  downId: number | null;
  downCreatedAt: Date | null;
}

const db = tables<typeof AlertEntity>();
const now = sql<Date>`app_now()`;

/** Later messages about the incident continue this one. */
const sentDownAlert = sql`from alerts as down where down.user_id = a.user_id and down.incident_id = a.incident_id
  and down.provider_id = a.provider_id and down.kind = 'monitor.down' and ${wasDelivered('down')} and down.id < a.id`;

/** A user who has an alert sent again gets it whatever has become of the one before, but not beyond a limit. */
const isRepeated = sql<boolean>`(a.repeated_at is not null)`;

/** Whether alert `a` ends what the provider was told of. Without an incident or a monitor, it exists for no other reason. */
const endsTold = sql<boolean>`(${endsAlert(tellingKinds, wasDelivered('told'))} or a.kind = 'monitor.tls_renewed'
  or a.kind = 'monitor.recovered' and a.incident_id is null)`;

const isForIncidents = isTypeWithIncidents(sql`due.channel`);

/**
 * Whether alert `a` is the recovery of an incident whose down alert was canceled, and certainly not sent, to the same provider. If that
 * is still leased, the process may have died during an attempt. One that has failed may still have opened an incident.
 */
const endsCanceledAlert = sql<boolean>`(not ${endsTold} and ${endsAlert(
  ['monitor.down'],
  sql`told.status = 'suppressed' and told.last_error = ${resetReason} and (told.counted_at is null or told.lease_token is null and not ${isForIncidents})`,
)})`;

/** What is over must not be opened again, where nothing would end it. */
const overReason = sql<string | null>`case when not ${isForIncidents} then null
  when (a.kind = 'monitor.reminder' or a.kind = 'monitor.down' and ${isRepeated}) and exists (select from incidents as i
    where i.user_id = a.user_id and i.id = a.incident_id and i.resolved_at is not null) then 'not sent: the incident is resolved'
  when a.kind = 'monitor.tls_expiring' and exists (select from alerts as later where later.user_id = a.user_id
    and later.monitor_id = a.monitor_id and later.provider_id = a.provider_id and later.id > a.id
    and later.kind = 'monitor.tls_renewed') then 'not sent: the monitor has a new certificate' end`;

const leaseDue = prepare((given: { providers: string; limit: number }) =>
  db
    .with(
      (cte) => cte('due').materialized(),
      (cte) =>
        cte
          .selectFrom(jsonRows(given.providers, 'chosen', { userId: 'bigint', providerId: 'bigint', channel: 'text' }))
          .crossJoinLateral((from) =>
            selectDue(from)
              .select('a.id')
              .where('a.user_id', '=', sql.ref<number>('chosen.userId'))
              .where('a.provider_id', '=', sql.ref<number>('chosen.providerId'))
              .limit(given.limit)
              .forUpdate('a')
              .skipLocked()
              .as('next'),
          )
          .select(['next.id', sql<ProviderType>`chosen.channel`.as('channel')]),
    )
    .updateTable('alerts as a')
    .from('due')
    .set({
      next_attempt_at: leaseEnd,
      lease_token: sql`nextval('claim_tokens')`,
      attempts: sql`attempts + 1`,
    })
    .whereRef('a.id', '=', 'due.id')
    // The array tells the planner that the update concerns few rows.
    .where(sql<boolean>`a.id = any (array(select id from due))`)
    .returning(['a.id', 'a.user_id as userId', 'a.provider_id as providerId', 'due.channel', 'a.attempts'])
    .returning(['a.kind', 'a.created_at as createdAt', sql<number | null>`(a.payload #>> '{data,monitor,id}')::bigint`.as('monitorId')])
    .returning([
      sql<number>`extract(epoch from ${now} - a.queued_at)::float8`.as('ageSeconds'),
      sql<number>`a.lease_token`.as('token'),
      sql<boolean>`a.counted_at is not null`.as('isCounted'),
      sql<boolean>`(not ${isRepeated} and ${endsTold})`.as('endsSentAlert'),
      sql<boolean>`${isRepeated}`.as('isRepeated'),
      sql<string | null>`case when not ${isRepeated} and ${endsCanceledAlert} then ${resetReason} else ${overReason} end`.as(
        'pointlessReason',
      ),
      sql<number | null>`(select down.id ${sentDownAlert})`.as('downId'),
      sql<Date | null>`(select down.created_at ${sentDownAlert})`.as('downCreatedAt'),
    ]),
);

/** Leases due alerts of these providers, up to `limit` of each. The oldest come first. */
export async function leaseAlerts(query: Query, providers: (WaitingProvider & { limit: number })[]): Promise<LeasedAlert[]> {
  const byLimit = [...Map.groupBy(providers, ({ limit }) => limit)];
  const leased = await query(...byLimit.map(([limit, some]) => leaseDue({ providers: JSON.stringify(some), limit })));
  return leased.flat().toSorted((a, b) => a.id - b.id);
}
