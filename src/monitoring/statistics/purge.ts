import { sql } from 'kysely';
import type { BatchJob } from '../../db/batch-jobs.ts';
import type { Database } from '../../db/database.ts';
import { prepare, type Query } from '../../db/statement.ts';
import { tables } from '../../db/tables.ts';
import { addCounts } from './aggregate.ts';
import type { CheckLogEntity } from './check-log.entity.ts';
import {
  type ChunkTable,
  dayChunks,
  hourChunks,
  type StoredChunk,
  type Subject,
  selectChunks,
  toChunk,
  totalsId,
  writeChunks,
} from './chunk-rows.ts';
import type { DeletedMonitorEntity } from './deleted-monitor.entity.ts';
import { hourMs, rings, startOfHour } from './periods.ts';
import { lockProgress, startProgress } from './progress.ts';

/** The history of so many monitors is deleted in about 20 ms on the embedded database. */
const batchSize = 5;

const db = tables<typeof DeletedMonitorEntity | typeof CheckLogEntity>();

const takeDeleted = prepare(() => {
  const some = db.selectFrom('deleted_monitors').select(['user_id', 'monitor_id']).limit(sql.lit(batchSize));
  return db
    .deleteFrom('deleted_monitors')
    .where(({ eb, refTuple }) => eb(refTuple('user_id', 'monitor_id'), 'in', some.$asTuple('user_id', 'monitor_id')))
    .returning(['user_id as userId', 'monitor_id as monitorId']);
});

const deleteLogs = prepare((given: Subject & { hours: string[] }) =>
  db
    .deleteFrom('check_logs')
    .where('user_id', '=', given.userId)
    .where('monitor_id', '=', given.monitorId)
    .where('hour', '=', sql<Date>`any (${given.hours}::timestamptz[])`),
);

/** Deletes the history of deleted monitors, and takes it from the sums of their users. */
export function purgeDeletedMonitors(database: Database): BatchJob {
  return {
    name: 'Deleting the history of deleted monitors',
    runBatch: () =>
      database.engineTransaction(async (query) => {
        const [, [progress], deleted] = await query(startProgress({}), lockProgress({}), takeDeleted({}));
        for (const subject of deleted) {
          for (const table of [hourChunks, dayChunks]) await purgeChunks(query, table, subject);
          await query(deleteLogs({ ...subject, hours: loggedHours(progress?.nowMs ?? 0) }));
        }
        return deleted.length;
      }),
  };
}

async function purgeChunks(query: Query, table: ChunkTable, subject: Subject): Promise<void> {
  const [rows] = await query(table.delete(subject));
  if (subject.monitorId === totalsId || rows.length === 0) return;
  const chunks = rows.map(toChunk);
  const totals = { userId: subject.userId, monitorId: totalsId };
  const startsMs = chunks.map(({ startMs }) => startMs);
  const [stored] = await query(selectChunks(table, [totals], startsMs));
  await writeChunks(
    query,
    table,
    stored.map(toChunk).map((total) =>
      subtract(
        total,
        chunks.find(({ startMs }) => startMs === total.startMs),
      ),
    ),
  );
}

function subtract(total: StoredChunk, taken: StoredChunk | undefined): StoredChunk {
  const chunk = new Map(total.chunk);
  for (const [number, value] of taken?.chunk ?? []) {
    const sum = chunk.get(number);
    if (sum) chunk.set(number, addCounts(sum, value, -1));
  }
  return { ...total, chunk };
}

/** All hours that logs are kept for, and the next one, because the clock may have been moved back. */
function loggedHours(nowMs: number): string[] {
  const count = rings.check_logs.slots * 24 + 1;
  return Array.from({ length: count }, (_, index) => new Date(startOfHour(nowMs) + (2 - count + index) * hourMs).toISOString());
}
