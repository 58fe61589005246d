import { sql } from 'kysely';
import { prepare, type Query } from '../../db/statement.ts';
import { columnsOf, tables } from '../../db/tables.ts';
import { incidentEvents } from '../alerts/alert-events.ts';
import { cancelAlertsOf } from '../alerts/cancel-alerts.ts';
import { queueAlerts } from '../alerts/outbox.ts';
import { firstReminderAt } from '../alerts/reminders.ts';
import { type Incident, IncidentEntity } from '../incidents/incident.entity.ts';
import type { MonitorEntity } from '../monitors/monitor.entity.ts';

const db = tables<typeof MonitorEntity | typeof IncidentEntity>();
const anyOf = (ids: number[]) => sql<number>`any (${ids}::bigint[])`;

const incidentColumns = columnsOf(IncidentEntity) as 'id'[];

const insertIncidents = prepare(({ monitorIds }: { monitorIds: number[] }) =>
  db
    .insertInto('incidents')
    .columns(['user_id', 'monitor_id', 'started_at', 'cause', 'status_code', 'remind_at'])
    .expression(
      db
        .selectFrom('monitors')
        .select(['user_id', 'id', 'first_failed_at', 'first_cause', 'first_status_code'])
        .select(firstReminderAt('monitors').as('remind_at'))
        .where('id', '=', anyOf(monitorIds)),
    )
    .onConflict((conflict) => conflict.columns(['user_id', 'monitor_id']).where('resolved_at', 'is', null).doNothing())
    .returning(incidentColumns)
    .$castTo<Incident>(),
);

const updateIncidents = prepare(({ monitorIds }: { monitorIds: number[] }) =>
  db
    .updateTable('incidents as i')
    .from('monitors as m')
    .set({ resolved_at: sql`greatest(m.last_checked_at, i.started_at)` })
    .where('i.monitor_id', '=', anyOf(monitorIds))
    .where('i.resolved_at', 'is', null)
    .whereRef('m.id', '=', 'i.monitor_id')
    .returning(columnsOf(IncidentEntity).map((column) => `i.${column}`) as 'i.id'[])
    .$castTo<Incident>(),
);

/** Opens an incident for each of these monitors, unless one is open, and queues alerts. Returns the number of alerts. */
export async function openIncidents(query: Query, monitorIds: number[]): Promise<number> {
  if (monitorIds.length === 0) return 0;
  const [opened] = await query(insertIncidents({ monitorIds }));
  return opened.length === 0 ? 0 : queueAlerts(query, await incidentEvents(query, 'monitor.down', opened));
}

/** Resolves the open incidents of these monitors and queues alerts. Returns the number of alerts. */
export async function resolveIncidents(query: Query, monitorIds: number[]): Promise<number> {
  if (monitorIds.length === 0) return 0;
  const [resolved] = await query(updateIncidents({ monitorIds }));
  if (resolved.length === 0) return 0;
  const ended = { userIds: resolved.map(({ userId }) => userId), incidentIds: resolved.map(({ id }) => id) };
  await query(...cancelAlertsOf(ended, 'resolved'));
  return queueAlerts(query, await incidentEvents(query, 'monitor.recovered', resolved));
}
