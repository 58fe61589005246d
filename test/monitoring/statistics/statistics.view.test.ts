import { describe, expect, test } from 'vitest';
import { emptyAggregate } from '../../../src/monitoring/statistics/aggregate.ts';
import type { Statistics } from '../../../src/monitoring/statistics/read-statistics.ts';
import { checkView, statisticsView, uptimePercent } from '../../../src/monitoring/statistics/statistics.view.ts';
import { aggregateOf } from './aggregates.ts';

const startMs = Date.UTC(2026, 10, 10, 7);
const range = { fromMs: startMs, toMs: startMs + 1_780_999 };

const statistics = (times: number[], counts: Partial<typeof emptyAggregate> = {}): Statistics => ({
  monitorId: 5,
  window: '24h',
  range,
  total: aggregateOf({ ...counts, times }),
  incidentCount: 3,
  buckets: [{ range: { fromMs: startMs, toMs: startMs + 3_600_000 }, value: emptyAggregate }],
});

/** The response times that are shown for these. */
const shown = (times: number[]) => statisticsView(statistics(times)).response_time_ms;

test('the statistics end in whole seconds, cut and not rounded, and buckets at their ends', () => {
  expect(statisticsView(statistics([]))).toMatchObject({
    from: '2026-11-10T07:00:00.000Z',
    to: '2026-11-10T07:29:40.000Z',
    incident_count: 3,
    buckets: [{ from: '2026-11-10T07:00:00.000Z', to: '2026-11-10T08:00:00.000Z' }],
  });
});

test('times are rounded to seconds', () => {
  const view = statisticsView(statistics([], { observedMs: 10_499, downMs: 1500 }));
  expect(view).toMatchObject({ observed_seconds: 10, down_seconds: 2, uptime_percent: 80 });
});

test.each([
  [86_400_000, 0, 100],
  [86_400_000, 86_400_000, 0],
  [10_200_000, 2_100_000, 79.412],
  [84_580_000, 431_000, 99.49],
  [86_400_000, 1000, 99.999],
  [3_600_000, 431_000, 88.028],
  // Whole seconds count, as they are shown.
  [10_499, 1500, 80],
  [1000, 499, 100],
  // Rounded to milliseconds and then to seconds, an outage can seem longer than what was observed.
  [1499, 1500, 0],
  [499, 0, null],
  [0, 0, null],
])('of %d ms observed and %d ms down, the uptime is %s percent', (observedMs, downMs, expected) => {
  expect(uptimePercent({ observedMs, downMs })).toBe(expected);
});

describe('response times', () => {
  test('are null if there are none', () => {
    expect(shown([])).toBeNull();
  });

  test('have a rounded average, and are between the shortest and the longest', () => {
    expect(shown([10, 11])).toEqual({ average: 11, p50: 10, p95: 11, p99: 11, min: 10, max: 11 });
    expect(shown([237])).toEqual({ average: 237, p50: 237, p95: 237, p99: 237, min: 237, max: 237 });
    expect(shown([1, 1, 1, 1, 2])).toEqual({ average: 1, p50: 1, p95: 2, p99: 2, min: 1, max: 2 });
  });

  test('a median is at most 5 % from the exact one, and half a millisecond, because it is rounded', () => {
    const wrong = Array.from({ length: 60_000 }, (_, index) => index + 1).flatMap((ms) => {
      const p50 = shown([1, ms, ms, ms, 100_000])?.p50 ?? 0;
      return Math.abs(p50 - ms) > 0.05 * ms + 0.5 ? [`${ms} ms is shown as ${p50} ms`] : [];
    });
    expect(wrong).toEqual([]);
  });
});

test('a check is shown with its time, its outcome, and what a failure has', () => {
  expect(checkView({ checkedAtMs: startMs + 1, responseTimeMs: 164, failure: undefined })).toEqual({
    checked_at: '2026-11-10T07:00:00.001Z',
    outcome: 'up',
    response_time_ms: 164,
    status_code: null,
    cause: null,
  });
  expect(checkView({ checkedAtMs: startMs, responseTimeMs: undefined, failure: { cause: 'timed out', statusCode: null } })).toEqual({
    checked_at: '2026-11-10T07:00:00.000Z',
    outcome: 'down',
    response_time_ms: null,
    status_code: null,
    cause: 'timed out',
  });
  expect(checkView({ checkedAtMs: startMs, responseTimeMs: 9, failure: { cause: 'HTTP 503', statusCode: 503 } })).toMatchObject({
    outcome: 'down',
    response_time_ms: 9,
    status_code: 503,
    cause: 'HTTP 503',
  });
});
