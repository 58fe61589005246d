import { sql } from 'kysely';
import { prepare, type Query } from '../../db/statement.ts';
import { tables } from '../../db/tables.ts';
import { downMessage, recoveredMessage } from '../alerts/alert-messages.ts';
import { queueAlerts } from '../alerts/outbox.ts';
import type { IncidentEntity } from '../incidents/incident.entity.ts';
import type { MonitorEntity } from '../monitors/monitor.entity.ts';

const db = tables<typeof MonitorEntity | typeof IncidentEntity>();
const anyOf = (ids: number[]) => sql<number>`any (${ids}::bigint[])`;

const insertIncidents = prepare(({ monitorIds }: { monitorIds: number[] }) =>
  db
    .with('opened', (cte) =>
      cte
        .insertInto('incidents')
        .columns(['user_id', 'monitor_id', 'started_at', 'cause', 'status_code'])
        .expression(
          db
            .selectFrom('monitors')
            .select(['user_id', 'id', 'first_failed_at', 'first_cause', 'first_status_code'])
            .where('id', '=', anyOf(monitorIds)),
        )
        .onConflict((conflict) => conflict.columns(['user_id', 'monitor_id']).where('resolved_at', 'is', null).doNothing())
        .returning(['id', 'user_id', 'monitor_id', 'cause', 'started_at']),
    )
    .selectFrom('opened as i')
    .innerJoin('monitors as m', 'm.id', 'i.monitor_id')
    .select(['i.id as incidentId', 'i.user_id as userId', 'i.monitor_id as monitorId', 'i.cause', 'i.started_at as startedAt'])
    .select(['m.friendly_name as name', 'm.url']),
);

const updateIncidents = prepare(({ monitorIds }: { monitorIds: number[] }) =>
  db
    .updateTable('incidents as i')
    .from('monitors as m')
    .set({ resolved_at: sql`greatest(m.last_checked_at, i.started_at)` })
    .where('i.monitor_id', '=', anyOf(monitorIds))
    .where('i.resolved_at', 'is', null)
    .whereRef('m.id', '=', 'i.monitor_id')
    .returning(['i.id as incidentId', 'i.user_id as userId', 'i.monitor_id as monitorId', 'i.cause', 'i.started_at as startedAt'])
    .returning([sql<Date>`i.resolved_at`.as('resolvedAt'), 'm.friendly_name as name', 'm.url']),
);

/** Opens an incident for each of these monitors, unless one is open, and queues alerts. Returns the number of alerts. */
export async function openIncidents(query: Query, monitorIds: number[]): Promise<number> {
  if (monitorIds.length === 0) return 0;
  const [opened] = await query(insertIncidents({ monitorIds }));
  return queueAlerts(
    query,
    'down',
    opened.map((incident) => ({ ...keysOf(incident), ...downMessage(incident) })),
  );
}

/** Resolves the open incidents of these monitors and queues alerts. Returns the number of alerts. */
export async function resolveIncidents(query: Query, monitorIds: number[]): Promise<number> {
  if (monitorIds.length === 0) return 0;
  const [resolved] = await query(updateIncidents({ monitorIds }));
  return queueAlerts(
    query,
    'recovered',
    resolved.map((incident) => ({ ...keysOf(incident), ...recoveredMessage(incident) })),
  );
}

function keysOf({ userId, monitorId, incidentId }: { userId: number; monitorId: number; incidentId: number }) {
  return { userId, monitorId, incidentId };
}
