import { type Aggregate, noResponseTimes } from './aggregate.ts';
import { histogramOf } from './histogram.ts';
import { hourMs } from './periods.ts';
import type { SingleCheck } from './single-check.ts';
import { clip, lengthOf, type TimeRange, union } from './time-ranges.ts';

/** What is known of a monitor in the last days, in detail. */
export interface History {
  observed: TimeRange[];
  /** An open incident has no end yet. */
  incidents: TimeRange[];
  /** By the start of the hour. */
  logs: Map<number, CheckLog>;
}

/** The checks of an hour. */
export interface CheckLog {
  checks: SingleCheck[];
  /** The number of checks for which there was no space. */
  moreSuccesses: number;
  moreFailures: number;
}

/** Calculates what has happened in a period from the details. */
export function aggregate({ observed, incidents, logs }: History, period: TimeRange): Aggregate {
  const isIn = (ms: number) => ms >= period.fromMs && ms < period.toMs;
  const observedThen = clip(observed, period);
  // Incidents overlap only if the clock was moved back.
  const down = union(clip(incidents, period)).flatMap((range) => clip(observedThen, range));
  const checks: SingleCheck[] = [];
  let [moreSuccesses, moreFailures] = [0, 0];
  for (const [startMs, log] of logs) {
    if (startMs >= period.toMs || startMs + hourMs <= period.fromMs) continue;
    for (const check of log.checks) if (isIn(check.checkedAtMs)) checks.push(check);
    if (!isIn(startMs)) continue; // The checks without space have no time, so they count at the start of their hour.
    moreSuccesses += log.moreSuccesses;
    moreFailures += log.moreFailures;
  }
  return {
    observedMs: Math.round(lengthOf(observedThen)),
    downMs: Math.round(lengthOf(down)),
    incidents: incidents.filter(({ fromMs }) => isIn(fromMs)).length,
    checks: checks.length + moreSuccesses + moreFailures,
    failedChecks: checks.filter(({ failure }) => failure).length + moreFailures,
    responseTimes: responseTimesOf(checks),
  };
}

/** A target that fails may respond very fast, so only the times of successful checks count. */
function responseTimesOf(checks: SingleCheck[]): Aggregate['responseTimes'] {
  const times: number[] = [];
  let [totalMs, minMs, maxMs] = [0, Number.POSITIVE_INFINITY, 0];
  for (const { failure, responseTimeMs } of checks) {
    if (failure || responseTimeMs === undefined) continue;
    times.push(responseTimeMs);
    totalMs += responseTimeMs;
    minMs = Math.min(minMs, responseTimeMs);
    maxMs = Math.max(maxMs, responseTimeMs);
  }
  return times.length === 0 ? noResponseTimes : { histogram: histogramOf(times), totalMs, minMs, maxMs };
}
