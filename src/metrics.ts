import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import type { Database } from './db/database.ts';

export type Metrics = ReturnType<typeof createMetrics>;

/** What a process counts and times, in the form that Prometheus reads. */
export function createMetrics() {
  const registry = new Registry();
  const registers = [registry];
  return {
    registry,
    requests: new Histogram({
      name: 'sitekeeper_request_duration_seconds',
      help: 'Requests by operation of the contract (none: no operation) and status, and how long they took.',
      labelNames: ['operation', 'status'],
      buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10],
      registers,
    }),
    refusals: new Counter({
      name: 'sitekeeper_refusals_total',
      help: 'Requests that were refused, by the code of the problem; rate_limited among them.',
      labelNames: ['code'],
      registers,
    }),
    checks: new Counter({
      name: 'sitekeeper_checks_total',
      help: 'Checks by type and outcome; our_fault could not be made for a reason on our side, and nothing was recorded.',
      labelNames: ['type', 'outcome'],
      registers,
    }),
    lateness: new Histogram({
      name: 'sitekeeper_check_lateness_seconds',
      help: 'How long a monitor had been due when its check began.',
      buckets: [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300],
      registers,
    }),
    engineFaults: new Counter({
      name: 'sitekeeper_engine_database_faults_total',
      help: 'Rounds of the engine in which the database could not be reached; nothing was recorded.',
      registers,
    }),
    alerts: new Counter({
      name: 'sitekeeper_alerts_total',
      help: 'Attempts to send an alert, by channel and outcome: sent, retried, failed (given up).',
      labelNames: ['channel', 'outcome'],
      registers,
    }),
  };
}

/**
 * Adds what is read when somebody asks: the process, the pool, and what lies in the database. That is the same for every
 * worker of a cluster, so it is not summed up.
 */
export function watchProcess({ registry }: Metrics, database: Database): void {
  const registers = [registry];
  collectDefaultMetrics({ register: registry });
  new Gauge({
    name: 'sitekeeper_database_connections',
    help: 'Connections of the pool that are busy or idle, and requests that wait for one.',
    labelNames: ['state'],
    registers,
    collect() {
      for (const [state, count] of Object.entries(database.connections())) this.set({ state }, count);
    },
  });
  let reading: ReturnType<typeof readOutbox> | undefined;
  /** One statement, however many ask at once. */
  const outbox = () => {
    reading ??= readOutbox(database).finally(() => {
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
    help: 'Age of the oldest alert that waits to be sent; 0 where none does.',
    aggregator: 'max',
    registers,
    async collect() {
      this.set((await outbox()).oldest);
    },
  });
}

/** Not a number while the database is away: a gap in the chart, not a lie. */
async function readOutbox(database: Database): Promise<{ count: number; oldest: number }> {
  try {
    const [row] = await database.asEngine((em) =>
      em.execute<{ count: number; oldest: number }[]>(
        `select count(*)::int as count, coalesce(extract(epoch from now() - min(created_at)), 0)::float8 as oldest
           from alerts where status = 'pending'`,
      ),
    );
    return row ?? { count: 0, oldest: 0 };
  } catch {
    return { count: Number.NaN, oldest: Number.NaN };
  }
}
