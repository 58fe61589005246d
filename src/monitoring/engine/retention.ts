import { sql } from 'kysely';
import type { Database } from '../../db/database.ts';
import type { Deletion } from '../../db/retention.ts';
import { prepare } from '../../db/statement.ts';
import { tables } from '../../db/tables.ts';
import type { AlertEntity } from '../alerts/alert.entity.ts';
import type { MessageCountEntity } from '../alerts/message-count.entity.ts';
import type { IncidentEntity } from '../incidents/incident.entity.ts';
import type { CheckHourEntity } from './check-hour.entity.ts';

/** The API lists the incidents of a year, so they are stored for at least 400 days, regardless of RETENTION_DAYS. */
const minIncidentDays = 400;
/** The longest period in which messages are counted is a day. */
const messageCountDays = 2;
/** The log of deliveries has a month. */
const maxAlertDays = 30;
const batchSize = sql.lit(5000);

interface Age {
  days: number;
}

const db = tables<typeof CheckHourEntity | typeof AlertEntity | typeof IncidentEntity | typeof MessageCountEntity>();
const daysAgo = (days: number) => sql<Date>`app_now() - ${days}::integer * interval '1 day'`;

const deleteCheckHours = prepare(({ days }: Age) => {
  const old = db.selectFrom('check_hours').select(['user_id', 'monitor_id', 'hour']).where('hour', '<', daysAgo(days)).limit(batchSize);
  return db
    .deleteFrom('check_hours')
    .where(({ eb, refTuple }) => eb(refTuple('user_id', 'monitor_id', 'hour'), 'in', old.$asTuple('user_id', 'monitor_id', 'hour')))
    .returning('user_id');
});

const deleteAlerts = prepare(({ days }: Age) => {
  // What was said first about an open incident is needed until it is resolved.
  const old = db
    .selectFrom('alerts')
    .select('id')
    .where('status', '<>', sql.lit('queued'))
    .where('done_at', '<', daysAgo(days))
    .where(({ or, not, exists, selectFrom }) =>
      or([
        sql<boolean>`kind = 'monitor.reminder'`,
        not(
          exists(
            selectFrom('incidents')
              .select(sql.lit(1).as('found'))
              .whereRef('incidents.id', '=', 'alerts.incident_id')
              .where('incidents.resolved_at', 'is', null),
          ),
        ),
      ]),
    );
  return db.deleteFrom('alerts').where('id', 'in', old.limit(batchSize)).returning('user_id');
});

const deleteIncidents = prepare(({ days }: Age) => {
  const old = db.selectFrom('incidents').select('id').where('resolved_at', '<', daysAgo(days));
  return db.deleteFrom('incidents').where('id', 'in', old.limit(batchSize)).returning('user_id');
});

const deleteMessageCounts = prepare(({ days }: Age) => {
  const old = db.selectFrom('message_counts').select(['user_id', 'counter', 'period_start']).where('period_start', '<', daysAgo(days));
  return db
    .deleteFrom('message_counts')
    .where(({ eb, refTuple }) =>
      eb(refTuple('user_id', 'counter', 'period_start'), 'in', old.limit(batchSize).$asTuple('user_id', 'counter', 'period_start')),
    )
    .returning('user_id');
});

/** The deletions of old statistics, alerts, incidents and message counts. */
export function monitoringDeletions(database: Database, retentionDays: number): Deletion[] {
  const deletion = (rows: string, deleteOlder: typeof deleteAlerts, days: number): Deletion => ({
    rows,
    deleteBatch: async () => (await database.engineTransaction((query) => query(deleteOlder({ days }))))[0].length,
  });
  return [
    deletion('old statistics', deleteCheckHours, retentionDays),
    deletion('old alerts', deleteAlerts, Math.min(retentionDays, maxAlertDays)),
    deletion('old incidents', deleteIncidents, Math.max(retentionDays, minIncidentDays)),
    deletion('old message counts', deleteMessageCounts, messageCountDays),
  ];
}
