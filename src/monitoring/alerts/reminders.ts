// Messages about incidents that are still open. An incident knows when the next one may be due, so that only those are looked at.
import { sql } from 'kysely';
import { jsonRows } from '../../db/json-rows.ts';
import { prepare, type Query } from '../../db/statement.ts';
import { columnsOf, tables } from '../../db/tables.ts';
import { type Incident, IncidentEntity } from '../incidents/incident.entity.ts';
import type { StoredEvent } from '../messages/event.ts';
import type { NotificationEntity } from '../notifications/notification.entity.ts';
import type { ProviderEntity } from '../providers/provider.entity.ts';
import { isSuspended } from '../suspended-users.ts';
import type { AlertEntity } from './alert.entity.ts';
import { incidentEvents } from './alert-events.ts';
import { limitReason } from './message-limits.ts';

/**
 * How many incidents, and about how many assignments, are looked at in one transaction. The embedded database runs it in this process,
 * which responds to nobody else in the meantime.
 */
const atOnce = { incidents: 50, assignments: 50 };
/** The number of users that are visited at most to find incidents. */
const maxVisited = 1000;

/** An assignment with reminders, and the state of its last message about an incident. */
interface Assignment {
  incidentId: number;
  providerId: number;
  everySeconds: number;
  /** The number of the next reminder. */
  sequence: number;
  /** Whether the last message waits to be sent, or was suppressed by a limit in this hour. */
  isWaiting: boolean;
  /** How many seconds are left until the next reminder. */
  secondsLeft: number;
}

const db = tables<typeof AlertEntity | typeof IncidentEntity | typeof NotificationEntity | typeof ProviderEntity>();
const now = sql<Date>`app_now()`;
const anyOf = (ids: number[]) => sql<number>`any (${ids}::bigint[])`;
const isOpen = sql<boolean>`(i.resolved_at is null and i.acknowledged_at is null)`;
const seconds = (column: string) => sql<Date>`${sql.ref(column)} * interval '1 second'`;

/** The first reminder follows this long after the alert, which may have a delay. */
export const firstReminderAt = (monitor: string) =>
  db
    .selectFrom('notifications as n')
    .select(sql<Date | null>`min(${now} + ${seconds('n.delay_seconds')} + ${seconds('n.remind_every_seconds')})`.as('at'))
    .whereRef('n.user_id', '=', sql.ref<number>(`${monitor}.user_id`))
    .whereRef('n.monitor_id', '=', sql.ref<number>(`${monitor}.id`))
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

/** Finds the users whose incidents may be due, by jumping from one to the next in the index. */
const selectUsers = prepare(({ afterUserId }: { afterUserId: number }) => {
  const ofPlanned = db.selectFrom('incidents as i').select('i.user_id').where('i.remind_at', 'is not', null).where(isOpen);
  const next = ofPlanned.orderBy('i.user_id').limit(sql.lit(1));
  return db
    .withRecursive('visited(user_id)', (recursive) =>
      recursive
        .selectFrom(next.where('i.user_id', '>', afterUserId).as('first'))
        .select(sql<number | null>`user_id`.as('user_id'))
        .where(({ exists }) => exists(ofPlanned.where('i.remind_at', '<=', now)))
        .unionAll(
          recursive
            .selectFrom('visited as v')
            .where('v.user_id', 'is not', null)
            .select(next.where('i.user_id', '>', sql.ref<number>('v.user_id')).as('user_id')),
        ),
    )
    .selectFrom('visited')
    .select(sql<number>`user_id`.as('userId'))
    .where('user_id', 'is not', null)
    .where(sql<boolean>`not ${isSuspended('user_id')}`)
    .limit(sql.lit(maxVisited));
});

/**
 * Takes turns among the users, and begins with what has waited longest. The condition is repeated, because another process may have
 * looked at an incident in the meantime.
 */
const claimIncidents = prepare(({ userIds }: { userIds: number[] }) => {
  const due = db
    .selectFrom(sql<{ id: number }>`unnest(${userIds}::bigint[])`.as<'u'>(sql`u (id)`))
    .innerJoinLateral(
      (from) =>
        from
          .selectFrom('incidents as i')
          .select(['i.id', 'i.user_id', 'i.monitor_id', 'i.remind_at'])
          .select(sql<number>`row_number() over (order by i.remind_at)`.as('turn'))
          .whereRef('i.user_id', '=', 'u.id')
          .where('i.remind_at', '<=', now)
          .where(isOpen)
          .orderBy('i.remind_at')
          .limit(sql.lit(atOnce.incidents))
          .as('d'),
      (join) => join.onTrue(),
    )
    .select(['d.id', 'd.user_id', 'd.monitor_id', 'd.remind_at', 'd.turn'])
    .orderBy('d.turn')
    .orderBy('d.remind_at')
    .limit(sql.lit(atOnce.incidents));
  const counted = db
    .selectFrom(due.as('d'))
    .leftJoin('notifications as n', (join) =>
      join.onRef('n.user_id', '=', 'd.user_id').onRef('n.monitor_id', '=', 'd.monitor_id').on('n.remind_every_seconds', 'is not', null),
    )
    .groupBy(['d.id', 'd.turn', 'd.remind_at'])
    .select(['d.id', sql<number>`sum(count(n.provider_id)) over (order by d.turn, d.remind_at, d.id) - count(n.provider_id)`.as('before')]);
  const chosen = db.selectFrom(counted.as('c')).select('c.id').where('c.before', '<', sql.lit(atOnce.assignments));
  return db
    .selectFrom('incidents as i')
    .select(columnsOf(IncidentEntity).map((column) => `i.${column}`) as 'i.id'[])
    .$castTo<Incident>()
    .where('i.id', 'in', chosen)
    .where('i.remind_at', '<=', now)
    .where(isOpen)
    .forUpdate()
    .skipLocked();
});

/** Reminders count from the last message about the incident to the same provider, or from the assignment if there was none. */
const selectAssignments = prepare(({ incidentIds }: { incidentIds: number[] }) =>
  db
    .selectFrom('incidents as i')
    .innerJoin('notifications as n', (join) =>
      join.onRef('n.user_id', '=', 'i.user_id').onRef('n.monitor_id', '=', 'i.monitor_id').on('n.enabled', '=', sql.lit(true)),
    )
    .leftJoinLateral(
      (from) =>
        from
          .selectFrom('alerts as a')
          .select(['a.status', 'a.sequence', 'a.queued_at', 'a.done_at', 'a.last_error'])
          .whereRef('a.user_id', '=', 'i.user_id')
          .whereRef('a.incident_id', '=', 'i.id')
          .whereRef('a.provider_id', '=', 'n.provider_id')
          // A reminder has a greater kind than the alert before it. So the index finds the last message.
          .orderBy('a.kind', 'desc')
          .orderBy('a.sequence', 'desc')
          .limit(sql.lit(1))
          .as('last'),
      (join) => join.onTrue(),
    )
    .where('i.id', '=', anyOf(incidentIds))
    .where('n.remind_every_seconds', 'is not', null)
    .select(['i.id as incidentId', 'n.provider_id as providerId'])
    .select([
      sql<number>`n.remind_every_seconds`.as('everySeconds'),
      sql<number>`coalesce(last.sequence, 0) + 1`.as('sequence'),
      sql<boolean>`(last.status is not distinct from 'queued'
        or last.status = 'suppressed' and last.last_error like ${sql.lit(`${limitReason} %`)} and last.done_at >= date_trunc('hour', ${now}, 'UTC')) is true`.as(
        'isWaiting',
      ),
      sql<number>`extract(epoch from coalesce(last.queued_at, greatest(i.started_at, n.created_at)) - ${now})::float8
        + n.remind_every_seconds`.as('secondsLeft'),
    ]),
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
        // A provider can be deleted meanwhile.
        .innerJoin('providers as p', (join) => join.onRef('p.user_id', '=', 'e.userId').onRef('p.id', '=', 'd.providerId'))
        .forKeyShare('p')
        .select(['p.user_id', 'd.incidentId', 'p.id', sql.lit<'monitor.reminder'>('monitor.reminder').as('kind'), 'd.sequence'])
        .select(sql<StoredEvent>`e.event`.as('payload')),
    ),
);

/** Sets when each incident is looked at again. Without assignments that is never. */
const planNext = prepare((given: { plans: string }) =>
  db
    .updateTable('incidents as i')
    .from(jsonRows(given.plans, 'p', { incidentId: 'bigint', seconds: 'integer' }))
    .set({ remind_at: sql`${now} + p.seconds * interval '1 second'` })
    .whereRef('i.id', '=', 'p.incidentId'),
);

/**
 * Queues reminders that are due, of the users after `afterUserId`. Returns whether more may be due, and where the search for users
 * continues.
 */
export async function queueReminders(query: Query, afterUserId: number): Promise<{ hasMore: boolean; continueAfter: number }> {
  const [users] = await query(selectUsers({ afterUserId }));
  const userIds = users.map(({ userId }) => userId);
  const continueAfter = userIds.length === maxVisited ? Math.max(...userIds) : 0;
  const hasMore = userIds.length > 0 && (await queuePortion(query, userIds));
  return { hasMore: hasMore || continueAfter !== afterUserId, continueAfter };
}

/** Returns whether anything was due. */
async function queuePortion(query: Query, userIds: number[]): Promise<boolean> {
  const [incidents] = await query(claimIncidents({ userIds }));
  if (incidents.length === 0) return false;
  const incidentIds = incidents.map(({ id }) => id);
  const [assignments] = await query(selectAssignments({ incidentIds }));
  const due = assignments.filter(isDue);
  const about = incidents.filter(({ id }) => due.some(({ incidentId }) => incidentId === id));
  if (about.length > 0) {
    const events = await incidentEvents(query, 'monitor.reminder', about);
    await query(insertReminders({ due: JSON.stringify(due), events: JSON.stringify(events) }));
  }
  const byIncident = Map.groupBy(assignments, ({ incidentId }) => incidentId);
  const plans = incidentIds.map((incidentId) => ({ incidentId, seconds: nextSeconds(byIncident.get(incidentId) ?? []) }));
  await query(planNext({ plans: JSON.stringify(plans) }));
  return true;
}

/** While a message waits to be sent, none follows. */
function isDue({ isWaiting, secondsLeft }: Assignment): boolean {
  return secondsLeft <= 0 && !isWaiting;
}

/** How long to wait for the next reminder, if there is one. */
function nextSeconds(assignments: Assignment[]): number | null {
  const waits = assignments.map(({ secondsLeft, everySeconds }) => (secondsLeft > 0 ? Math.ceil(secondsLeft) : everySeconds));
  return waits.length === 0 ? null : Math.min(...waits);
}
