import cluster from 'node:cluster';
import type { Logger } from 'pino';
import type { Config } from '../config/config.ts';
import type { Database } from '../db/database.ts';
import { queryInTransaction } from '../db/statement.ts';
import { serveMetrics } from '../http/metrics-endpoint.ts';
import { countPendingAlerts } from '../monitoring/alerts/outbox.ts';
import { createMetrics, type Metrics, registerProcessMetrics } from '../telemetry/metrics.ts';
import type { Tracer } from '../telemetry/tracing.ts';

export interface Telemetry {
  metrics: Metrics;
  tracer: Tracer | undefined;
  close(): Promise<void>;
}

export function registerMetrics(metrics: Metrics, database: Database): void {
  registerProcessMetrics(metrics, {
    connections: () => database.connections(),
    pendingAlerts: () => database.asEngine((em) => countPendingAlerts(queryInTransaction(em))),
  });
}

/** Starts metrics and tracing as configured. In a cluster, the primary serves the metrics port. */
export async function startTelemetry(config: Config, database: Database, log: Logger): Promise<Telemetry> {
  const metrics = createMetrics();
  registerMetrics(metrics, database);
  const tracer = config.tracing && (await import('../telemetry/open-telemetry.ts')).createOpenTelemetryTracer(config.tracing, log);
  const { port, ...rest } = config.metrics;
  const server = port === undefined || cluster.isWorker ? undefined : await serveMetrics(metrics.registry, { ...rest, port }, log);
  return {
    metrics,
    tracer,
    async close() {
      await Promise.all([server?.close(), tracer?.close()]);
    },
  };
}
