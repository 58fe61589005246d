import { sql } from 'kysely';
import { jsonRows } from '../../db/json-rows.ts';
import { prepare, type Query } from '../../db/statement.ts';
import { tables } from '../../db/tables.ts';
import { type Chunk, decodeChunk, encodeChunk } from './chunk.ts';
import type { DayStatisticsEntity } from './day-statistics.entity.ts';
import type { HourStatisticsEntity } from './hour-statistics.entity.ts';
import { hourMs, rings, startOfDay, startOfHour, startOfMonth } from './periods.ts';

/** A monitor, or with the monitor 0 all monitors of a user. */
export interface Subject {
  userId: number;
  monitorId: number;
}

export const totalsId = 0;

interface Wanted {
  /** Rows of `user_id` and `monitor_id`, as JSON. */
  subjects: string;
  /** The starts of days or months, as dates. */
  periods: string[];
  slots: number[];
}

const db = tables<typeof HourStatisticsEntity | typeof DayStatisticsEntity>();
/** 1970-01-01 plus this many days, because the drivers return dates in different forms. */
const startMs = (column: string) => sql<number>`((${sql.ref(column)} - date '1970-01-01') * 86400000.0)::float8`.as('startMs');
const wantedSubjects = (subjects: string) => jsonRows(subjects, 's', { user_id: 'bigint', monitor_id: 'bigint' });
const anyDate = (dates: string[]) => sql<string>`any (${dates}::date[])`;
const anySlot = (slots: number[]) => sql<number>`any (${slots}::smallint[])`;

const selectHourChunks = prepare(({ subjects, periods, slots }: Wanted) =>
  db
    .selectFrom(wantedSubjects(subjects))
    .innerJoin('hour_statistics as h', (join) => join.onRef('h.user_id', '=', 's.user_id').onRef('h.monitor_id', '=', 's.monitor_id'))
    .select(['h.user_id as userId', 'h.monitor_id as monitorId', startMs('h.day'), 'h.hours as bytes'])
    .where('h.day', '=', anyDate(periods))
    .where('h.slot', '=', anySlot(slots)),
);

const selectDayChunks = prepare(({ subjects, periods, slots }: Wanted) =>
  db
    .selectFrom(wantedSubjects(subjects))
    .innerJoin('day_statistics as d', (join) => join.onRef('d.user_id', '=', 's.user_id').onRef('d.monitor_id', '=', 's.monitor_id'))
    .select(['d.user_id as userId', 'd.monitor_id as monitorId', startMs('d.month'), 'd.days as bytes'])
    .where('d.month', '=', anyDate(periods))
    .where('d.slot', '=', anySlot(slots)),
);

const deleteHourChunks = prepare(({ userId, monitorId }: Subject) =>
  db
    .deleteFrom('hour_statistics')
    .where('user_id', '=', userId)
    .where('monitor_id', '=', monitorId)
    .returning(['user_id as userId', 'monitor_id as monitorId', startMs('day'), 'hours as bytes']),
);

const deleteDayChunks = prepare(({ userId, monitorId }: Subject) =>
  db
    .deleteFrom('day_statistics')
    .where('user_id', '=', userId)
    .where('monitor_id', '=', monitorId)
    .returning(['user_id as userId', 'monitor_id as monitorId', startMs('month'), 'days as bytes']),
);

interface Written {
  /** As JSON. */
  rows: string;
}

const columns = { user_id: 'bigint', monitor_id: 'bigint', start: 'text', slot: 'smallint', bytes: 'text' } as const;
const bytes = sql<Buffer>`decode(r.bytes, 'hex')`;

const upsertHourChunks = prepare(({ rows }: Written) =>
  db
    .insertInto('hour_statistics')
    .columns(['user_id', 'monitor_id', 'day', 'slot', 'hours'])
    .expression(
      db
        .selectFrom(jsonRows(rows, 'r', columns))
        .select(['r.user_id', 'r.monitor_id', sql<string>`r.start::date`.as('day'), 'r.slot', bytes.as('hours')]),
    )
    .onConflict((conflict) => conflict.columns(['user_id', 'monitor_id', 'day', 'slot']).doUpdateSet({ hours: sql`excluded.hours` })),
);

const upsertDayChunks = prepare(({ rows }: Written) =>
  db
    .insertInto('day_statistics')
    .columns(['user_id', 'monitor_id', 'month', 'slot', 'days'])
    .expression(
      db
        .selectFrom(jsonRows(rows, 'r', columns))
        .select(['r.user_id', 'r.monitor_id', sql<string>`r.start::date`.as('month'), 'r.slot', bytes.as('days')]),
    )
    .onConflict((conflict) => conflict.columns(['user_id', 'monitor_id', 'month', 'slot']).doUpdateSet({ days: sql`excluded.days` })),
);

/** The rows of one table: those of `hour_statistics`, which have a day each, or those of `day_statistics`, which have a month each. */
export interface ChunkTable {
  select: typeof selectHourChunks;
  upsert: typeof upsertHourChunks;
  /** Deletes all rows of a monitor and returns them. */
  delete: typeof deleteHourChunks;
  /** The start of the row of a time. */
  startOf(ms: number): number;
  /** The number of the hour in its day, or of the day in its month. */
  numberOf(ms: number): number;
  slotOf(ms: number): number;
}

export const hourChunks: ChunkTable = {
  select: selectHourChunks,
  upsert: upsertHourChunks,
  delete: deleteHourChunks,
  startOf: startOfDay,
  numberOf: (ms) => (startOfHour(ms) - startOfDay(ms)) / hourMs,
  slotOf: rings.hour_statistics.slotOf,
};

export const dayChunks: ChunkTable = {
  select: selectDayChunks,
  upsert: upsertDayChunks,
  delete: deleteDayChunks,
  startOf: startOfMonth,
  numberOf: (ms) => new Date(ms).getUTCDate(),
  slotOf: rings.day_statistics.slotOf,
};

/** The statement that reads the rows that start at these times. */
export function selectChunks(table: ChunkTable, subjects: Subject[], startsMs: number[]) {
  const rows = subjects.map(({ userId, monitorId }) => ({ user_id: userId, monitor_id: monitorId }));
  const slots = [...new Set(startsMs.map(table.slotOf))];
  return table.select({ subjects: JSON.stringify(rows), periods: startsMs.map(toDate), slots });
}

export interface StoredChunk extends Subject {
  startMs: number;
  chunk: Chunk;
}

export function toChunk({ bytes, ...row }: Subject & { startMs: number; bytes: Uint8Array }): StoredChunk {
  return { ...row, chunk: decodeChunk(bytes) };
}

/** Writes complete rows. */
export async function writeChunks(query: Query, table: ChunkTable, chunks: StoredChunk[]): Promise<void> {
  if (chunks.length === 0) return;
  const rows = chunks.map(({ userId, monitorId, startMs, chunk }) => ({
    user_id: userId,
    monitor_id: monitorId,
    start: toDate(startMs),
    slot: table.slotOf(startMs),
    bytes: encodeChunk(chunk).toString('hex'),
  }));
  await query(table.upsert({ rows: JSON.stringify(rows) }));
}

function toDate(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10);
}
