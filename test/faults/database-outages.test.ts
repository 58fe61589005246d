// A PostgreSQL server that crashes or freezes.
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect } from 'vitest';
import type { Work } from '../../src/db/database.ts';
import { openPostgres } from '../../src/db/postgres.ts';
import { entities } from '../../src/entities.ts';
import { countLogs, type LogRow, selectLogs } from '../support/check-history.ts';
import { guarantee } from '../support/guarantee.ts';
import { lengthOf } from '../support/length.ts';
import { slowest, startStopwatch } from '../support/stall.ts';
import { wakeAll } from '../support/wake.ts';
import { startWebServer, type WebServer } from '../support/web-server.ts';
import { Deployment, type RunningService } from './support/deployment.ts';
import { send, startLoad, type TimedResponse } from './support/load.ts';
import { createPostgres, type PostgresServer } from './support/postgres.ts';
import { queueAlerts } from './support/queue-alerts.ts';

let postgres: PostgresServer;
let deployment: Deployment;
let service: RunningService;
/** Responds after a moment. */
let webhook: WebServer;
let target: WebServer;

beforeAll(async () => {
  [postgres, target] = await Promise.all([createPostgres(), startWebServer()]);
  webhook = await startWebServer({ script: (_, response) => void setTimeout(() => response.end(), 20) });
  deployment = await Deployment.create({
    DATABASE_URL: postgres.url,
    MIGRATE_DATABASE_URL: postgres.ownerUrl,
  });
  service = await deployment.serve();
});
afterAll(async () => {
  await deployment?.remove();
  await postgres?.remove();
  await webhook?.close();
  await target.close();
});

/** Runs a transaction with the rights of the engine on a new connection, because earlier connections may be lost. */
async function asEngine<T>(work: Work<T>): Promise<T> {
  const database = await openPostgres(postgres.url, entities, { poolSize: 1 });
  try {
    return await database.asEngine(work);
  } finally {
    await database.close();
  }
}

const query = <Row>(sql: string) => asEngine((em) => em.execute<Row[]>(sql));

async function createMonitor(): Promise<number> {
  const { body } = await service.api.post('/api/monitors', { json: { friendly_name: 'Shop', url: target.url, interval: 30 } });
  return body.data.id;
}

const get = (path: string) => send(undefined, service.url + path, { key: deployment.key });
const canListWebsites = async () => (await get('/api/v1/websites')).status === 200;

guarantee(
  6,
  'While PostgreSQL restarts under load, requests get 503; afterwards the service recovers within 5 s, and no alert is lost or sent twice',
  async () => {
    const alerts = 40;
    // The first check of the monitor is in progress when PostgreSQL crashes.
    const respond = target.script;
    const released = Promise.withResolvers<void>();
    target.script = async (request, response) => {
      await released.promise;
      respond(request, response);
    };
    const monitorId = await createMonitor();
    await expect.poll(() => target.requests.length, { timeout: 20_000 }).toBeGreaterThan(0);
    const provider = await service.api.post('/api/providers', { json: { provider_type: 'webhook', webhook_url: webhook.url } });
    const load = startLoad(service.url, deployment.key, { perSecond: 100 });
    await asEngine((em) => queueAlerts(em, { monitorId, providerId: provider.body.data.id, count: alerts }));
    await expect.poll(() => webhook.requests.length, { timeout: 20_000 }).toBeGreaterThan(3);
    await postgres.crash();
    released.resolve();
    target.script = respond;
    await expect.poll(() => load.outcome.statuses[503], { timeout: 20_000 }).toBeGreaterThan(50);
    const [ready, healthy] = [await get('/readyz'), await get('/healthz')];
    await postgres.start();
    const elapsed = startStopwatch();
    await expect.poll(canListWebsites, { timeout: 60_000, interval: 20 }).toBe(true);
    const recovery = elapsed();
    const outcome = await load.stop();
    // The result of the check is recorded long before the lease of the check expires.
    const status = async () => (await service.api.get(`/api/monitors/${monitorId}`)).body.data.status;
    await expect.poll(status, { timeout: 15_000 }).toBe('up');
    // The process still owns the alerts that it was sending, and knows which of them it has sent.
    const statuses = () => query<{ status: string; count: number }>('select status, count(*)::int from alerts group by 1');
    await expect.poll(statuses, { timeout: 30_000, interval: 500 }).toEqual([{ status: 'sent', count: alerts }]);
    expect([ready.status, healthy.status]).toEqual([503, 200]);
    expect(Object.keys(outcome.statuses).toSorted()).toEqual(['200', '201', '401', '404', '422', '503']);
    expect(outcome.malformedErrors).toBe(0);
    expect(new Set(webhook.requests.map(({ headers }) => headers['webhook-id'])).size).toBe(alerts);
    expect(webhook.requests.length).toBe(alerts);
    const { body } = await service.api.get('/api/v1/websites');
    expect(body.meta.total).toBeGreaterThanOrEqual(outcome.created.length);
    return { elapsed: [recovery], measured: `${outcome.statuses[503]} × 503, ${alerts} of ${alerts} alerts sent once` };
  },
  150_000,
);

// A request waits for a connection for up to 5 s, and on a silent connection for 16 s. It must fail while PostgreSQL is frozen.
const frozenSeconds = lengthOf({ short: 30, long: 60 });

guarantee(
  7,
  `While PostgreSQL is frozen for ${frozenSeconds} s, /readyz returns 503 and /healthz 200 within 3 s, other requests get 503 within 25 s, and no monitor is reported down`,
  async () => {
    const monitors = await Promise.all(Array.from({ length: 10 }, createMonitor));
    const listMonitors = async () => (await service.api.get('/api/monitors?pageSize=100')).body.data;
    await expect
      .poll(async () => new Set((await listMonitors()).map((monitor: { status: string }) => monitor.status)), { timeout: 40_000 })
      .toEqual(new Set(['up']));
    // Requests and checks are in progress when PostgreSQL freezes. There are more clients than connections in the pool.
    const load = startLoad(service.url, deployment.key, { connections: 30 });
    await expect.poll(() => load.outcome.responses, { timeout: 20_000 }).toBeGreaterThan(100);
    const countFailures = async () => countLogs(await query<LogRow>(selectLogs)).failures;
    const failuresBefore = await countFailures();
    const respond = target.script;
    target.script = (request, response) => void setTimeout(() => respond(request, response), 1000);
    const requestsBefore = target.requests.length;
    await query('update monitors set next_check_at = now() returning id');
    await wakeAll({ asEngine });
    await expect.poll(() => target.requests.length, { timeout: 20_000, interval: 10 }).toBeGreaterThan(requestsBefore);

    const end = performance.now() + frozenSeconds * 1000;
    postgres.freeze();
    const healthChecks: { ready: TimedResponse; healthy: TimedResponse }[] = [];
    while (performance.now() < end) {
      const [ready, healthy] = await Promise.all([get('/readyz'), get('/healthz')]);
      healthChecks.push({ ready, healthy });
      await delay(Math.max(0, Math.min(3000, end - performance.now())));
    }
    postgres.thaw();
    const recovering = startStopwatch();
    await expect.poll(canListWebsites, { timeout: 60_000, interval: 50 }).toBe(true);
    const recovery = recovering();
    const { statuses, slowest: slowestRequest, malformedErrors } = await load.stop();

    expect(Object.keys(statuses).toSorted()).toEqual(['200', '201', '401', '404', '422', '503']);
    expect(malformedErrors).toBe(0);
    expect(new Set(healthChecks.map(({ ready, healthy }) => `${ready.status} ${healthy.status}`))).toEqual(new Set(['503 200']));
    // Checks continue, and none of this was counted as a failure of a monitor.
    const before = target.requests.length;
    await expect.poll(() => target.requests.length, { timeout: 40_000 }).toBeGreaterThan(before + 3);
    const [openIncidents] = await query<{ count: number }>('select count(*)::int as count from incidents where resolved_at is null');
    expect(openIncidents?.count).toBe(0);
    for (const monitor of await listMonitors()) expect(monitor).toMatchObject({ status: 'up', last_error: null });
    expect(await countFailures()).toBe(failuresBefore);
    return {
      elapsed: [slowest(healthChecks.flatMap(({ ready, healthy }) => [ready, healthy])), slowestRequest],
      measured: `${statuses[503]} × 503, recovered after ${Math.round(recovery.ms)} ms; ${monitors.length} monitors up`,
    };
  },
  240_000,
);
