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
import { tellingKinds, wasDroppedInDelay } from './cancel-alerts.ts';
import { mayBeDelivered } from './delivered.ts';

const db = tables<typeof AlertEntity | typeof NotificationEntity | typeof ProviderEntity>();
const now = sql<Date>`app_now()`;

/**
 * The embedded database runs a statement in this process, which responds to nobody else in the meantime. So a statement is about so many
 * events or alerts, and other work gets its turn before the next one.
 */
const eventsAtOnce = 5;
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

/** Who got no alert about an outage that is over, because it was dropped while it had a delay. */
const selectDropped = prepare((given: { events: string }) =>
  db
    .selectFrom(jsonRows(given.events, 'e', eventColumns))
    .innerJoin('alerts as a', (join) =>
      join.onRef('a.user_id', '=', 'e.userId').onRef('a.incident_id', '=', 'e.incidentId').on('a.kind', '=', sql.lit('monitor.down')),
    )
    .where('e.type', '=', sql.lit('monitor.recovered'))
    .where(wasDroppedInDelay('a'))
    .select(['e.position', 'a.provider_id as providerId']),
);

/** Who was told of an outage that is over. An incident can have thousands of reminders, of which one suffices. */
const selectTold = prepare((given: { events: string }) =>
  db
    .selectFrom(jsonRows(given.events, 'e', eventColumns))
    .innerJoin('providers as p', (join) => join.onRef('p.user_id', '=', 'e.userId'))
    .innerJoinLateral(
      (from) =>
        from
          .selectFrom('alerts as a')
          .select(sql.lit(1).as('found'))
          .whereRef('a.user_id', '=', 'e.userId')
          .where('a.incident_id', '=', sql.ref<number>('e.incidentId'))
          .whereRef('a.provider_id', '=', 'p.id')
          .where(
            'a.kind',
            'in',
            tellingKinds.map((kind) => sql.lit(kind)),
          )
          .where(mayBeDelivered('a'))
          // The order is that of the index by incident.
          .orderBy('a.kind')
          .orderBy('a.sequence')
          .limit(sql.lit(1))
          .as('told'),
      (join) => join.onTrue(),
    )
    .where('e.type', '=', sql.lit('monitor.recovered'))
    .select(['e.position', 'p.id as providerId', sql<number>`0`.as('delaySeconds')]),
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
async function findRecipients(query: Query, described: object[]): Promise<Recipient[]> {
  const events = JSON.stringify(described);
  const [assigned, dropped, told] = await query(selectAssigned({ events }), selectDropped({ events }), selectTold({ events }));
  const keyOf = ({ position, providerId }: Pick<Recipient, 'position' | 'providerId'>) => `${position} ${providerId}`;
  const notTold = new Set(dropped.map(keyOf));
  const wanting = assigned.filter((recipient) => !notTold.has(keyOf(recipient)));
  const recipients = new Map([...wanting, ...told].map((recipient) => [keyOf(recipient), recipient]));
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
