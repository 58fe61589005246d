/** A period of time in milliseconds, from its start until before its end. */
export interface TimeRange {
  fromMs: number;
  toMs: number;
}

/** The parts of ranges that lie in another range. */
export function clip(ranges: readonly TimeRange[], { fromMs, toMs }: TimeRange): TimeRange[] {
  const clipped: TimeRange[] = [];
  for (const range of ranges) {
    if (range.fromMs >= toMs || range.toMs <= fromMs || range.fromMs >= range.toMs) continue;
    clipped.push({ fromMs: Math.max(range.fromMs, fromMs), toMs: Math.min(range.toMs, toMs) });
  }
  return clipped;
}

/** The length of ranges that do not overlap. */
export function lengthOf(ranges: readonly TimeRange[]): number {
  return ranges.reduce((sum, { fromMs, toMs }) => sum + toMs - fromMs, 0);
}

/** Merges ranges that overlap or touch, in the order of time. */
export function union(ranges: readonly TimeRange[]): TimeRange[] {
  const merged: TimeRange[] = [];
  for (const range of ranges.toSorted((one, other) => one.fromMs - other.fromMs)) {
    const last = merged.at(-1);
    if (last && range.fromMs <= last.toMs) last.toMs = Math.max(last.toMs, range.toMs);
    else merged.push({ ...range });
  }
  return merged;
}
