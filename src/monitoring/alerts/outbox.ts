import { type RawBuilder, sql } from 'kysely';
import { jsonRows } from '../../db/json-rows.ts';
import { prepare, type Query } from '../../db/statement.ts';
import { tables } from '../../db/tables.ts';
import type { ProviderType } from '../channels/channel.ts';
import { typesWithIncidents } from '../channels/registry.ts';
import type { IncidentEntity } from '../incidents/incident.entity.ts';
import type { EventType, StoredEvent } from '../messages/event.ts';
import { hasNoIncident, type MonitorEntity } from '../monitors/monitor.entity.ts';
import type { NotificationEntity } from '../notifications/notification.entity.ts';
import type { ProviderEntity } from '../providers/provider.entity.ts';
import { isSuspended } from '../suspended-users.ts';
import type { AlertEntity } from './alert.entity.ts';
import type { NewEvent } from './alert-events.ts';

const db = tables<typeof AlertEntity | typeof NotificationEntity>();
const now = sql<Date>`app_now()`;

const kind = sql<EventType>`(e.event ->> 'type')`;
/** An outage can be reported after a delay. */
const dueAt = sql<Date>`${now} + case when ${kind} = 'monitor.down' then n.delay_seconds else 0 end * interval '1 second'`;
const shortOutage = 'not sent: the monitor was up again before the delay was over';

const insertAlerts = prepare((given: { events: string }) =>
  db
    .insertInto('alerts')
    .columns(['user_id', 'incident_id', 'monitor_id', 'provider_id', 'kind', 'payload', 'queued_at', 'next_attempt_at'])
    .expression(
      db
        .selectFrom(jsonRows(given.events, 'e', { userId: 'bigint', monitorId: 'bigint', incidentId: 'bigint', event: 'jsonb' }))
        .innerJoin('notifications as n', (join) =>
          join.onRef('n.user_id', '=', 'e.userId').onRef('n.monitor_id', '=', 'e.monitorId').on('n.enabled', '=', sql.lit(true)),
        )
        .select(['n.user_id', 'e.incidentId'])
        .select(sql<number | null>`case when e."incidentId" is null then e."monitorId" end`.as('monitor_id'))
        .select(['n.provider_id', kind.as('kind'), sql<StoredEvent>`e.event`.as('payload')])
        .select([dueAt.as('queued_at'), dueAt.as('next_attempt_at')])
        .where(({ not, exists, selectFrom }) =>
          not(
            exists(
              selectFrom('alerts as down')
                .select(sql.lit(1).as('found'))
                .where(kind, '=', 'monitor.recovered')
                .whereRef('down.user_id', '=', 'n.user_id')
                .where('down.incident_id', '=', sql.ref<number>('e.incidentId'))
                .whereRef('down.provider_id', '=', 'n.provider_id')
                .where('down.last_error', '=', sql.lit(shortOutage)),
            ),
          ),
        ),
    )
    .onConflict((conflict) => conflict.columns(['user_id', 'incident_id', 'provider_id', 'kind', 'sequence']).doNothing())
    .returning('id'),
);

/** Queues one alert per event and enabled assignment, in the transaction that changes the monitor. Returns the number of alerts. */
export async function queueAlerts(query: Query, events: NewEvent[]): Promise<number> {
  if (events.length === 0) return 0;
  const [queued] = await query(insertAlerts({ events: JSON.stringify(events) }));
  return queued.length;
}

const insertRenewals = prepare((given: { events: string; types: readonly ProviderType[] }) =>
  db
    .insertInto('alerts')
    .columns(['user_id', 'monitor_id', 'provider_id', 'kind', 'payload'])
    .expression(
      tables<typeof AlertEntity | typeof ProviderEntity>()
        .selectFrom(jsonRows(given.events, 'e', { userId: 'bigint', monitorId: 'bigint', event: 'jsonb' }))
        .innerJoin('alerts as w', (join) => join.onRef('w.user_id', '=', 'e.userId').onRef('w.monitor_id', '=', 'e.monitorId'))
        .innerJoin('providers as p', (join) => join.onRef('p.user_id', '=', 'w.user_id').onRef('p.id', '=', 'w.provider_id'))
        .where('w.kind', '=', sql.lit<EventType>('monitor.tls_expiring'))
        .where(sql<boolean>`w.status in ('queued', 'sent')`)
        .where(sql<boolean>`w.payload #>> '{data,monitor,tls_expires_at}' = e.event ->> 'replacedExpiry'`)
        .where('p.provider_type', '=', sql<ProviderType>`any (${given.types}::text[])`)
        // The first warning and that of the last day are about one incident.
        .distinctOn(['w.provider_id', 'w.monitor_id'])
        .select(['w.user_id', 'w.monitor_id', 'w.provider_id'])
        .select([sql<EventType>`e.event ->> 'type'`.as('kind'), sql<StoredEvent>`e.event`.as('payload')]),
    )
    .returning('id'),
);

/**
 * Queues the end of warnings about certificates for providers that were warned, and that keep an incident open until then. People need
 * no message about what they have done themselves.
 */
export async function queueRenewals(query: Query, events: NewEvent[]): Promise<number> {
  const [queued] = await query(insertRenewals({ events: JSON.stringify(events), types: typesWithIncidents }));
  return queued.length;
}

/** Whether alert `a` is the recovery of an incident whose down alert to the same provider meets a condition. */
export function endsAlert(condition: RawBuilder<unknown>): RawBuilder<boolean> {
  return sql`(a.kind = 'monitor.recovered' and exists (select from alerts as down where down.user_id = a.user_id
    and down.incident_id = a.incident_id and down.provider_id = a.provider_id and down.kind = 'monitor.down' and ${condition}))`;
}

/** Drops the alerts of incidents that were resolved before the delay was over. Nobody is told of these recoveries either. */
export const cancelDelayed = prepare(({ incidentIds }: { incidentIds: number[] }) =>
  db
    .updateTable('alerts')
    .set({ status: sql.lit('suppressed'), done_at: now, last_error: sql.lit(shortOutage) })
    .where('incident_id', '=', sql<number>`any (${incidentIds}::bigint[])`)
    .where('kind', '=', sql.lit('monitor.down'))
    .where('status', '=', sql.lit('queued'))
    .where('queued_at', '>', now),
);

export const canceledError = 'not sent: the monitor was paused or in maintenance, or its target changed';

/**
 * Cancels the alerts of a monitor that was reset or is in maintenance. If somebody was told that it is down, and it has recovered
 * before the reset, they are still told so. While a process has leased the down alert, the recovery waits, because that may still be
 * sent.
 */
export const cancelAlerts = prepare(({ ids }: { ids: number[] }) => {
  const incidents = tables<typeof IncidentEntity | typeof MonitorEntity>()
    .selectFrom('incidents as i')
    .innerJoin('monitors as m', 'm.id', 'i.monitor_id')
    .select('i.id')
    .where('m.id', '=', sql<number>`any (${ids}::bigint[])`)
    .where(hasNoIncident);
  return (
    db
      .updateTable('alerts as a')
      .set({ status: sql.lit('suppressed'), done_at: now, last_error: canceledError })
      // As long as the tables have no statistics, an array is faster than a join.
      .where(sql<boolean>`a.incident_id = any (array(${incidents}))`)
      .where('a.status', '=', sql.lit('queued'))
      .where(({ not }) => not(endsAlert(sql`(down.status = 'sent' or down.lease_token is not null)`)))
  );
});

/** Cancels the warnings of a monitor if it has another target, whose certificate nobody was warned of. */
export const cancelWarnings = prepare(({ ids }: { ids: number[] }) => {
  const repointed = tables<typeof MonitorEntity>()
    .selectFrom('monitors')
    .select('id')
    .where('id', '=', sql<number>`any (${ids}::bigint[])`)
    .where('tls_warned_expiry', 'is', null);
  return db
    .updateTable('alerts as a')
    .set({ status: sql.lit('suppressed'), done_at: now, last_error: canceledError })
    .where(sql<boolean>`a.monitor_id = any (array(${repointed}))`)
    .where('a.status', '=', sql.lit('queued'));
});

const selectPending = prepare(() =>
  db
    .selectFrom('alerts')
    .where('status', '=', sql.lit('queued'))
    .where('queued_at', '<=', now)
    .where(sql<boolean>`not ${isSuspended('user_id')}`)
    .select([
      sql<number>`count(*)::int`.as('count'),
      sql<number>`coalesce(extract(epoch from ${now} - min(queued_at)), 0)::float8`.as('oldestSeconds'),
    ]),
);

/** Counts the alerts that wait to be sent, without those of suspended users and those with a delay. */
export async function countPendingAlerts(query: Query): Promise<{ count: number; oldestSeconds: number }> {
  const [[row]] = await query(selectPending({}));
  return row ?? { count: 0, oldestSeconds: 0 };
}
