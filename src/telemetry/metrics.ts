import { setTimeout as delay } from 'node:timers/promises';
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';

export type Metrics = ReturnType<typeof createMetrics>;

/** The metrics of one process, in the format of Prometheus. */
export function createMetrics() {
  const registry = new Registry();
  const registers = [registry];
  return {
    registry,
    requests: new Histogram({
      name: 'sitekeeper_request_duration_seconds',
      help: 'Duration of requests by operation of the contract (none for requests outside the contract) and status.',
      labelNames: ['operation', 'status'],
      buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10],
      registers,
    }),
    problems: new Counter({
      name: 'sitekeeper_problems_total',
      help: 'Responses with a problem, by its code.',
      labelNames: ['code'],
      registers,
    }),
    checks: new Counter({
      name: 'sitekeeper_checks_total',
      help: 'Checks by type and outcome. A local_failure says nothing about the monitor and is not recorded.',
      labelNames: ['type', 'outcome'],
      registers,
    }),
    lateness: new Histogram({
      name: 'sitekeeper_check_lateness_seconds',
      help: 'How long a monitor had been due when its check started.',
      buckets: [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300],
      registers,
    }),
    engineErrors: new Counter({
      name: 'sitekeeper_engine_errors_total',
      help: 'Iterations of the engine that failed, for example because the database was unavailable.',
      registers,
    }),
    alerts: new Counter({
      name: 'sitekeeper_alerts_total',
      help: 'Attempts to send an alert, by channel and outcome: sent, retried (will be retried), misconfigured (the same, but a setting has to be corrected), failed (permanently), suppressed (by a limit, or not confirmed by the recipient).',
      labelNames: ['channel', 'outcome'],
      registers,
    }),
  };
}

/** Values that are read when the metrics are collected. */
interface CollectedValues {
  /** The worker of a cluster that this process is. Its memory and CPU time are counted separately. */
  worker?: number | undefined;
  connections(): { busy: number; idle: number; waiting: number };
  /** Alerts that wait to be sent, and the age of the oldest. */
  pendingAlerts(): Promise<{ count: number; oldestSeconds: number }>;
  /** How long the monitor that waits longest for its check has been due. */
  oldestDueSeconds(): Promise<number>;
}

/**
 * Adds metrics of the process, the connection pool, the outbox and the schedule. Every process reads the same outbox and the same
 * schedule, so their values are not summed up, and a process that has no engine notices that the others have stopped.
 */
export function registerProcessMetrics({ registry }: Metrics, values: CollectedValues): void {
  const registers = [registry];
  registerDefaultMetrics(registry, values.worker);
  new Gauge({
    name: 'sitekeeper_database_connections',
    help: 'Busy and idle connections of the pool, and requests that wait for one.',
    labelNames: ['state'],
    registers,
    collect() {
      for (const [state, count] of Object.entries(values.connections())) this.set({ state }, count);
    },
  });
  const outbox = readSeldom(() => values.pendingAlerts(), { count: Number.NaN, oldestSeconds: Number.NaN });
  new Gauge({
    name: 'sitekeeper_outbox_alerts',
    help: 'Alerts that wait to be sent.',
    aggregator: 'max',
    registers,
    async collect() {
      this.set((await outbox()).count);
    },
  });
  new Gauge({
    name: 'sitekeeper_outbox_oldest_seconds',
    help: 'Age of the oldest alert that waits to be sent; 0 if there is none.',
    aggregator: 'max',
    registers,
    async collect() {
      this.set((await outbox()).oldestSeconds);
    },
  });
  const oldestDue = readSeldom(() => values.oldestDueSeconds(), Number.NaN);
  new Gauge({
    name: 'sitekeeper_oldest_due_check_seconds',
    help: 'How long the monitor that waits longest for its check has been due; 0 if none is due. NaN while the database is unavailable.',
    aggregator: 'max',
    registers,
    async collect() {
      this.set(await oldestDue());
    },
  });
}

/** Adds a metric that only processes with REDIS_URL have. In a cluster, one worker that cannot use Redis is what counts. */
export function registerRedisMetric({ registry }: Metrics, isAvailable: () => boolean): void {
  new Gauge({
    name: 'sitekeeper_redis_available',
    help: '1 if limits are counted in Redis; 0 while it does not respond and this process counts on its own.',
    aggregator: 'min',
    registers: [registry],
    collect() {
      this.set(isAvailable() ? 1 : 0);
    },
  });
}

/** Memory, CPU time and event loop of the process. In a cluster, a label keeps those of the workers apart. */
function registerDefaultMetrics(registry: Registry, worker: number | undefined) {
  // The default of 10 ms takes 0.6 % of a core, even if the process is idle.
  const options = { register: registry, eventLoopMonitoringPrecision: 20 };
  if (worker === undefined) return collectDefaultMetrics(options);
  collectDefaultMetrics({ ...options, labels: { worker } });
  // prom-client drops these from the metrics of a cluster, because it does not expect them to differ by a label.
  for (const metric of registry.getMetricsAsArray()) if (metric.aggregator === 'omit') metric.aggregator = 'first';
}

/** How long a value that was read from the database is used, so that frequent scrapes do not load it. */
const cacheMs = 3000;
/** A scrape must not wait longer than this for a database that does not respond: it would time out and lose all metrics. */
const readTimeoutMs = 2000;

/**
 * Several metrics and concurrent scrapes share one query. Returns `unknown` while the database is unavailable: a gap in the chart
 * is better than a wrong value.
 */
function readSeldom<T>(read: () => Promise<T>, unknown: T): () => Promise<T> {
  let latest: Promise<T> = Promise.resolve(unknown);
  let expiresAtMs = 0;
  return () => {
    if (performance.now() >= expiresAtMs) {
      expiresAtMs = Number.POSITIVE_INFINITY;
      latest = read()
        .catch(() => unknown)
        .finally(() => {
          expiresAtMs = performance.now() + cacheMs;
        });
    }
    return Promise.race([latest, delay(readTimeoutMs, unknown, { ref: false })]);
  };
}
