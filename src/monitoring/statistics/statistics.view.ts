import type { components } from '../../../generated/types/monitoring.ts';
import type { Aggregate, ResponseTimes } from './aggregate.ts';
import { countOf, percentilesOf } from './histogram.ts';
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
    buckets: bucketsView(buckets),
  };
}

/** Writing a time takes as long as the rest of a bucket. Where one ends, the next one starts. */
function bucketsView(buckets: Statistics['buckets']): Schemas['StatisticsBucket'][] {
  let from = buckets[0] ? toTime(buckets[0].range.fromMs) : '';
  return buckets.map(({ range, value }) => {
    const to = toTime(range.toMs);
    const bucket = {
      from,
      to,
      uptime_percent: uptimePercent(value),
      checks: checkCounts(value),
      response_time_ms: responseTimesView(value.responseTimes),
    };
    from = to;
    return bucket;
  });
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
  const percentiles = percentilesOf(histogram, [0.5, 0.95, 0.99]);
  const [p50 = 0, p95 = 0, p99 = 0] = percentiles.map((ms) => Math.min(maxMs, Math.max(minMs, Math.round(ms))));
  return { average: Math.round(totalMs / count), p50, p95, p99, min: minMs, max: maxMs };
}

function toSeconds(ms: number): number {
  return Math.round(ms / 1000);
}

function toTime(ms: number): string {
  return new Date(ms).toISOString();
}
