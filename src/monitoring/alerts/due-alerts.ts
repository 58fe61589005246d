import { type ExpressionBuilder, sql } from 'kysely';
import { jsonRows } from '../../db/json-rows.ts';
import { prepare, type Query } from '../../db/statement.ts';
import { type Tables, tables } from '../../db/tables.ts';
import type { ProviderType } from '../channels/channel.ts';
import type { IncidentEntity } from '../incidents/incident.entity.ts';
import type { EventType } from '../messages/event.ts';
import type { ProviderEntity } from '../providers/provider.entity.ts';
import { isSuspended } from '../suspended-users.ts';
import type { AlertEntity } from './alert.entity.ts';
import { endsAlert, resetReason, tellingKinds } from './cancel-alerts.ts';
import { isTypeWithIncidents, wasDelivered } from './delivered.ts';
import { type Lease, leaseEnd } from './leases.ts';

/** The number of users that are visited at most to find providers. */
const maxVisited = 1000;

type AlertTables = Tables<typeof AlertEntity | typeof ProviderEntity>;

const db = tables<typeof AlertEntity | typeof ProviderEntity>();
const now = sql<Date>`app_now()`;
// A literal, because the partial indexes cannot be used for a parameter.
const queued = sql.lit<'queued'>('queued');

/**
 * Selects due alerts, the oldest first. An alert waits until those before it about the same incident, or the certificate of the same
 * monitor, are sent or have failed. If one was canceled while a process had leased it, the process may still send it.
 */
function selectDue(from: Pick<ExpressionBuilder<AlertTables, never>, 'selectFrom'>) {
  return from
    .selectFrom('alerts as a')
    .where('a.status', '=', queued)
    .where('a.next_attempt_at', '<=', now)
    .where(({ not, exists, selectFrom }) =>
      not(
        exists(
          selectFrom('alerts as earlier')
            .select(sql.lit(1).as('found'))
            .whereRef('earlier.user_id', '=', 'a.user_id')
            .whereRef('earlier.incident_id', '=', 'a.incident_id')
            .whereRef('earlier.provider_id', '=', 'a.provider_id')
            .whereRef('earlier.id', '<', 'a.id')
            .where(sql<boolean>`(earlier.status = 'queued' or earlier.status = 'suppressed' and earlier.lease_token is not null
              and earlier.next_attempt_at > ${now})`),
        ),
      ),
    )
    .where(sql<boolean>`(a.monitor_id is null or not exists (select from alerts as earlier where earlier.user_id = a.user_id
      and earlier.monitor_id = a.monitor_id and earlier.provider_id = a.provider_id and earlier.id < a.id
      and (earlier.status = 'queued' or earlier.status = 'suppressed' and earlier.lease_token is not null and earlier.next_attempt_at > ${now})))`)
    .orderBy('a.next_attempt_at');
}

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

/** Each step of the recursion jumps to the next user in the index, past the other alerts of the user before. */
const selectWaitingProviders = prepare((given: { busyProviders: number[]; afterUserId: number }) => {
  const ofPending = db.selectFrom('alerts as a').select('a.user_id').where('a.status', '=', queued);
  const next = ofPending.orderBy('a.user_id').limit(sql.lit(1));
  return db
    .withRecursive('visited(user_id)', (recursive) =>
      recursive
        .selectFrom(next.where('a.user_id', '>', given.afterUserId).as('first'))
        .select(sql<number | null>`user_id`.as('user_id'))
        .unionAll(
          recursive
            .selectFrom('visited as v')
            .where('v.user_id', 'is not', null)
            .select(next.where('a.user_id', '>', sql.ref<number>('v.user_id')).as('user_id')),
        ),
    )
    .selectFrom((from) =>
      from
        .selectFrom('visited')
        .select(sql<number>`user_id`.as('user_id'))
        .where('user_id', 'is not', null)
        .limit(sql.lit(maxVisited))
        .as('v'),
    )
    .leftJoinLateral(
      (from) =>
        from
          .selectFrom('providers as p')
          .crossJoinLateral((due) =>
            selectDue(due)
              .select('a.next_attempt_at as at')
              .where('a.user_id', '=', sql.ref<number>('p.user_id'))
              .where('a.provider_id', '=', sql.ref<number>('p.id'))
              .limit(sql.lit(1))
              .as('due'),
          )
          .select(['p.id', 'p.provider_type', 'due.at'])
          .whereRef('p.user_id', '=', 'v.user_id')
          .where(sql<boolean>`not (p.id = any (${given.busyProviders}::bigint[]))`)
          .where(sql<boolean>`not ${isSuspended('v.user_id')}`)
          .where(sql<boolean>`(p.next_message_at is null or p.next_message_at <= ${now})`)
          .as('p'),
      (join) => join.onTrue(),
    )
    .select(['v.user_id as userId', 'p.id as providerId', 'p.provider_type as channel'])
    .orderBy('p.at');
});

/**
 * Finds providers with due alerts. It visits the users who have pending alerts one by one, starting after `afterUserId`, so that
 * thousands of alerts of one user do not hide those of the others.
 */
export async function findWaitingProviders(
  query: Query,
  request: { busyProviders: number[]; afterUserId: number },
): Promise<WaitingProviders> {
  const [rows] = await query(selectWaitingProviders(request));
  const visited = new Set(rows.map(({ userId }) => userId));
  return {
    providers: rows.flatMap(({ userId, providerId, channel }) =>
      providerId === null || channel === null ? [] : [{ userId, providerId, channel }],
    ),
    continueAfter: visited.size === maxVisited ? Math.max(...visited) : 0,
  };
}

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

/** Selects the time until the next attempt or reminder, or until a lease or the pause of a provider ends. What is due is not considered. */
export const selectNextAttempt = prepare(() => {
  const nextAttempt = db
    .selectFrom('alerts')
    .select(sql<Date | null>`min(next_attempt_at)`.as('at'))
    .where('status', '=', queued)
    .where('next_attempt_at', '>', now);
  const nextMessage = db.selectFrom('providers').select(sql<Date | null>`min(next_message_at)`.as('at')).where('next_message_at', '>', now);
  const nextReminder = tables<typeof IncidentEntity>()
    .selectFrom('incidents')
    .select(sql<Date | null>`min(remind_at)`.as('at'))
    .where('remind_at', '>', now)
    .where('resolved_at', 'is', null)
    .where('acknowledged_at', 'is', null);
  return db
    .selectFrom(nextAttempt.unionAll(nextMessage).unionAll(nextReminder).as('next'))
    .select(sql<number | null>`extract(epoch from min(next.at) - ${now})::float8`.as('seconds'));
});
