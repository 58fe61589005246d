import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  dayMs,
  hourMs,
  rings,
  startOfDay,
  startOfHour,
  startOfMonth,
  startOfWeek,
  starts,
} from '../../../src/monitoring/statistics/periods.ts';

const at = (time: string) => Date.parse(`${time}Z`);
/** Any time of a hundred years. */
const anyTime = fc.integer({ min: at('2000-01-01T00:00:00'), max: at('2099-12-31T23:59:59.999') });
const startsOf = { startOfHour, startOfDay, startOfWeek, startOfMonth };

test.each([
  ['2026-11-10T07:29:40.123', '2026-11-10T07:00:00', '2026-11-10T00:00:00', '2026-11-09T00:00:00', '2026-11-01T00:00:00'],
  ['2026-11-09T00:00:00.000', '2026-11-09T00:00:00', '2026-11-09T00:00:00', '2026-11-09T00:00:00', '2026-11-01T00:00:00'],
  ['2026-11-08T23:59:59.999', '2026-11-08T23:00:00', '2026-11-08T00:00:00', '2026-11-02T00:00:00', '2026-11-01T00:00:00'],
  ['2027-01-01T00:00:00.000', '2027-01-01T00:00:00', '2027-01-01T00:00:00', '2026-12-28T00:00:00', '2027-01-01T00:00:00'],
  ['2028-02-29T12:00:00.000', '2028-02-29T12:00:00', '2028-02-29T00:00:00', '2028-02-28T00:00:00', '2028-02-01T00:00:00'],
])('%s is in the hour %s, the day %s, the week %s and the month %s', (time, hour, day, week, month) => {
  const ms = at(time);
  expect([startOfHour(ms), startOfDay(ms), startOfWeek(ms), startOfMonth(ms)]).toEqual([hour, day, week, month].map(at));
});

test('weeks start on Monday', () => {
  fc.assert(
    fc.property(anyTime, (ms) => {
      const start = new Date(startOfWeek(ms));
      expect([start.getUTCDay(), start.getTime() % dayMs]).toEqual([1, 0]);
      expect(ms - start.getTime()).toBeGreaterThanOrEqual(0);
      expect(ms - start.getTime()).toBeLessThan(7 * dayMs);
    }),
  );
});

test('months start on their first day, and the time before is in the month before', () => {
  fc.assert(
    fc.property(anyTime, (ms) => {
      const [time, start] = [new Date(ms), new Date(startOfMonth(ms))];
      expect(start.toISOString()).toBe(`${time.toISOString().slice(0, 7)}-01T00:00:00.000Z`);
      expect(new Date(startOfMonth(start.getTime() - 1)).getUTCMonth()).toBe((start.getUTCMonth() + 11) % 12);
    }),
  );
});

test.each(Object.entries(startsOf))('%s of a start is that start, and a millisecond earlier is in the period before', (_, startOf) => {
  fc.assert(
    fc.property(anyTime, (ms) => {
      const start = startOf(ms);
      expect([startOf(start), startOf(start - 1) < start, start <= ms]).toEqual([start, true, true]);
    }),
  );
});

describe('starts', () => {
  test('the days that overlap a time', () => {
    const days = starts(startOfDay, at('2028-02-28T13:00:00'), at('2028-03-01T00:00:01'));
    expect(days).toEqual(['2028-02-28T00:00:00', '2028-02-29T00:00:00', '2028-03-01T00:00:00'].map(at));
  });

  test('a period that begins when the time ends does not overlap it', () => {
    expect(starts(startOfDay, at('2026-11-10T13:00:00'), at('2026-11-11T00:00:00'))).toEqual([at('2026-11-10T00:00:00')]);
    expect(starts(startOfMonth, at('2026-11-10T13:00:00'), at('2026-12-01T00:00:00'))).toEqual([at('2026-11-01T00:00:00')]);
  });

  test('the months that overlap a time, across years', () => {
    const months = starts(startOfMonth, at('2026-11-30T23:59:59'), at('2027-03-01T00:00:00.001'));
    expect(months.map((ms) => new Date(ms).toISOString().slice(0, 10))).toEqual([
      '2026-11-01',
      '2026-12-01',
      '2027-01-01',
      '2027-02-01',
      '2027-03-01',
    ]);
  });

  test.each([
    ['days', startOfDay],
    ['months', startOfMonth],
  ])('%s follow each other without a gap, from that of the first to that of the last millisecond', (_, startOf) => {
    fc.assert(
      fc.property(anyTime, fc.integer({ min: 1, max: 500 * dayMs }), (fromMs, length) => {
        const found = starts(startOf, fromMs, fromMs + length);
        expect([found[0], found.at(-1)]).toEqual([startOf(fromMs), startOf(fromMs + length - 1)]);
        found.slice(1).forEach((start, index) => {
          expect(startOf(start - 1)).toBe(found[index]);
        });
      }),
    );
  });
});

/** `longest` is at least as long as a period, and shorter than two. */
const kept = {
  check_logs: { slots: 4, startOf: startOfDay, longest: dayMs, keptMs: 48 * hourMs },
  hour_statistics: { slots: 7, startOf: startOfWeek, longest: 7 * dayMs, keptMs: 35 * dayMs },
  day_statistics: { slots: 16, startOf: startOfMonth, longest: 31 * dayMs, keptMs: 400 * dayMs },
};

describe.each(Object.entries(kept))('the slots of %s', (name, { slots, startOf, longest, keptMs }) => {
  const { slotOf, slots: count } = rings[name as keyof typeof rings];

  test('every period that is kept has a slot of its own, and so has the next one', () => {
    expect(count).toBe(slots);
    fc.assert(
      fc.property(anyTime, (nowMs) => {
        const periods = [startOf(startOf(nowMs) + longest)];
        for (let start = startOf(nowMs); ; start = startOf(start - 1)) {
          periods.push(start);
          if (start <= nowMs - keptMs) break;
        }
        const used = new Set(periods.map(slotOf));
        expect(used.size).toBe(periods.length);
        expect([...used].every((slot) => Number.isInteger(slot) && slot >= 0 && slot < slots)).toBe(true);
      }),
    );
  });

  test('all times of a period have the same slot, and the next period has the next slot', () => {
    fc.assert(
      fc.property(anyTime, (ms) => {
        const start = startOf(ms);
        expect([slotOf(start), slotOf(start - 1)]).toEqual([slotOf(ms), (slotOf(ms) + slots - 1) % slots]);
      }),
    );
  });
});
