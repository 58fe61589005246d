import { setTimeout as delay } from 'node:timers/promises';
import { pino } from 'pino';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import type { Config } from '../../src/config/config.ts';
import type { Database } from '../../src/db/database.ts';
import { serveMetrics } from '../../src/http/metrics-endpoint.ts';
import { registerMetrics } from '../../src/runtime/telemetry.ts';
import { createMetrics, registerRedisMetric } from '../../src/telemetry/metrics.ts';
import { createDatabase } from '../support/database.ts';
import { startService } from '../support/service.ts';
import { startTestClock } from '../support/test-clock.ts';
import { createUserWithRows } from '../support/user-with-rows.ts';

const token = 'a-token-for-the-metrics';
const host = '127.0.0.1';
const bearer = { headers: { Authorization: `Bearer ${token}` } };
const deps = { log: pino({ level: 'silent' }), checkReadiness: async () => undefined };
let database: Database;

beforeAll(async () => {
  database = await createDatabase();
});
afterAll(() => database.close());

/** Starts a service that is stopped at the end of the test. */
async function start(...options: Parameters<typeof startService>) {
  const service = await startService(...options);
  onTestFinished(() => service.stop());
  return service;
}

async function startWith(metrics: Config['metrics']) {
  const service = await start({ metrics }, { database });
  return { ...service, metricsUrl: `${service.url}/metrics` };
}

test('metrics are disabled by default', async () => {
  expect((await fetch((await startWith({ host })).metricsUrl, bearer)).status).toBe(404);
});

test('with METRICS_TOKEN, requests with this token get the metrics, and others get 401', async () => {
  const { metricsUrl: url } = await startWith({ host, token });
  expect((await fetch(url, bearer)).status).toBe(200);
  for (const Authorization of ['', token, `Bearer ${token}x`, 'Bearer ']) {
    const response = await fetch(url, { headers: { Authorization } });
    expect([Authorization, response.status]).toEqual([Authorization, 401]);
    expect(await response.json()).toMatchObject({
      code: 'unauthenticated',
      detail: 'Send the value of METRICS_TOKEN in the header "Authorization: Bearer <token>".',
    });
  }
});

test('with METRICS_PORT, the metrics are on that port and not next to the APIs', async () => {
  expect((await fetch((await startWith({ host, token, port: 0 })).metricsUrl, bearer)).status).toBe(404);
  const metrics = createMetrics();
  registerMetrics(metrics, database);
  const separate = await serveMetrics(metrics.registry, { host, port: 0 }, deps);
  const text = await (await fetch(`${separate.url}/metrics`)).text();
  expect((await fetch(`${separate.url}/`)).status).toBe(404);
  await separate.close();
  expect(text).toMatch(/^sitekeeper_outbox_alerts 0$/m);
  expect(text).toMatch(/^sitekeeper_outbox_oldest_seconds 0$/m);
  expect(text).toMatch(/^sitekeeper_oldest_due_check_seconds 0$/m);
  expect(text).toMatch(/^sitekeeper_database_connections\{state="idle"\} \d+$/m);
  expect(text).toMatch(/^nodejs_eventloop_lag_p99_seconds \S+$/m);
});

test('the number of pending alerts is read whenever the metrics are collected', async () => {
  const service = await start();
  const metrics = createMetrics();
  registerMetrics(metrics, service.database);
  await createUserWithRows(service);
  await delay(20);
  const text = await metrics.registry.metrics();
  expect(text).toMatch(/^sitekeeper_outbox_alerts 1$/m);
  expect(text).toMatch(/^sitekeeper_outbox_oldest_seconds (0\.0*[1-9]|[1-9])/m);
});

test('shows how long the monitor that waits longest has been due, also if the process that claimed it has died', async () => {
  const service = await start();
  const { api, id } = await service.createUser();
  const create = (name: string) => api.post('/api/monitors', { json: { friendly_name: name, url: 'https://shop.example' } });
  for (const name of ['not due', 'claimed', 'abandoned', 'paused']) expect((await create(name)).status).toBe(201);
  const schedule = (name: string, at: string) =>
    service.database.asEngine((em) =>
      em.execute(`update monitors set next_check_at = ${at} where user_id = ? and friendly_name = ?`, [id, name], 'run'),
    );
  const oldestDue = async () => {
    const metrics = createMetrics();
    registerMetrics(metrics, service.database);
    return Number(/^sitekeeper_oldest_due_check_seconds (\S+)$/m.exec(await metrics.registry.metrics())?.[1]);
  };
  await schedule('not due', "now() + interval '1 hour'");
  await schedule('claimed', "now() + interval '30 seconds', claim_token = 1");
  await schedule('abandoned', "now() + interval '20 seconds', claim_token = 2");
  await schedule('paused', 'null');
  expect(await oldestDue()).toBe(0);
  await schedule('abandoned', "now() - interval '5 minutes'"); // Its lease expired long ago, and it still has its token.
  expect(await oldestDue()).toBeGreaterThanOrEqual(300);
  expect(await oldestDue()).toBeLessThan(330);
});

test('in a cluster, values that every worker reads from the database count once, and one worker without Redis counts', () => {
  const metrics = createMetrics();
  registerMetrics(metrics, database);
  registerRedisMetric(metrics, () => true);
  const aggregatorOf = (name: string) => (metrics.registry.getSingleMetric(name) as { aggregator?: string } | undefined)?.aggregator;
  for (const name of ['sitekeeper_outbox_alerts', 'sitekeeper_outbox_oldest_seconds', 'sitekeeper_oldest_due_check_seconds'])
    expect([name, aggregatorOf(name)]).toEqual([name, 'max']);
  expect(aggregatorOf('sitekeeper_redis_available')).toBe('min');
});

test('however often the metrics are collected, the database is read once in a few seconds', async () => {
  let transactions = 0;
  const metrics = createMetrics();
  registerMetrics(metrics, {
    ...database,
    connections: () => ({ busy: 0, idle: 0, waiting: 0 }),
    engineTransaction: (work) => {
      transactions++;
      return database.engineTransaction(work);
    },
  });
  await Promise.all(Array.from({ length: 20 }, () => metrics.registry.metrics()));
  await metrics.registry.metrics();
  expect(transactions).toBe(2); // One for the outbox, and one for the schedule.
});

test('the port of the metrics serves health checks without a token', async () => {
  const clock = startTestClock();
  onTestFinished(() => clock.stop());
  let reason: string | undefined;
  const separate = await serveMetrics(createMetrics().registry, { host, port: 0, token }, { ...deps, checkReadiness: async () => reason });
  const get = async (path: string) => {
    const response = await fetch(`${separate.url}${path}`);
    return [response.status, await response.json()];
  };
  try {
    expect(await get('/healthz')).toEqual([200, { status: 'ok' }]);
    expect(await get('/readyz')).toEqual([200, { status: 'ready' }]);
    reason = 'the loop that runs checks does not turn';
    clock.advance(1000);
    expect(await get('/readyz')).toEqual([503, { status: 'not ready', reason }]);
    expect(await get('/healthz')).toEqual([200, { status: 'ok' }]);
    expect((await get('/metrics'))[0]).toBe(401);
    expect((await fetch(`${separate.url}/readyz`, { method: 'POST' })).status).toBe(405);
  } finally {
    await separate.close();
  }
});

test('however often /readyz is requested, the database is asked once a second', async () => {
  let checks = 0;
  const checkReadiness = async () => {
    checks++;
    return undefined;
  };
  const separate = await serveMetrics(createMetrics().registry, { host, port: 0 }, { ...deps, checkReadiness });
  const startMs = performance.now();
  await Promise.all(Array.from({ length: 50 }, () => fetch(`${separate.url}/readyz`)));
  const seconds = (performance.now() - startMs) / 1000;
  await separate.close();
  expect(checks).toBeLessThanOrEqual(1 + Math.floor(seconds));
});

test('the error about a used port names the settings to change', async () => {
  const first = await serveMetrics(createMetrics().registry, { host, port: 0 }, deps);
  onTestFinished(() => first.close());
  const { port } = new URL(first.url);
  const listening = serveMetrics(createMetrics().registry, { host, port: Number(port) }, deps);
  await expect(listening).rejects.toThrow(
    `Port ${port} on ${host} is already in use. Stop the other process, or set METRICS_HOST or METRICS_PORT to another value.`,
  );
});

test.each([
  ['fails', () => Promise.reject(new Error('unavailable'))],
  ['does not respond', () => new Promise<never>(() => {})],
])('while the database %s, the metrics respond, with NaN for what is in the database', async (_, engineTransaction) => {
  const clock = startTestClock();
  onTestFinished(() => clock.stop());
  const metrics = createMetrics();
  registerMetrics(metrics, { ...database, connections: () => ({ busy: 0, idle: 0, waiting: 0 }), engineTransaction });
  const collecting = metrics.registry.metrics();
  clock.advance(2000);
  const text = await collecting;
  expect(text).toMatch(/^sitekeeper_outbox_alerts Nan$/im);
  expect(text).toMatch(/^sitekeeper_oldest_due_check_seconds Nan$/im);
});

test('counts requests by operation and status, and problems by code', async () => {
  const { metricsUrl: url, createUser } = await startWith({ host, token });
  const { api } = await createUser();
  await api.get('/api/monitors');
  await api.get('/api/monitors/1');
  await api.get('/api/nope');
  const text = await (await fetch(url, bearer)).text();
  expect(text).toContain('sitekeeper_request_duration_seconds_count{operation="listMonitors",status="200"} 1');
  expect(text).toContain('sitekeeper_request_duration_seconds_count{operation="showMonitor",status="404"} 1');
  expect(text).toContain('sitekeeper_request_duration_seconds_count{operation="none",status="404"} 1');
  expect(text).toContain('sitekeeper_problems_total{code="not_found"} 2');
});
