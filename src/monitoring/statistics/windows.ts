import { dayMs, hourMs, startOfDay, startOfHour } from './periods.ts';
import type { TimeRange } from './time-ranges.ts';

export type Window = '24h' | '7d' | '30d' | '90d' | '6mo' | '1y';
export type Resolution = '5m';

/** The buckets of a window: whole periods in UTC, of which the last one contains the present. */
export interface Buckets {
  unit: 'five minutes' | 'hour' | 'day';
  /** In order, without gaps. */
  ranges: TimeRange[];
}

const fiveMinutesMs = 5 * 60_000;
const months = { '6mo': 6, '1y': 12 };
const days = { '30d': 30, '90d': 90 };
const hours = { '24h': 24, '7d': 7 * 24 };

export function bucketsOf(window: Window, nowMs: number, resolution?: Resolution): Buckets {
  if (resolution === '5m') {
    const endMs = Math.floor(nowMs / fiveMinutesMs) * fiveMinutesMs + fiveMinutesMs;
    return { unit: 'five minutes', ranges: split(endMs - dayMs, endMs, fiveMinutesMs) };
  }
  if (window === '24h' || window === '7d') {
    const endMs = startOfHour(nowMs) + hourMs;
    return { unit: 'hour', ranges: split(endMs - hours[window] * hourMs, endMs, hourMs) };
  }
  const endMs = startOfDay(nowMs) + dayMs;
  const startMs = window === '30d' || window === '90d' ? endMs - days[window] * dayMs : monthsBefore(endMs, months[window]);
  return { unit: 'day', ranges: split(startMs, endMs, dayMs) };
}

function split(startMs: number, endMs: number, stepMs: number): TimeRange[] {
  return Array.from({ length: (endMs - startMs) / stepMs }, (_, index) => ({
    fromMs: startMs + index * stepMs,
    toMs: startMs + (index + 1) * stepMs,
  }));
}

/** The same day of an earlier month, or its last one if it is shorter. */
function monthsBefore(ms: number, count: number): number {
  const time = new Date(ms);
  const [year, month, day] = [time.getUTCFullYear(), time.getUTCMonth() - count, time.getUTCDate()];
  const lastDay = new Date(Date.UTC(year, month + 1, 0)).getUTCDate();
  return Date.UTC(year, month, Math.min(day, lastDay));
}
