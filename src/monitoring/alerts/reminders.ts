// Messages about incidents that are still open. An incident knows when the next one may be due, so that only those are looked at.
import { sql } from 'kysely';
import { jsonRows } from '../../db/json-rows.ts';
import { prepare, type Query } from '../../db/statement.ts';
import { columnsOf, tables } from '../../db/tables.ts';
import { type Incident, IncidentEntity } from '../incidents/incident.entity.ts';
import type { StoredEvent } from '../messages/event.ts';
import type { NotificationEntity } from '../notifications/notification.entity.ts';
import { isSuspended } from '../suspended-users.ts';
import type { AlertEntity } from './alert.entity.ts';
import { incidentEvents } from './alert-events.ts';

/** How many incidents are looked at in one transaction. */
const maxIncidents = 200;

interface DueReminder {
  incidentId: number;
  providerId: number;
  sequence: number;
}

const db = tables<typeof AlertEntity | typeof IncidentEntity | typeof NotificationEntity>();
const now = sql<Date>`app_now()`;
const anyOf = (ids: number[]) => sql<number>`any (${ids}::bigint[])`;
const seconds = (column: string) => sql<Date>`${sql.ref(column)} * interval '1 second'`;

/** The first reminder follows this long after the alert, which may have a delay. */
export const firstReminderAt = (monitorId: string) =>
  db
    .selectFrom('notifications as n')
    .select(sql<Date | null>`min(${now} + ${seconds('n.delay_seconds')} + ${seconds('n.remind_every_seconds')})`.as('at'))
    .whereRef('n.monitor_id', '=', sql.ref<number>(monitorId))
    .where('n.enabled', '=', sql.lit(true))
    .where('n.remind_every_seconds', 'is not', null);

/** The assignments of these monitors have changed: it is looked up when the next reminders of their open incidents are due. */
export const planReminders = prepare(({ monitorIds }: { monitorIds: number[] }) =>
  db
    .updateTable('incidents as i')
    .set({ remind_at: now })
    .where('i.monitor_id', '=', anyOf(monitorIds))
    .where('i.resolved_at', 'is', null)
    .where('i.acknowledged_at', 'is', null)
    .where(({ exists, selectFrom }) =>
      exists(
        selectFrom('notifications as n')
          .select(sql.lit(1).as('found'))
          .whereRef('n.monitor_id', '=', 'i.monitor_id')
          .where('n.remind_every_seconds', 'is not', null),
      ),
    ),
);

const claimIncidents = prepare(() =>
  db
    .selectFrom('incidents')
    .select(columnsOf(IncidentEntity) as 'id'[])
    .$castTo<Incident>()
    .where('remind_at', '<=', now)
    .where('resolved_at', 'is', null)
    .where('acknowledged_at', 'is', null)
    .where(sql<boolean>`not ${isSuspended('user_id')}`)
    .orderBy('remind_at')
    .limit(sql.lit(maxIncidents))
    .forUpdate()
    .skipLocked(),
);

/**
 * The reminders of these incidents, with the time of each. They count from the last message about the incident to the same provider,
 * or from the assignment if there was none. A message that waits to be sent is followed by none.
 */
const reminders = (incidentIds: number[]) =>
  db
    .selectFrom('incidents as i')
    .innerJoin('notifications as n', (join) =>
      join.onRef('n.user_id', '=', 'i.user_id').onRef('n.monitor_id', '=', 'i.monitor_id').on('n.enabled', '=', sql.lit(true)),
    )
    .leftJoinLateral(
      (from) =>
        from
          .selectFrom('alerts as a')
          .select(['a.status', 'a.sequence', 'a.queued_at'])
          .whereRef('a.user_id', '=', 'i.user_id')
          .whereRef('a.incident_id', '=', 'i.id')
          .whereRef('a.provider_id', '=', 'n.provider_id')
          .orderBy('a.id', 'desc')
          .limit(sql.lit(1))
          .as('last'),
      (join) => join.onTrue(),
    )
    .where('i.id', '=', anyOf(incidentIds))
    .where('n.remind_every_seconds', 'is not', null)
    .select(['i.id as incidentId', 'n.provider_id as providerId'])
    .select([
      sql<number>`coalesce(last.sequence, 0) + 1`.as('sequence'),
      sql<boolean>`last.status is not distinct from 'queued'`.as('isWaiting'),
      sql<number>`n.remind_every_seconds`.as('everySeconds'),
      sql<Date>`coalesce(last.queued_at, greatest(i.started_at, n.created_at)) + ${seconds('n.remind_every_seconds')}`.as('at'),
    ]);

const selectDue = prepare(({ incidentIds }: { incidentIds: number[] }) =>
  db
    .selectFrom(reminders(incidentIds).as('r'))
    .select(['r.incidentId', 'r.providerId', 'r.sequence'])
    .where('r.at', '<=', now)
    .where('r.isWaiting', '=', sql.lit(false)),
);

const insertReminders = prepare((given: { due: string; events: string }) =>
  db
    .insertInto('alerts')
    .columns(['user_id', 'incident_id', 'provider_id', 'kind', 'sequence', 'payload'])
    .expression(
      db
        .selectFrom(jsonRows(given.due, 'd', { incidentId: 'bigint', providerId: 'bigint', sequence: 'integer' }))
        .innerJoin(jsonRows(given.events, 'e', { userId: 'bigint', incidentId: 'bigint', event: 'jsonb' }), (join) =>
          join.onRef('e.incidentId', '=', 'd.incidentId'),
        )
        .select(['e.userId', 'd.incidentId', 'd.providerId', sql.lit<'monitor.reminder'>('monitor.reminder').as('kind'), 'd.sequence'])
        .select(sql<StoredEvent>`e.event`.as('payload')),
    ),
);

/** After the reminders that are due were queued, each incident is looked at again when the next one is due. */
const planNext = prepare(({ incidentIds }: { incidentIds: number[] }) =>
  db
    .updateTable('incidents as i')
    .set({
      remind_at: db
        .selectFrom(reminders(incidentIds).as('r'))
        .select(sql<Date | null>`min(greatest(r.at, case when r."isWaiting" then ${now} + ${seconds('r.everySeconds')} end))`.as('at'))
        .whereRef('r.incidentId', '=', sql.ref<number>('i.id')),
    })
    .where('i.id', '=', anyOf(incidentIds)),
);

/** Queues the reminders that are due. Returns whether more may be due. */
export async function queueReminders(query: Query): Promise<boolean> {
  const [incidents] = await query(claimIncidents({}));
  if (incidents.length === 0) return false;
  const incidentIds = incidents.map(({ id }) => id);
  const [due] = await query(selectDue({ incidentIds }));
  const reminded = new Set(due.map(({ incidentId }: DueReminder) => incidentId));
  const about = incidents.filter(({ id }) => reminded.has(id));
  if (about.length > 0) {
    const events = await incidentEvents(query, 'monitor.reminder', about);
    await query(insertReminders({ due: JSON.stringify(due), events: JSON.stringify(events) }));
  }
  await query(planNext({ incidentIds }));
  return incidents.length === maxIncidents;
}

/** Drops the reminders of incidents that wait to be sent, because they are acknowledged or resolved. */
export const cancelReminders = prepare((given: { incidentIds: number[]; reason: string }) =>
  db
    .updateTable('alerts')
    .set({ status: sql.lit('suppressed'), done_at: now, last_error: given.reason })
    .where('incident_id', '=', anyOf(given.incidentIds))
    .where('kind', '=', sql.lit('monitor.reminder'))
    .where('status', '=', sql.lit('queued'))
    .where('lease_token', 'is', null),
);
