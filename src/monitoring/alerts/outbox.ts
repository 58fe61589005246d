import { setImmediate as nextTurn } from 'node:timers/promises';
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
import { firstReminders, keepsIncidents, mayBeAccepted, mayBeDelivered } from './delivered.ts';

const db = tables<typeof AlertEntity | typeof NotificationEntity | typeof ProviderEntity>();
const now = sql<Date>`app_now()`;

/**
 * The embedded database runs a statement in this process, which responds to nobody else in the meantime. So a statement is about so many
 * events or alerts, and other work gets its turn before the next one.
 */
const eventsAtOnce = 10;
const alertsAtOnce = 50;

/** An event without what it says. */
const eventColumns = { position: 'integer', userId: 'bigint', monitorId: 'bigint', incidentId: 'bigint', type: 'text' } as const;

const selectAssigned = prepare((given: { events: string }) =>
  db
    .selectFrom(jsonRows(given.events, 'e', eventColumns))
    .innerJoin('notifications as n', (join) =>
      join.onRef('n.user_id', '=', 'e.userId').onRef('n.monitor_id', '=', 'e.monitorId').on('n.enabled', '=', sql.lit(true)),
    )
    .select(['e.position', 'n.provider_id as providerId'])
    .select(sql<number>`case when e.type = 'monitor.down' then n.delay_seconds else 0 end`.as('delaySeconds')),
);

/** Who was told of outages that are over, and who was not, because the alert was dropped while it had a delay. */
const selectTold = prepare((given: { userIds: number[]; incidentIds: number[] }) =>
  db
    .selectFrom('alerts as a')
    .innerJoin('providers as p', (join) => join.onRef('p.user_id', '=', 'a.user_id').onRef('p.id', '=', 'a.provider_id'))
    .select(['a.incident_id as incidentId', 'a.provider_id as providerId'])
    .select(sql<boolean>`bool_or(${mayBeDelivered('a')} or ${keepsIncidents('p')} and ${mayBeAccepted('a')})`.as('isTold'))
    .select(sql<boolean>`bool_or(${wasDroppedInDelay('a')} is true)`.as('isDropped'))
    .where('a.user_id', '=', sql<number>`any (${given.userIds}::bigint[])`)
    .where('a.incident_id', '=', sql<number>`any (${given.incidentIds}::bigint[])`)
    .where(sql<boolean>`(a.kind = 'monitor.down' or a.kind = 'monitor.reminder' and a.sequence <= ${sql.lit(firstReminders)})`)
    .groupBy(['a.incident_id', 'a.provider_id']),
);

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
  let queued = 0;
  for (const some of portionsOf(events, eventsAtOnce)) {
    const described = some.map(({ event, ...about }, position) => ({ position, ...about, type: event.type }));
    for (const alerts of portionsOf(await findRecipients(query, described), alertsAtOnce)) {
      const positions = new Set(alerts.map(({ position }) => position));
      const told = described
        .filter(({ position }) => positions.has(position))
        .map((about) => ({ ...about, event: some[about.position]?.event }));
      const [inserted] = await query(insertAlerts({ alerts: JSON.stringify(alerts), events: JSON.stringify(told) }));
      queued += inserted.length;
      await nextTurn();
    }
  }
  return queued;
}

/** An event without what it says. */
type Described = Omit<NewEvent, 'event'> & Pick<Recipient, 'position'> & { type: EventType };

interface Recipient {
  /** That of the event. */
  position: number;
  providerId: number;
  delaySeconds: number;
}

/**
 * An event is told to the providers that are assigned to the monitor, but no recovery of what was dropped while it had a delay. A
 * recovery is also told to those that were told of the outage, and are not assigned any more.
 */
async function findRecipients(query: Query, described: Described[]): Promise<Recipient[]> {
  const ended = described.filter(({ type }) => type === 'monitor.recovered');
  const incidents = { userIds: ended.map(({ userId }) => userId), incidentIds: ended.map(({ incidentId }) => incidentId ?? 0) };
  const [assigned, states] = await query(selectAssigned({ events: JSON.stringify(described) }), selectTold(incidents));
  const keyOf = ({ position, providerId }: Pick<Recipient, 'position' | 'providerId'>) => `${position} ${providerId}`;
  const recipients = new Map(assigned.map((recipient) => [keyOf(recipient), recipient]));
  const positions = new Map(ended.map(({ incidentId, position }) => [incidentId ?? 0, position]));
  for (const { incidentId, providerId, isTold, isDropped } of states) {
    const recipient = { position: positions.get(incidentId ?? 0) ?? 0, providerId, delaySeconds: 0 };
    if (isDropped) recipients.delete(keyOf(recipient));
    if (isTold) recipients.set(keyOf(recipient), recipient);
  }
  return [...recipients.values()];
}

function* portionsOf<T>(items: T[], size: number): Generator<T[]> {
  for (let start = 0; start < items.length; start += size) yield items.slice(start, start + size);
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
