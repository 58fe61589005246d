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
      help: 'Attempts to send an alert, by channel and outcome: sent, retried (will be retried), failed (permanently), suppressed (by a limit).',
      labelNames: ['channel', 'outcome'],
      registers,
    }),
  };
}

/** Values that are read when the metrics are collected. */
interface CollectedValues {
  connections(): { busy: number; idle: number; waiting: number };
  /** Alerts that wait to be sent, and the age of the oldest. */
  pendingAlerts(): Promise<{ count: number; oldestSeconds: number }>;
}

/**
 * Adds metrics of the process, the connection pool and the outbox. Every worker of a cluster reads the same outbox, so its
 * values are not summed up.
 */
export function registerProcessMetrics({ registry }: Metrics, { connections, pendingAlerts }: CollectedValues): void {
  const registers = [registry];
  // The default of 10 ms takes 0.6 % of a core, even if the process is idle.
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: 20 });
  new Gauge({
    name: 'sitekeeper_database_connections',
    help: 'Busy and idle connections of the pool, and requests that wait for one.',
    labelNames: ['state'],
    registers,
    collect() {
      for (const [state, count] of Object.entries(connections())) this.set({ state }, count);
    },
  });
  let reading: ReturnType<typeof readOutbox> | undefined;
  /** Both gauges, and concurrent scrapes, share one query. */
  const outbox = () => {
    reading ??= readOutbox(pendingAlerts).finally(() => {
      reading = undefined;
    });
    return reading;
  };
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

/** Reports NaN while the database is unavailable: a gap in the chart is better than a wrong value. */
async function readOutbox(pendingAlerts: CollectedValues['pendingAlerts']) {
  try {
    return await pendingAlerts();
  } catch {
    return { count: Number.NaN, oldestSeconds: Number.NaN };
  }
}
