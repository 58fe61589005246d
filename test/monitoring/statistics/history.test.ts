import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Aggregate, emptyAggregate, mergeAggregates } from '../../../src/monitoring/statistics/aggregate.ts';
import { aggregate, type CheckLog, type History } from '../../../src/monitoring/statistics/history.ts';
import type { SingleCheck } from '../../../src/monitoring/statistics/single-check.ts';
import type { TimeRange } from '../../../src/monitoring/statistics/time-ranges.ts';
import { aggregateOf, responseTimesOf } from './aggregates.ts';

const minute = 60_000;
const hour = 60 * minute;
/** The start of an hour. */
const start = Date.UTC(2026, 10, 10, 7);
const theHour: TimeRange = { fromMs: start, toMs: start + hour };

/** A period, in minutes after the start. */
const minutes = (from: number, to: number): TimeRange => ({ fromMs: start + from * minute, toMs: start + to * minute });
const open = (from: number): TimeRange => ({ fromMs: start + from * minute, toMs: Number.POSITIVE_INFINITY });
const always = [minutes(-600, 600)];

function check(afterMinutes: number, responseTimeMs: number | undefined, cause?: string): SingleCheck {
  const failure = cause === undefined ? undefined : { cause, statusCode: null };
  return { checkedAtMs: start + afterMinutes * minute, responseTimeMs, failure };
}

const logOf = (checks: SingleCheck[], more: Partial<CheckLog> = {}): CheckLog => ({ checks, moreSuccesses: 0, moreFailures: 0, ...more });
const historyOf = (history: Partial<History>): History => ({ observed: [], incidents: [], logs: new Map(), ...history });
const counts = ({ observedMs, downMs, incidents }: Aggregate) => [observedMs / minute, downMs / minute, incidents];

test('of nothing, everything is zero', () => {
  expect(aggregate(historyOf({}), theHour)).toEqual(emptyAggregate);
});

test('the observed time is that in the period, of all observed periods', () => {
  const observed = [minutes(-30, 5), minutes(10, 12), minutes(50, 90), minutes(100, 110)];
  expect(counts(aggregate(historyOf({ observed }), theHour))).toEqual([5 + 2 + 10, 0, 0]);
});

describe('down time', () => {
  test.each<[string, TimeRange[], TimeRange[], [observed: number, down: number, incidents: number]]>([
    ['an incident within observed time', always, [minutes(10, 15)], [60, 5, 1]],
    ['an incident that is open', always, [open(50)], [60, 10, 1]],
    ['an incident that began before the period counts there', always, [minutes(-5, 7)], [60, 7, 0]],
    ['an incident that began before and is open', always, [open(-5)], [60, 60, 0]],
    ['an incident that ends after the period', always, [minutes(40, 100)], [60, 20, 1]],
    ['an incident that begins when the period ends', always, [minutes(60, 65)], [60, 0, 0]],
    ['an incident that begins with the period', always, [minutes(0, 5)], [60, 5, 1]],
    ['an incident that ends when the period begins', always, [minutes(-5, 0)], [60, 0, 0]],
    ['an incident of no length', always, [minutes(20, 20)], [60, 0, 1]],
    ['an incident outside of observed time', [minutes(0, 30)], [minutes(40, 50)], [30, 0, 1]],
    ['an incident that is observed in parts', [minutes(0, 20), minutes(25, 40)], [minutes(10, 50)], [35, 25, 1]],
    ['two incidents', always, [minutes(10, 15), minutes(30, 42)], [60, 17, 2]],
    ['incidents that overlap count their common time once', always, [minutes(10, 20), minutes(15, 30)], [60, 20, 2]],
    ['an incident within another one', always, [minutes(10, 40), minutes(15, 30)], [60, 30, 2]],
    ['overlapping incidents, observed in parts', [minutes(12, 18), minutes(19, 60)], [minutes(10, 20), minutes(15, 30)], [47, 17, 2]],
    ['without observation nothing is down', [], [open(-100)], [0, 0, 0]],
  ])('%s', (_, observed, incidents, expected) => {
    expect(counts(aggregate(historyOf({ observed, incidents }), theHour))).toEqual(expected);
  });
});

test('checks count in the period in which they began, by their times', () => {
  const lastOfHour = { ...check(0, 30), checkedAtMs: start + hour - 1 };
  const logs = new Map([
    [start - hour, logOf([check(-1, 500), check(-60, 500)])],
    [start, logOf([check(0, 20), check(30, 40), check(31, undefined, 'timed out'), lastOfHour])],
    [start + hour, logOf([check(60, 500)])],
  ]);
  expect(aggregate(historyOf({ logs }), theHour)).toEqual(aggregateOf({ checks: 4, failedChecks: 1, times: [20, 40, 30] }));
  expect(aggregate(historyOf({ logs }), minutes(30, 31))).toEqual(aggregateOf({ checks: 1, times: [40] }));
  expect(aggregate(historyOf({ logs }), minutes(-60, 60))).toMatchObject({ checks: 6, failedChecks: 1 });
});

test('response times are those of successes only, and failures without any leave none', () => {
  const failures = [check(1, 5, 'HTTP 503'), check(2, 7, 'HTTP 503'), check(3, undefined, 'timed out')];
  const logs = new Map([[start, logOf([...failures, check(4, 90), check(5, 80), check(6, undefined)])]]);
  const value = aggregate(historyOf({ logs }), theHour);
  expect(value).toMatchObject({ checks: 6, failedChecks: 3 });
  expect(value.responseTimes).toEqual(responseTimesOf([90, 80]));
  expect(value.responseTimes).toMatchObject({ totalMs: 170, minMs: 80, maxMs: 90 });
  expect(aggregate(historyOf({ logs: new Map([[start, logOf(failures)]]) }), theHour)).toEqual(aggregateOf({ checks: 3, failedChecks: 3 }));
});

test('checks for which there was no space count at the start of their hour, without response times', () => {
  const logs = new Map([[start, logOf([check(3, 10), check(7, 20)], { moreSuccesses: 30, moreFailures: 4 })]]);
  expect(aggregate(historyOf({ logs }), theHour)).toEqual(aggregateOf({ checks: 36, failedChecks: 4, times: [10, 20] }));
  expect(aggregate(historyOf({ logs }), minutes(0, 5))).toEqual(aggregateOf({ checks: 35, failedChecks: 4, times: [10] }));
  expect(aggregate(historyOf({ logs }), minutes(5, 10))).toEqual(aggregateOf({ checks: 1, times: [20] }));
  expect(aggregate(historyOf({ logs }), minutes(60, 120))).toEqual(emptyAggregate);
  expect(aggregate(historyOf({ logs }), minutes(-60, 0))).toEqual(emptyAggregate);
});

const anyRange = fc.tuple(fc.integer({ min: -hour, max: 2 * hour }), fc.integer({ min: 0, max: 2 * hour }));
const anyHistory: fc.Arbitrary<History> = fc
  .record({
    // Observed periods do not overlap: each begins after the one before.
    gaps: fc.array(fc.tuple(fc.integer({ min: 0, max: 20 * minute }), fc.integer({ min: 1, max: 40 * minute })), { maxLength: 6 }),
    incidents: fc.array(anyRange, { maxLength: 4 }),
    isOpen: fc.boolean(),
    checks: fc.array(
      fc.record({
        offsetMs: fc.integer({ min: 0, max: hour - 1 }),
        ms: fc.option(fc.integer({ min: 1, max: 60_000 }), { nil: undefined }),
        cause: fc.option(fc.constant('HTTP 503'), { nil: undefined }),
      }),
      { maxLength: 40 },
    ),
    moreSuccesses: fc.nat(100),
    moreFailures: fc.nat(100),
  })
  .map(({ gaps, incidents, isOpen, checks, moreSuccesses, moreFailures }) => {
    const observed: TimeRange[] = [];
    let endMs = start - hour / 2;
    for (const [gap, length] of gaps) {
      observed.push({ fromMs: endMs + gap, toMs: endMs + gap + length });
      endMs += gap + length;
    }
    const ranges = incidents.map(([from, length]) => ({ fromMs: start + from, toMs: start + from + length }));
    if (isOpen) ranges.push({ fromMs: start + hour / 2, toMs: Number.POSITIVE_INFINITY });
    const found = checks.map(({ offsetMs, ms, cause }) => ({ ...check(0, ms, cause), checkedAtMs: start + offsetMs }));
    return historyOf({ observed, incidents: ranges, logs: new Map([[start, logOf(found, { moreSuccesses, moreFailures })]]) });
  });

test.each([5, 1, 20])('the sum of any hour in parts of %d minutes equals that of the hour', (length) => {
  fc.assert(
    fc.property(anyHistory, (history) => {
      const parts = Array.from({ length: 60 / length }, (_, index) => aggregate(history, minutes(index * length, (index + 1) * length)));
      expect(parts.reduce(mergeAggregates, emptyAggregate)).toEqual(aggregate(history, theHour));
    }),
  );
});

test('down time is never longer than observed time, nor is this longer than the period', () => {
  fc.assert(
    fc.property(anyHistory, (history) => {
      const { observedMs, downMs, checks, failedChecks } = aggregate(history, theHour);
      expect([downMs <= observedMs, observedMs <= hour, failedChecks <= checks]).toEqual([true, true, true]);
    }),
  );
});
