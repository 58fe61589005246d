import cluster from 'node:cluster';
import type { Logger } from 'pino';
import { type Config, workerNumber } from '../config/config.ts';
import { type Database, databaseReadiness } from '../db/database.ts';
import type { ReadinessCheck } from '../http/health.ts';
import type { HttpServer } from '../http/server.ts';
import { countPendingAlerts } from '../monitoring/alerts/outbox.ts';
import { readOldestDueSeconds } from '../monitoring/engine/claim.ts';
import type { Role } from '../telemetry/log.ts';
import { createMetrics, type Metrics, registerProcessMetrics } from '../telemetry/metrics.ts';
import type { Tracer } from '../telemetry/tracing.ts';

export interface Telemetry {
  metrics: Metrics;
  tracer: Tracer | undefined;
  /** Makes /readyz on the metrics port fail, because the process is shutting down. */
  drain(): void;
  close(): Promise<void>;
}

export function registerMetrics(metrics: Metrics, database: Database): void {
  registerProcessMetrics(metrics, {
    connections: () => database.connections(),
    worker: workerNumber(),
    pendingAlerts: () => database.engineTransaction(countPendingAlerts),
    oldestDueSeconds: () => database.engineTransaction(readOldestDueSeconds),
  });
}

/** Starts metrics, health checks and tracing as configured. In a cluster, the primary serves the metrics port. */
export async function startTelemetry(
  role: Role,
  config: Config,
  database: Database,
  log: Logger,
  checkReadiness: ReadinessCheck = () => databaseReadiness(database),
): Promise<Telemetry> {
  const metrics = createMetrics();
  // If nobody can read them, the event loop is not measured either: that alone takes a tenth of the CPU time of a small worker.
  if (config.metrics.port !== undefined || config.metrics.token !== undefined) registerMetrics(metrics, database);
  const tracer = config.tracing && (await import('../telemetry/open-telemetry.ts')).createOpenTelemetryTracer(config.tracing, role, log);
  const { port, ...rest } = config.metrics;
  let server: HttpServer | undefined;
  if (port !== undefined && !cluster.isWorker) {
    const { serveMetrics } = await import('../http/metrics-endpoint.ts'); // A worker without this port needs no web framework.
    server = await serveMetrics(metrics.registry, { ...rest, port }, { log, checkReadiness });
  }
  return {
    metrics,
    tracer,
    drain: () => server?.drain(),
    async close() {
      await Promise.all([server?.close(), tracer?.close()]);
    },
  };
}
