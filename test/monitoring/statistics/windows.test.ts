import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { bucketsOf, type Resolution, type Window } from '../../../src/monitoring/statistics/windows.ts';

const at = (time: string) => Date.parse(`${time}Z`);
const text = (ms: number | undefined) => new Date(ms ?? Number.NaN).toISOString().slice(0, 19);
const minuteMs = 60_000;

const windows: [window: Window, resolution: Resolution | undefined, unit: string, bucketMs: number][] = [
  ['24h', undefined, 'hour', 60 * minuteMs],
  ['24h', '5m', 'five minutes', 5 * minuteMs],
  ['7d', undefined, 'hour', 60 * minuteMs],
  ['30d', undefined, 'day', 1440 * minuteMs],
  ['90d', undefined, 'day', 1440 * minuteMs],
  ['6mo', undefined, 'day', 1440 * minuteMs],
  ['1y', undefined, 'day', 1440 * minuteMs],
];

/** The start of the first bucket and the end of the last one. */
function ends(window: Window, now: string, resolution?: Resolution) {
  const { ranges } = bucketsOf(window, at(now), resolution);
  return [text(ranges[0]?.fromMs), text(ranges.at(-1)?.toMs), ranges.length];
}

test.each<[Window, Resolution | undefined, string, string, number]>([
  ['24h', undefined, '2026-11-09T08:00:00', '2026-11-10T08:00:00', 24],
  ['24h', '5m', '2026-11-09T07:30:00', '2026-11-10T07:30:00', 288],
  ['7d', undefined, '2026-11-03T08:00:00', '2026-11-10T08:00:00', 168],
  ['30d', undefined, '2026-10-12T00:00:00', '2026-11-11T00:00:00', 30],
  ['90d', undefined, '2026-08-13T00:00:00', '2026-11-11T00:00:00', 90],
  ['6mo', undefined, '2026-05-11T00:00:00', '2026-11-11T00:00:00', 184],
  ['1y', undefined, '2025-11-11T00:00:00', '2026-11-11T00:00:00', 365],
])(
  'on 10 November 2026 at 07:29:40, the window %s (resolution %s) is from %s to %s, in %d buckets',
  (window, resolution, from, to, count) => {
    expect(ends(window, '2026-11-10T07:29:40', resolution)).toEqual([from, to, count]);
  },
);

test.each<[Window, Resolution | undefined, string, string, string]>([
  ['24h', undefined, '2026-11-10T08:00:00', '2026-11-09T09:00:00', '2026-11-10T09:00:00'],
  ['24h', undefined, '2026-11-10T07:59:59.999', '2026-11-09T08:00:00', '2026-11-10T08:00:00'],
  ['24h', '5m', '2026-11-10T08:00:00', '2026-11-09T08:05:00', '2026-11-10T08:05:00'],
  ['24h', '5m', '2026-11-10T08:04:59.999', '2026-11-09T08:05:00', '2026-11-10T08:05:00'],
  ['30d', undefined, '2027-01-01T00:00:00', '2026-12-03T00:00:00', '2027-01-02T00:00:00'],
  ['30d', undefined, '2026-12-31T23:59:59.999', '2026-12-02T00:00:00', '2027-01-01T00:00:00'],
])(
  'the window %s (resolution %s) at %s begins a new bucket at its first millisecond: from %s to %s',
  (window, resolution, now, from, to) => {
    expect(ends(window, now, resolution).slice(0, 2)).toEqual([from, to]);
  },
);

describe('calendar months', () => {
  test.each<[Window, string, string, number]>([
    // Until the end of the month, the window begins with a month.
    ['6mo', '2026-08-31T12:00:00', '2026-03-01T00:00:00', 184],
    ['6mo', '2026-02-28T12:00:00', '2025-09-01T00:00:00', 181],
    // The earlier month is shorter than the number of the day: its last day is the first one of the window.
    ['6mo', '2026-08-30T12:00:00', '2026-02-28T00:00:00', 184],
    ['6mo', '2026-08-29T12:00:00', '2026-02-28T00:00:00', 183],
    ['6mo', '2026-08-28T12:00:00', '2026-02-28T00:00:00', 182],
    ['6mo', '2026-08-27T12:00:00', '2026-02-28T00:00:00', 181],
    ['6mo', '2028-08-30T12:00:00', '2028-02-29T00:00:00', 184],
    ['6mo', '2028-08-28T12:00:00', '2028-02-29T00:00:00', 182],
    ['6mo', '2026-05-30T12:00:00', '2025-11-30T00:00:00', 182],
    // Across the turn of a year.
    ['6mo', '2027-01-01T00:00:00', '2026-07-02T00:00:00', 184],
    ['6mo', '2026-12-31T23:59:59', '2026-07-01T00:00:00', 184],
    ['1y', '2026-12-31T23:59:59', '2026-01-01T00:00:00', 365],
    ['1y', '2028-12-31T23:59:59', '2028-01-01T00:00:00', 366],
    // Around 29 February.
    ['1y', '2028-02-27T12:00:00', '2027-02-28T00:00:00', 365],
    ['1y', '2028-02-28T12:00:00', '2027-02-28T00:00:00', 366],
    ['1y', '2028-02-29T12:00:00', '2027-03-01T00:00:00', 366],
    ['1y', '2028-03-01T12:00:00', '2027-03-02T00:00:00', 366],
    ['1y', '2029-02-27T12:00:00', '2028-02-28T00:00:00', 366],
    ['1y', '2029-02-28T12:00:00', '2028-03-01T00:00:00', 365],
  ])('%s at %s begin on %s and have %d days', (window, now, from, count) => {
    const [start, , days] = ends(window, now);
    expect([start, days]).toEqual([from, count]);
  });

  test('every day of 8 years has 6 months of 181 to 184 days, and a year of 365 or 366', () => {
    const found = { '6mo': new Set<number>(), '1y': new Set<number>() };
    for (let day = at('2024-01-01T05:00:00'); day < at('2032-01-01T00:00:00'); day += 1440 * minuteMs) {
      for (const window of ['6mo', '1y'] as const) found[window].add(bucketsOf(window, day).ranges.length);
    }
    expect([...found['6mo']].sort()).toEqual([181, 182, 183, 184]);
    expect([...found['1y']].sort()).toEqual([365, 366]);
  });
});

test.each(windows)(
  'at any time of a hundred years, the buckets of %s (resolution %s) are whole, contiguous, and the last one contains now',
  (window, resolution, unit, bucketMs) => {
    fc.assert(
      fc.property(fc.integer({ min: at('2000-01-01T00:00:00'), max: at('2099-12-31T23:59:59.999') }), (nowMs) => {
        const buckets = bucketsOf(window, nowMs, resolution);
        expect(buckets.unit).toBe(unit);
        const { ranges } = buckets;
        const last = ranges.at(-1);
        expect([(last?.fromMs ?? Number.NaN) <= nowMs, nowMs < (last?.toMs ?? Number.NaN)]).toEqual([true, true]);
        let endMs = ranges[0]?.fromMs;
        for (const { fromMs, toMs } of ranges) {
          if (fromMs !== endMs || toMs - fromMs !== bucketMs || fromMs % bucketMs !== 0)
            throw new Error(`${text(fromMs)} to ${text(toMs)}`);
          endMs = toMs;
        }
        expect(ranges.length).toBeLessThanOrEqual(367);
      }),
    );
  },
);
