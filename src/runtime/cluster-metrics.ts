// Each worker counts its own metrics. The primary aggregates them, so that every process can serve the totals.
import cluster from 'node:cluster';
import { AggregatorRegistry, type Registry } from 'prom-client';
import { RetryLaterError } from '../errors.ts';
import type { MetricsSource } from '../http/metrics-endpoint.ts';

const request = { type: 'sitekeeper:metrics-request' };
type Response = { type: 'sitekeeper:metrics'; metrics: string | undefined };

/** For the primary: aggregates the metrics of all workers, and sends them to workers that request them. */
export function clusterMetrics(): MetricsSource {
  const aggregator = new AggregatorRegistry();
  // A worker that is dying or stuck does not respond.
  const read = () => aggregator.clusterMetrics().catch(() => undefined);
  cluster.on('message', async (worker, { type }: { type?: string }) => {
    if (type !== request.type) return;
    const response: Response = { type: 'sitekeeper:metrics', metrics: await read() };
    if (worker.isConnected()) worker.send(response);
  });
  return { contentType: aggregator.contentType, metrics: async () => requireMetrics(await read()) };
}

/** For a worker: sends its own metrics to the primary, and reads those of all workers from there. */
export function workerMetrics(registry: Registry): MetricsSource {
  AggregatorRegistry.setRegistries(registry);
  const { contentType } = new AggregatorRegistry(); // From now on it responds to the primary.
  let waiting: ((metrics: string | undefined) => void)[] = [];
  process.on('message', ({ type, metrics }: Partial<Response>) => {
    if (type !== 'sitekeeper:metrics') return;
    for (const resolve of waiting) resolve(metrics);
    waiting = [];
  });
  return {
    contentType,
    async metrics() {
      const response = new Promise<string | undefined>((resolve) => waiting.push(resolve));
      process.send?.(request);
      return requireMetrics(await response);
    },
  };
}

function requireMetrics(metrics: string | undefined): string {
  if (metrics === undefined) throw new RetryLaterError('unavailable', 'Not every worker has reported its metrics. Retry in 2 seconds.', 2);
  return metrics;
}
