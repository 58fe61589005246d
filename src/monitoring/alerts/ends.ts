// Ends what receivers keep open when a certificate is replaced, or a monitor is reset or deleted. People need no message about what they have done themselves.
import { type RawBuilder, sql } from 'kysely';
import { jsonRows } from '../../db/json-rows.ts';
import { prepare, type Query } from '../../db/statement.ts';
import { tables } from '../../db/tables.ts';
import type { EventType, StoredEvent } from '../messages/event.ts';
import { hasNoIncident } from '../monitors/monitor.entity.ts';
import type { ProviderEntity } from '../providers/provider.entity.ts';
import { notifyDispatcher } from '../wake.ts';
import type { AlertEntity } from './alert.entity.ts';
import type { NewEvent } from './alert-events.ts';
import { cancelRenewed, tellingKinds } from './cancel-alerts.ts';
import { keepsIncidents, mayBeAccepted } from './delivered.ts';

interface Ended {
  /** An array of the ids of monitors. */
  monitorIds: RawBuilder<unknown>;
  /** A deleted monitor takes its alerts along, except for those about nothing that is stored. */
  isDeleted: boolean;
}

const db = tables<typeof AlertEntity | typeof ProviderEntity>();
const time = sql`to_char(app_now() at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;
const telling = sql.join(tellingKinds.map((kind) => sql.lit(kind)));
const expiry = (alias: string) => sql`${sql.ref(`${alias}.payload`)} #>> '{data,monitor,tls_expires_at}'`;
/** An attempt ends before its lease. Only alerts about the same incident or monitor wait for each other. */
const afterAttempt = (isDeleted: boolean) =>
  isDeleted
    ? sql`case when a.lease_token is not null and a.status <> 'sent' then greatest(a.next_attempt_at, app_now()) else app_now() end`
    : sql`app_now()`;

/** Inserts the ends of open incidents that providers were told of. They are found by the incident first, and then by the provider. */
function insertEndsOfIncidents({ monitorIds, isDeleted }: Ended) {
  return sql`insert into alerts (user_id, incident_id, provider_id, kind, payload, next_attempt_at)
    with open as materialized (select i.id, i.started_at from incidents as i where i.monitor_id = any (${monitorIds}) and i.resolved_at is null),
    told as materialized (
      select distinct on (a.user_id, a.incident_id, a.provider_id)
             a.user_id, a.incident_id, a.provider_id, a.payload, a.status, a.lease_token, a.next_attempt_at
        from alerts as a
       where a.incident_id = any (array(select id from open)) and a.kind in (${telling}) and ${mayBeAccepted('a')}
       order by a.user_id, a.incident_id, a.provider_id, a.kind desc, a.sequence desc)
    select p.user_id, ${isDeleted ? sql`null::bigint` : sql`open.id`}, p.id, 'monitor.recovered', jsonb_build_object(
        'type', 'monitor.recovered', 'timestamp', ${time}, 'data', jsonb_build_object(
          'monitor', a.payload #> '{data,monitor}',
          'incident', (a.payload #> '{data,incident}') || jsonb_build_object('status', 'resolved', 'resolved_at', ${time},
            'duration_seconds', greatest(0, round(extract(epoch from app_now() - open.started_at)))))), ${afterAttempt(isDeleted)}
      from told as a
      join open on open.id = a.incident_id
      join providers as p on p.user_id = a.user_id and p.id = a.provider_id and ${keepsIncidents('p')}
       for key share of p
    returning id`;
}

/** Inserts the ends of warnings about certificates that providers got, unless they have ended. The index by monitor has few of them. */
function insertEndsOfWarnings({ monitorIds, isDeleted }: Ended) {
  return sql`insert into alerts (user_id, monitor_id, provider_id, kind, payload, next_attempt_at)
    with warned as materialized (
      select distinct on (a.user_id, a.monitor_id, a.provider_id, ${expiry('a')})
             a.user_id, a.monitor_id, a.provider_id, a.payload, a.status, a.lease_token, a.next_attempt_at
        from alerts as a
       where a.monitor_id = any (${monitorIds}) and a.kind = 'monitor.tls_expiring' and ${mayBeAccepted('a')}
         and not exists (select from alerts as end_of where end_of.user_id = a.user_id and end_of.monitor_id = a.monitor_id
           and end_of.provider_id = a.provider_id and end_of.id > a.id and end_of.kind = 'monitor.tls_renewed' and end_of.payload ->> 'replacedExpiry' = ${expiry('a')})
       order by a.user_id, a.monitor_id, a.provider_id, ${expiry('a')}, a.id desc)
    select p.user_id, ${isDeleted ? sql`null::bigint` : sql`a.monitor_id`}, p.id, 'monitor.tls_renewed', jsonb_build_object(
        'type', 'monitor.tls_renewed', 'timestamp', ${time}, 'data', a.payload -> 'data', 'replacedExpiry', ${expiry('a')}),
        ${afterAttempt(isDeleted)}
      from warned as a
      join providers as p on p.user_id = a.user_id and p.id = a.provider_id and ${keepsIncidents('p')}
       for key share of p
    returning id`;
}

/** Inserts copies of ends that wait to be sent, and would be deleted with their monitors. */
function insertCopies({ monitorIds }: Ended) {
  return sql`insert into alerts (user_id, provider_id, kind, payload, next_attempt_at)
    select p.user_id, p.id, a.kind, a.payload, a.next_attempt_at
      from providers as p
      join alerts as a on a.user_id = p.user_id and a.provider_id = p.id and a.status = 'queued'
     where ${keepsIncidents('p')} and a.kind in ('monitor.recovered', 'monitor.tls_renewed')
       and (a.incident_id is not null or a.monitor_id is not null)
       and (a.payload #>> '{data,monitor,id}')::bigint = any (${monitorIds})
       for key share of p
    returning id`;
}

const wakeIfAny = sql`select ${notifyDispatcher} as notified where exists (select from incident_ends) or exists (select from warning_ends)`;

const insertRenewals = prepare((given: { events: string }) =>
  db
    .insertInto('alerts')
    .columns(['user_id', 'monitor_id', 'provider_id', 'kind', 'payload'])
    .expression(
      db
        .selectFrom(jsonRows(given.events, 'e', { userId: 'bigint', monitorId: 'bigint', event: 'jsonb' }))
        .innerJoin('providers as p', (join) => join.onRef('p.user_id', '=', 'e.userId'))
        .where(keepsIncidents('p'))
        .where(({ exists, selectFrom }) =>
          exists(
            selectFrom('alerts as w')
              .select(sql.lit(1).as('found'))
              .whereRef('w.user_id', '=', 'e.userId')
              .whereRef('w.monitor_id', '=', 'e.monitorId')
              .whereRef('w.provider_id', '=', 'p.id')
              .where('w.kind', '=', sql.lit('monitor.tls_expiring'))
              .where(mayBeAccepted('w'))
              .where(sql<boolean>`w.payload #>> '{data,monitor,tls_expires_at}' = e.event ->> 'replacedExpiry'`),
          ),
        )
        .select(['p.user_id', 'e.monitorId', 'p.id'])
        .select([sql<EventType>`e.event ->> 'type'`.as('kind'), sql<StoredEvent>`e.event`.as('payload')])
        .forKeyShare('p'),
    )
    .returning('id'),
);

/** Queues the ends of warnings about certificates that were replaced. Returns the number of alerts. */
export async function queueRenewals(query: Query, events: NewEvent[]): Promise<number> {
  const [, queued] = await query(
    cancelRenewed({ monitorIds: events.map(({ monitorId }) => monitorId) }),
    insertRenewals({ events: JSON.stringify(events) }),
  );
  return queued.length;
}

/** Queues the ends for monitors that were reset, are in maintenance, or have another target. Their incidents are still open. */
export const queueEnds = prepare(({ ids }: { ids: number[] }) => {
  const monitors = sql`select m.id from monitors as m where m.id = any (${ids}::bigint[])`;
  const reset = { monitorIds: sql`array(${monitors} and ${hasNoIncident})`, isDeleted: false };
  const repointed = { monitorIds: sql`array(${monitors} and m.tls_warned_expiry is null)`, isDeleted: false };
  return sql`with incident_ends as (${insertEndsOfIncidents(reset)}), warning_ends as (${insertEndsOfWarnings(repointed)}) ${wakeIfAny}`;
});

/** Locks the alerts of monitors that wait to be sent, so that no attempt begins until the monitors are deleted. */
export const lockAlertsOf = prepare(
  ({ ids }: { ids: number[] }) =>
    sql`select id from alerts where status = 'queued' and (payload #>> '{data,monitor,id}')::bigint = any (${ids}::bigint[]) order by id for update`,
);

/** Deletes monitors by a condition, and queues the ends. Its snapshot still has the incidents and alerts, which are deleted by cascade. */
export function deleteAndQueueEnds(condition: RawBuilder<unknown>): RawBuilder<{ id: number }> {
  const ended = { monitorIds: sql`array(select id from deleted)`, isDeleted: true };
  return sql`with deleted as (delete from monitors where ${condition} returning id),
    incident_ends as (${insertEndsOfIncidents(ended)}), warning_ends as (${insertEndsOfWarnings(ended)}), copies as (${insertCopies(ended)}),
    woken as materialized (${wakeIfAny} or exists (select from copies))
    select id from deleted left join woken on true`;
}
