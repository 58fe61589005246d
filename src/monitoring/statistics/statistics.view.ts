import type { components } from '../../../generated/types/monitoring.ts';
import type { Aggregate, ResponseTimes } from './aggregate.ts';
import { countOf, percentileOf } from './histogram.ts';
import type { Statistics } from './read-statistics.ts';
import type { SingleCheck } from './single-check.ts';

type Schemas = components['schemas'];

export function statisticsView({ monitorId, window, range, total, incidentCount, buckets }: Statistics): Schemas['Statistics'] {
  return {
    monitor_id: monitorId,
    window,
    from: toTime(range.fromMs),
    to: toTime(Math.floor(range.toMs / 1000) * 1000),
    uptime_percent: uptimePercent(total),
    observed_seconds: toSeconds(total.observedMs),
    down_seconds: toSeconds(total.downMs),
    incident_count: incidentCount,
    checks: checkCounts(total),
    response_time_ms: responseTimesView(total.responseTimes),
    buckets: buckets.map(({ range, value }) => ({
      from: toTime(range.fromMs),
      to: toTime(range.toMs),
      uptime_percent: uptimePercent(value),
      checks: checkCounts(value),
      response_time_ms: responseTimesView(value.responseTimes),
    })),
  };
}

export function checkView({ checkedAtMs, responseTimeMs, failure }: SingleCheck): Schemas['Check'] {
  return {
    checked_at: toTime(checkedAtMs),
    outcome: failure ? 'down' : 'up',
    response_time_ms: responseTimeMs ?? null,
    status_code: failure?.statusCode ?? null,
    cause: failure?.cause ?? null,
  };
}

/** The share of the observed time without an incident, from whole seconds, as they are shown. Null if nothing was observed. */
export function uptimePercent({ observedMs, downMs }: Pick<Aggregate, 'observedMs' | 'downMs'>): number | null {
  const observed = toSeconds(observedMs);
  return observed === 0 ? null : Math.round(100_000 * (1 - Math.min(toSeconds(downMs), observed) / observed)) / 1000;
}

function checkCounts({ checks, failedChecks }: Aggregate): Schemas['CheckCounts'] {
  return { total: checks, failed: failedChecks };
}

/** A percentile is the middle of a bucket of the histogram, which may be beyond the shortest or the longest time. */
function responseTimesView({ histogram, totalMs, minMs, maxMs }: ResponseTimes): Schemas['ResponseTimes'] {
  const count = countOf(histogram);
  if (count === 0) return null;
  const percentile = (share: number) => Math.min(maxMs, Math.max(minMs, Math.round(percentileOf(histogram, share))));
  return {
    average: Math.round(totalMs / count),
    p50: percentile(0.5),
    p95: percentile(0.95),
    p99: percentile(0.99),
    min: minMs,
    max: maxMs,
  };
}

function toSeconds(ms: number): number {
  return Math.round(ms / 1000);
}

function toTime(ms: number): string {
  return new Date(ms).toISOString();
}
