import fc from 'fast-check';
import { type Aggregate, emptyAggregate, noResponseTimes, type ResponseTimes } from '../../../src/monitoring/statistics/aggregate.ts';
import { histogramOf } from '../../../src/monitoring/statistics/histogram.ts';

/** The summary of these response times. */
export function responseTimesOf(times: number[]): ResponseTimes {
  if (times.length === 0) return noResponseTimes;
  const totalMs = times.reduce((sum, ms) => sum + ms, 0);
  return { histogram: histogramOf(times), totalMs, minMs: Math.min(...times), maxMs: Math.max(...times) };
}

/** An aggregate with these values, and none of what is not given. */
export function aggregateOf({ times = [], ...counts }: Partial<Omit<Aggregate, 'responseTimes'>> & { times?: number[] }): Aggregate {
  return { ...emptyAggregate, ...counts, responseTimes: responseTimesOf(times) };
}

/** Any aggregates whose counts are not larger than this. */
export function anyAggregate(max: number): fc.Arbitrary<Aggregate> {
  const count = fc.oneof(fc.integer({ min: 0, max: 1000 }), fc.integer({ min: 0, max }));
  const times = fc.array(fc.integer({ min: 1, max: 60_000 }), { maxLength: 20 });
  return fc
    .record({ observedMs: count, downMs: count, incidents: count, checks: count, failedChecks: count, times })
    .map((values) => aggregateOf(values));
}
