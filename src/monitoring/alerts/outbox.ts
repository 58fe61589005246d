import { sql } from 'kysely';
import { jsonRows } from '../../db/json-rows.ts';
import { prepare, type Query } from '../../db/statement.ts';
import { tables } from '../../db/tables.ts';
import type { EventType, StoredEvent } from '../messages/event.ts';
import type { NotificationEntity } from '../notifications/notification.entity.ts';
import type { ProviderEntity } from '../providers/provider.entity.ts';
import { isSuspended } from '../suspended-users.ts';
import type { AlertEntity } from './alert.entity.ts';
import type { NewEvent } from './alert-events.ts';
import { wasDroppedInDelay } from './cancel-alerts.ts';
import { mayBeDelivered } from './delivered.ts';

const db = tables<typeof AlertEntity | typeof NotificationEntity | typeof ProviderEntity>();
const now = sql<Date>`app_now()`;

/** How many alerts are inserted by one statement. The embedded database runs it in this process, which responds to nobody meanwhile. */
const insertedAtOnce = 50;

/** An event without what it says. */
const eventColumns = { position: 'integer', userId: 'bigint', monitorId: 'bigint', incidentId: 'bigint', type: 'text' } as const;

/** An event is told to the providers that are assigned to the monitor, but no recovery of what was dropped while it had a delay. */
const selectAssigned = (events: string) =>
  db
    .selectFrom(jsonRows(events, 'e', eventColumns))
    .innerJoin('notifications as n', (join) =>
      join.onRef('n.user_id', '=', 'e.userId').onRef('n.monitor_id', '=', 'e.monitorId').on('n.enabled', '=', sql.lit(true)),
    )
    .where(({ not, exists }) => not(exists(selectDown('n.provider_id').where(wasDroppedInDelay('down')))))
    .select(['e.position', 'n.provider_id as providerId'])
    .select(sql<number>`case when e.type = 'monitor.down' then n.delay_seconds else 0 end`.as('delaySeconds'));

/** A recovery is also told to those that were told of the incident, and are not assigned any more. */
const selectTold = (events: string) =>
  db
    .selectFrom(jsonRows(events, 'e', eventColumns))
    .innerJoin('alerts as down', (join) =>
      join
        .onRef('down.user_id', '=', 'e.userId')
        .onRef('down.incident_id', '=', 'e.incidentId')
        .on('down.kind', '=', sql.lit('monitor.down')),
    )
    .where('e.type', '=', sql.lit('monitor.recovered'))
    .where(mayBeDelivered('down'))
    .select(['e.position', 'down.provider_id as providerId', sql<number>`0`.as('delaySeconds')]);

const selectDown = (providerId: string) =>
  db
    .selectFrom('alerts as down')
    .select(sql.lit(1).as('found'))
    .where(sql<boolean>`e.type = 'monitor.recovered'`)
    .where('down.user_id', '=', sql.ref<number>('e.userId'))
    .where('down.incident_id', '=', sql.ref<number>('e.incidentId'))
    .where('down.provider_id', '=', sql.ref<number>(providerId))
    .where('down.kind', '=', sql.lit('monitor.down'));

const selectRecipients = prepare((given: { events: string }) => selectAssigned(given.events).union(selectTold(given.events)));

/** An outage can be reported after a delay. */
const dueAt = sql<Date>`app_now() + a."delaySeconds" * interval '1 second'`;

/** A provider can be deleted meanwhile. */
const insertAlerts = prepare((given: { alerts: string; events: string }) =>
  db
    .insertInto('alerts')
    .columns(['user_id', 'incident_id', 'monitor_id', 'provider_id', 'kind', 'payload', 'queued_at', 'next_attempt_at'])
    .expression(
      db
        .selectFrom(jsonRows(given.alerts, 'a', { position: 'integer', providerId: 'bigint', delaySeconds: 'integer' }))
        .innerJoin(jsonRows(given.events, 'e', { ...eventColumns, event: 'jsonb' }), (join) => join.onRef('e.position', '=', 'a.position'))
        .innerJoin('providers as p', (join) => join.onRef('p.user_id', '=', 'e.userId').onRef('p.id', '=', 'a.providerId'))
        .select(['p.user_id', 'e.incidentId'])
        .select(sql<number | null>`case when e."incidentId" is null then e."monitorId" end`.as('monitor_id'))
        .select(['p.id', sql<EventType>`e.type`.as('kind'), sql<StoredEvent>`e.event`.as('payload')])
        .select([dueAt.as('queued_at'), dueAt.as('next_attempt_at')])
        .forKeyShare('p'),
    )
    .onConflict((conflict) => conflict.columns(['user_id', 'incident_id', 'provider_id', 'kind', 'sequence']).doNothing())
    .returning('id'),
);

/** Queues an alert for each event and provider, in the transaction that changes the monitor. Returns the number of alerts. */
export async function queueAlerts(query: Query, events: NewEvent[]): Promise<number> {
  if (events.length === 0) return 0;
  const described = events.map(({ event, ...about }, position) => ({ position, ...about, type: event.type }));
  const [recipients] = await query(selectRecipients({ events: JSON.stringify(described) }));
  let queued = 0;
  for (let start = 0; start < recipients.length; start += insertedAtOnce) {
    const portion = recipients.slice(start, start + insertedAtOnce);
    const positions = new Set(portion.map(({ position }) => position));
    const told = described
      .filter(({ position }) => positions.has(position))
      .map((about) => ({ ...about, event: events[about.position]?.event }));
    const [inserted] = await query(insertAlerts({ alerts: JSON.stringify(portion), events: JSON.stringify(told) }));
    queued += inserted.length;
  }
  return queued;
}

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
