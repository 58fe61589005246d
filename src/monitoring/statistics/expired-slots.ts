import { setTimeout as delay } from 'node:timers/promises';
import { type RawBuilder, sql } from 'kysely';
import type { BatchJob } from '../../db/batch-jobs.ts';
import type { Database } from '../../db/database.ts';
import { hasCode } from '../../db/rows.ts';
import { prepare } from '../../db/statement.ts';
import { dayMs, hourMs, rings, startOfDay, startOfMonth, startOfWeek } from './periods.ts';
import { selectProgress } from './progress.ts';

const hoursKeptMs = 35 * dayMs;
const checksKeptMs = 48 * hourMs;
/** More would not fit into the ring. */
const maxDays = 400;

/** While a transaction uses a partition, the attempt is repeated after a pause, and then with the next run. */
const attempts = 20;
const pauseMs = 100;

interface Ring {
  table: keyof typeof rings;
  startOf(ms: number): number;
}

/**
 * Truncates the partitions whose rows have all expired. Which ones they are follows from the clock alone: of the periods that share a
 * slot, the last one that has begun is the only one whose rows can be there.
 */
export function emptyExpiredSlots(database: Database, retentionDays: number): BatchJob {
  const daysKeptMs = Math.min(retentionDays, maxDays) * dayMs;
  return {
    name: 'Deleting old statistics',
    async runBatch() {
      const [[progress]] = await database.engineTransaction((query) => query(selectProgress({})));
      if (!progress) return 0;
      const { hourMs: rolledUntilMs, nowMs } = progress;
      // Checks are needed until their hour was rolled up.
      const logsEndMs = Math.min(nowMs - checksKeptMs, rolledUntilMs);
      const expired = [
        ...expiredSlots({ table: 'check_logs', startOf: startOfDay }, nowMs, logsEndMs),
        ...expiredSlots({ table: 'hour_statistics', startOf: startOfWeek }, nowMs, nowMs - hoursKeptMs),
        ...expiredSlots({ table: 'day_statistics', startOf: startOfMonth }, nowMs, nowMs - daysKeptMs),
      ];
      for (const partition of expired) await emptyPartition(database, partition);
      return 0;
    },
  };
}

/** The partitions whose newest possible period has ended by then. */
function expiredSlots({ table, startOf }: Ring, nowMs: number, endMs: number): string[] {
  const { slots, slotOf } = rings[table];
  const expired: string[] = [];
  let periodEndMs = startOf(nowMs); // The present period has not ended, so the one before it comes first.
  for (let slot = 1; slot < slots; slot++) {
    const startMs = startOf(periodEndMs - 1);
    if (periodEndMs <= endMs) expired.push(`${table}_${slotOf(startMs)}`);
    periodEndMs = startMs;
  }
  return expired;
}

/** Only TRUNCATE gives the space back at once. It is not needed if the partition is empty. */
async function emptyPartition(database: Database, partition: string): Promise<void> {
  const table = sql.table(partition);
  const [[found]] = await database.engineTransaction((query) => query(toStatement(sql`select from ${table} limit 1`)));
  if (!found) return;
  for (let attempt = 1; attempt <= attempts && !(await tryToTruncate(database, table)); attempt++) await delay(pauseMs);
}

/** Waiting for a transaction that uses the partition would hold up those that come after it. Returns whether there was none. */
async function tryToTruncate(database: Database, table: RawBuilder<unknown>): Promise<boolean> {
  try {
    const lock = toStatement(sql`lock table ${table} in access exclusive mode nowait`);
    await database.engineTransaction((query) => query(lock, toStatement(sql`truncate ${table}`)));
    return true;
  } catch (error) {
    if (hasCode(error, lockNotAvailable)) return false;
    throw error;
  }
}

const lockNotAvailable = '55P03';

/** The names of partitions are few, so there are few statements to compile. */
function toStatement(text: RawBuilder<unknown>) {
  return prepare(() => text)({});
}
