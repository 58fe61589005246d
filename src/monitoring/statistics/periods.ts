// Hours, days and months in UTC, and the partitions that their rows are in.

export const hourMs = 3_600_000;
export const dayMs = 24 * hourMs;

export function startOfHour(ms: number): number {
  return Math.floor(ms / hourMs) * hourMs;
}

export function startOfDay(ms: number): number {
  return Math.floor(ms / dayMs) * dayMs;
}

/** Weeks start on Monday. 1 January 1970 was a Thursday. */
export function startOfWeek(ms: number): number {
  return weekNumber(ms) * 7 * dayMs - 3 * dayMs;
}

export function startOfMonth(ms: number): number {
  const time = new Date(ms);
  return Date.UTC(time.getUTCFullYear(), time.getUTCMonth(), 1);
}

/** The starts of all days or months, in order, that overlap the time from `fromMs` to `toMs`. */
export function starts(startOf: (ms: number) => number, fromMs: number, toMs: number): number[] {
  const found: number[] = [];
  // 32 days after the start of a month is in the next one, and so is it for a day if it is cut to its start.
  const step = startOf === startOfMonth ? 32 * dayMs : dayMs;
  for (let start = startOf(fromMs); start < toMs; start = startOf(start + step)) found.push(start);
  return found;
}

/** The tables of the history. Each is a ring of partitions: `slotOf` says which one a row is in, by the start of its period. */
export const rings = {
  check_logs: { slots: 4, slotOf: (ms: number) => Math.floor(ms / dayMs) % 4 },
  hour_statistics: { slots: 7, slotOf: (ms: number) => weekNumber(ms) % 7 },
  day_statistics: { slots: 16, slotOf: (ms: number) => monthNumber(ms) % 16 },
} as const;

function weekNumber(ms: number): number {
  return Math.floor((ms / dayMs + 3) / 7);
}

function monthNumber(ms: number): number {
  const time = new Date(ms);
  return time.getUTCFullYear() * 12 + time.getUTCMonth();
}
