import { setImmediate as nextTurn } from 'node:timers/promises';
import { type SelectQueryBuilder, sql } from 'kysely';
import type { BatchJob } from '../../db/batch-jobs.ts';
import type { Database } from '../../db/database.ts';
import { prepare, type Statement } from '../../db/statement.ts';
import { tables } from '../../db/tables.ts';
import type { AlertEntity } from '../alerts/alert.entity.ts';
import { firstReminders } from '../alerts/delivered.ts';
import type { MessageCountEntity } from '../alerts/message-count.entity.ts';
import type { IncidentEntity } from '../incidents/incident.entity.ts';
import type { ProviderEntity } from '../providers/provider.entity.ts';
import { emptyExpiredSlots } from '../statistics/expired-slots.ts';

/** The API lists the incidents of a year, so they are stored for at least 400 days, regardless of RETENTION_DAYS. */
const minIncidentDays = 400;
/** The longest period in which messages are counted is a day. */
const messageCountDays = 2;
/** The log of deliveries has a month, and so many alerts of each provider. */
const maxAlertDays = 30;
const maxAlertsPerProvider = 10_000;
const providersAtOnce = 20;
/** The embedded database deletes so many in about 50 ms, in which this process responds to nobody. */
const batchSize = sql.lit(1000);

interface Age {
  days: number;
}

const db = tables<typeof AlertEntity | typeof IncidentEntity | typeof MessageCountEntity | typeof ProviderEntity>();
const daysAgo = (days: number) => sql<Date>`app_now() - ${days}::integer * interval '1 day'`;

/**
 * What was said first about an open incident is needed until it is resolved, and what was said about a certificate until it is replaced,
 * which is soon after it has expired.
 */
const isDeletable = sql<boolean>`(a.status <> 'queued'
  and (a.kind = 'monitor.reminder' and a.sequence > ${sql.lit(firstReminders)} or not exists (select from incidents as i
    where i.user_id = a.user_id and i.id = a.incident_id and i.resolved_at is null))
  and (a.kind not in ('monitor.tls_expiring', 'monitor.tls_renewed')
    or coalesce(a.payload ->> 'replacedExpiry', a.payload #>> '{data,monitor,tls_expires_at}')::timestamptz < app_now() - interval '30 days'))`;

/** One may have been queued again meanwhile. */
function deleteEnded(ids: SelectQueryBuilder<never, never, { id: number }>) {
  return db.deleteFrom('alerts').where('id', 'in', ids).where('status', '<>', sql.lit('queued')).returning('user_id');
}

const deleteAlerts = prepare(({ days }: Age) => {
  const old = db.selectFrom('alerts as a').select('a.id').where('a.status', '<>', sql.lit('queued')).where('a.done_at', '<', daysAgo(days));
  return deleteEnded(old.where(isDeletable).limit(batchSize));
});

const selectNextProvider = prepare(({ afterId }: { afterId: number }) =>
  db.selectFrom('providers').select('id').where('id', '>', afterId).orderBy('id').limit(sql.lit(1)),
);

const deleteExcessAlerts = prepare(({ providerId, maximum }: { providerId: number; maximum: number }) => {
  const excess = db
    .selectFrom('providers as p')
    .innerJoinLateral(
      (from) =>
        from
          .selectFrom('alerts as a')
          .select('a.id')
          .whereRef('a.user_id', '=', 'p.user_id')
          .whereRef('a.provider_id', '=', 'p.id')
          .orderBy('a.id', 'desc')
          .offset(maximum)
          .limit(sql.lit(1))
          .as('newest'),
      (join) => join.onTrue(),
    )
    .innerJoin('alerts as a', (join) =>
      join.onRef('a.user_id', '=', 'p.user_id').onRef('a.provider_id', '=', 'p.id').onRef('a.id', '<=', 'newest.id'),
    )
    .where('p.id', '=', providerId)
    .select('a.id')
    .where(isDeletable)
    .limit(batchSize);
  return deleteEnded(excess);
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
export function monitoringDeletions(database: Database, retentionDays: number): BatchJob[] {
  const deletion = (name: string, statement: Statement): BatchJob => ({
    name,
    runBatch: async () => (await database.engineTransaction((query) => query(statement)))[0].length,
  });
  return [
    emptyExpiredSlots(database, retentionDays),
    deletion('Deleting old alerts', deleteAlerts({ days: Math.min(retentionDays, maxAlertDays) })),
    { name: 'Deleting alerts of busy providers', runBatch: deletionOfExcess(database) },
    deletion('Deleting old incidents', deleteIncidents({ days: Math.max(retentionDays, minIncidentDays) })),
    deletion('Deleting old message counts', deleteMessageCounts({ days: messageCountDays })),
  ];
}

/** Looks at one provider after the other, because counting the alerts of a busy one takes some time. */
function deletionOfExcess(database: Database): () => Promise<number> {
  let afterId = 0;
  return async () => {
    for (let count = 1; count <= providersAtOnce; count++) {
      const [[provider]] = await database.engineTransaction((query) => query(selectNextProvider({ afterId })));
      afterId = provider?.id ?? 0;
      if (!provider) return 0;
      const statement = deleteExcessAlerts({ providerId: provider.id, maximum: maxAlertsPerProvider });
      const [deleted] = await database.engineTransaction((query) => query(statement));
      if (deleted.length > 0) {
        afterId = provider.id - 1; // There may be more.
        return deleted.length;
      }
      await nextTurn();
    }
    return providersAtOnce;
  };
}
