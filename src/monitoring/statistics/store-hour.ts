import type { Query } from '../../db/statement.ts';
import { type Aggregate, addCounts, emptyAggregate, isEmpty, mergeAggregates } from './aggregate.ts';
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
import { aggregate } from './history.ts';
import { dayMs, hourMs, startOfDay } from './periods.ts';
import { readHistories } from './read-history.ts';

export interface RolledMonitor {
  id: number;
  userId: number;
}

/** The value of a monitor in a period. */
interface Change extends Subject {
  value: Aggregate;
}

/**
 * Calculates the statistics of an hour that is over and stores them, and those of its day if that is over as well. `rolledUntilMs` is the
 * end of the last hour that is over.
 */
export async function storeHour(query: Query, monitors: RolledMonitor[], startMs: number, rolledUntilMs: number): Promise<void> {
  if (monitors.length === 0) return;
  const histories = await readHistories(query, {
    monitorIds: monitors.map(({ id }) => id),
    hours: [startMs],
    incidentsFromMs: startMs,
  });
  const period = { fromMs: startMs, toMs: startMs + hourMs };
  const hours = monitors.map(({ id, userId }) => {
    const history = histories.get(id);
    return { userId, monitorId: id, value: history ? aggregate(history, period) : emptyAggregate };
  });
  const chunks = await storeValues(query, hourChunks, startMs, hours);
  if (startOfDay(startMs) + dayMs > rolledUntilMs) return;
  const days = chunks.map(({ chunk, ...subject }) => ({ ...subject, value: [...chunk.values()].reduce(mergeAggregates, emptyAggregate) }));
  await storeValues(query, dayChunks, startMs, days);
}

/** Stores what has changed, and adds the differences to the sums of the users. Returns the rows of the monitors. */
async function storeValues(query: Query, table: ChunkTable, ms: number, changes: Change[]): Promise<StoredChunk[]> {
  const [startMs, number] = [table.startOf(ms), table.numberOf(ms)];
  const totals = [...new Set(changes.map(({ userId }) => userId))].map((userId) => ({ userId, monitorId: totalsId }));
  const [rows] = await query(selectChunks(table, [...changes, ...totals], [startMs]));
  const stored = new Map(rows.map(toChunk).map((row) => [keyOf(row), row]));
  const find = ({ userId, monitorId }: Subject) => stored.get(keyOf({ userId, monitorId })) ?? create({ userId, monitorId, startMs });
  const create = (subject: Omit<StoredChunk, 'chunk'>) => {
    const row: StoredChunk = { ...subject, chunk: new Map() };
    stored.set(keyOf(subject), row);
    return row;
  };
  const written = new Set<StoredChunk>();
  for (const { value, ...subject } of changes) {
    const [{ chunk }, total] = [find(subject), find({ ...subject, monitorId: totalsId })];
    const before = chunk.get(number) ?? emptyAggregate;
    if (isEmpty(value) && isEmpty(before)) continue;
    chunk.set(number, value);
    const sum = total.chunk.get(number) ?? emptyAggregate;
    total.chunk.set(number, addCounts(addCounts(sum, value), before, -1));
    written.add(find(subject)).add(total);
  }
  await writeChunks(query, table, [...written]);
  return changes.map(find);
}

function keyOf({ userId, monitorId }: Subject): string {
  return `${userId} ${monitorId}`;
}
