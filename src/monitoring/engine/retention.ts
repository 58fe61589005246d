import type { Logger } from 'pino';
import type { Database } from '../../db/database.ts';

const intervalMs = 60 * 60 * 1000;
/** The API lists the incidents of a year, so they are stored for at least 400 days, regardless of RETENTION_DAYS. */
const minIncidentDays = 400;
/** The longest period in which messages are counted is a day. */
const messageCountDays = 2;
const batchSize = 5000;

/** Deletes old statistics, alerts, incidents and message counts every hour, in batches, so that no lock is held for long. */
export function startRetention(database: Database, days: number, log: Logger): () => void {
  const deletions = [
    [
      `delete from check_hours where (user_id, monitor_id, hour) in
        (select user_id, monitor_id, hour from check_hours where hour < now() - ? * interval '1 day' limit ${batchSize})`,
      days,
    ],
    [
      `delete from alerts where id in
        (select id from alerts where status <> 'pending' and done_at < now() - ? * interval '1 day' limit ${batchSize})`,
      days,
    ],
    [
      `delete from incidents where id in (select id from incidents where resolved_at < now() - ? * interval '1 day' limit ${batchSize})`,
      Math.max(days, minIncidentDays),
    ],
    [
      `delete from message_counts where (user_id, counter, period_start) in
        (select user_id, counter, period_start from message_counts where period_start < now() - ? * interval '1 day' limit ${batchSize})`,
      messageCountDays,
    ],
  ] as const;
  const deleteOldRows = async () => {
    try {
      for (const [sql, age] of deletions) {
        let deleted = batchSize;
        while (deleted === batchSize) {
          const { affectedRows } = await database.asEngine((em) => em.execute<{ affectedRows: number }>(sql, [age], 'run'));
          deleted = affectedRows;
        }
      }
    } catch (error) {
      log.warn({ err: error }, 'Deleting old rows failed; it will be retried');
    }
  };
  const timer = setInterval(() => void deleteOldRows(), intervalMs);
  void deleteOldRows();
  return () => clearInterval(timer);
}
