import type { Query } from '../../db/statement.ts';
import { type Aggregate, emptyAggregate, mergeAggregates } from './aggregate.ts';
import type { Chunk } from './chunk.ts';
import { dayChunks, hourChunks, type StoredChunk, selectChunks, toChunk } from './chunk-rows.ts';
import { aggregate, type History } from './history.ts';
import { hourMs, startOfDay, startOfHour, startOfMonth, starts } from './periods.ts';
import { selectProgress } from './progress.ts';
import { historyStatements, toHistories } from './read-history.ts';
import type { TimeRange } from './time-ranges.ts';
import { type Buckets, bucketsOf, type Resolution, type Window } from './windows.ts';

/** What has happened to a monitor in a window. */
export interface Statistics {
  monitorId: number;
  window: Window;
  /** From the start of the first bucket until now. */
  range: TimeRange;
  total: Aggregate;
  /** The incidents that overlap the window. */
  incidentCount: number;
  buckets: { range: TimeRange; value: Aggregate }[];
}

interface Wanted {
  userId: number;
  monitorIds: number[];
  window: Window;
  resolution?: Resolution | undefined;
}

/** What is known before the database has said what time it is, and how far hours were rolled up. */
interface Clock {
  nowMs: number;
  /** Later hours are calculated from the details. */
  rolledUntilMs: number;
}

/** Usually all hours but the last one or two were rolled up. */
const usualDelayMs = 2 * hourMs;

/**
 * Reads the statistics of those monitors that exist, in one round trip. The time is that of this process, which is another one than that
 * of the database only if a clock is wrong; then a second round trip follows.
 */
export async function readStatistics(query: Query, wanted: Wanted, nowMs: number): Promise<Statistics[]> {
  const guess = { nowMs, rolledUntilMs: startOfHour(nowMs) - usualDelayMs };
  const found = await read(query, wanted, guess);
  const isWrong = startOfHour(found.clock.nowMs) !== startOfHour(nowMs) || found.clock.rolledUntilMs < guess.rolledUntilMs;
  return isWrong ? (await read(query, wanted, found.clock)).statistics : found.statistics;
}

async function read(query: Query, { userId, monitorIds, window, resolution }: Wanted, guess: Clock) {
  const { fromMs, dayRows, monthRows, hours } = needed(bucketsOf(window, guess.nowMs, resolution), guess);
  const subjects = monitorIds.map((monitorId) => ({ userId, monitorId }));
  const incidentsFromMs = resolution ? fromMs : guess.rolledUntilMs;
  const statements = [
    selectProgress({}),
    ...historyStatements({ monitorIds, hours, incidentsFromMs, windowFromMs: fromMs }),
    selectChunks(hourChunks, subjects, dayRows),
  ] as const;
  const [[progress], observations, logs, incidents, hourRows, monthlyRows] =
    monthRows.length > 0
      ? await query(...statements, selectChunks(dayChunks, subjects, monthRows))
      : ([...(await query(...statements)), []] as const);
  const clock = { nowMs: progress?.nowMs ?? guess.nowMs, rolledUntilMs: progress?.hourMs ?? guess.rolledUntilMs };
  const buckets = bucketsOf(window, clock.nowMs, resolution);
  const histories = toHistories(observations, logs, incidents);
  const stored = [Map.groupBy(hourRows.map(toChunk), byMonitor), Map.groupBy(monthlyRows.map(toChunk), byMonitor)] as const;
  const statistics = monitorIds.flatMap((monitorId) => {
    const history = histories.get(monitorId);
    if (!history) return [];
    const source = { history, hours: byStart(stored[0].get(monitorId)), days: byStart(stored[1].get(monitorId)) };
    return [statisticsOf(monitorId, window, buckets, source, clock)];
  });
  return { clock, statistics };
}

/** The rows that a window needs: those of whole days, those of months, and hours whose checks are still to be summed up. */
function needed({ unit, ranges }: Buckets, { nowMs, rolledUntilMs }: Clock) {
  const fromMs = ranges[0]?.fromMs ?? nowMs;
  const hoursFromMs = unit === 'five minutes' ? fromMs : Math.max(rolledUntilMs, fromMs);
  const hours: number[] = [];
  for (let ms = startOfHour(hoursFromMs); ms <= nowMs; ms += hourMs) hours.push(ms);
  // A day has a value of its own once all of its hours have.
  const daysFromMs = unit === 'day' ? startOfDay(Math.max(rolledUntilMs, fromMs)) : fromMs;
  return {
    fromMs,
    hours,
    dayRows: unit === 'five minutes' ? [] : starts(startOfDay, daysFromMs, nowMs),
    monthRows: unit === 'day' ? starts(startOfMonth, fromMs, nowMs) : [],
  };
}

interface Source {
  history: History;
  /** By the start of the day or month. */
  hours: Map<number, Chunk>;
  days: Map<number, Chunk>;
}

function statisticsOf(monitorId: number, window: Window, { unit, ranges }: Buckets, source: Source, clock: Clock): Statistics {
  const { history } = source;
  const ofHour = (ms: number) =>
    ms >= clock.rolledUntilMs
      ? aggregate(history, { fromMs: ms, toMs: ms + hourMs })
      : (source.hours.get(startOfDay(ms))?.get(hourChunks.numberOf(ms)) ?? emptyAggregate);
  const ofDay = (range: TimeRange) => {
    if (range.toMs <= clock.rolledUntilMs) return source.days.get(startOfMonth(range.fromMs))?.get(dayChunks.numberOf(range.fromMs));
    let sum = emptyAggregate;
    for (let ms = range.fromMs; ms < Math.min(range.toMs, clock.nowMs); ms += hourMs) sum = mergeAggregates(sum, ofHour(ms));
    return sum;
  };
  const ofRange = (range: TimeRange) => {
    if (unit === 'five minutes') return aggregate(history, range);
    return unit === 'hour' ? ofHour(range.fromMs) : (ofDay(range) ?? emptyAggregate);
  };
  const buckets = ranges.map((range) => ({ range, value: ofRange(range) }));
  const fromMs = ranges[0]?.fromMs ?? clock.nowMs;
  const total = buckets.reduce((sum, { value }) => mergeAggregates(sum, value), emptyAggregate);
  const overlapsStart = history.incidents.some((incident) => incident.fromMs < fromMs && incident.toMs > fromMs);
  const incidentCount = total.incidents + (overlapsStart ? 1 : 0);
  return { monitorId, window, range: { fromMs, toMs: clock.nowMs }, total, incidentCount, buckets };
}

function byMonitor({ monitorId }: StoredChunk): number {
  return monitorId;
}

function byStart(chunks: StoredChunk[] = []): Map<number, Chunk> {
  return new Map(chunks.map(({ startMs, chunk }) => [startMs, chunk]));
}
