import { setTimeout as delay } from 'node:timers/promises';
import { pino } from 'pino';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import type { Config } from '../../src/config/config.ts';
import type { Database } from '../../src/db/database.ts';
import { serveMetrics } from '../../src/http/metrics-endpoint.ts';
import { registerMetrics } from '../../src/runtime/telemetry.ts';
import { createMetrics } from '../../src/telemetry/metrics.ts';
import { createDatabase } from '../support/database.ts';
import { startService, type TestService } from '../support/service.ts';
import { createUserWithRows } from '../support/user-with-rows.ts';

const token = 'a-token-for-the-metrics';
const host = '127.0.0.1';
const bearer = { headers: { Authorization: `Bearer ${token}` } };
const deps = { log: pino({ level: 'silent' }), checkReadiness: async () => undefined };
let database: Database;
let service: TestService;

beforeAll(async () => {
  database = await createDatabase();
});
afterAll(() => database.close());
afterEach(() => service.stop());

async function start(metrics: Config['metrics']) {
  service = await startService({ metrics }, { database });
  return `${service.url}/metrics`;
}

test('metrics are disabled by default', async () => {
  expect((await fetch(await start({ host }), bearer)).status).toBe(404);
});

test('with METRICS_TOKEN, requests with this token get the metrics, and others get 401', async () => {
  const url = await start({ host, token });
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
  expect((await fetch(await start({ host, token, port: 0 }), bearer)).status).toBe(404);
  const metrics = createMetrics();
  registerMetrics(metrics, service.database);
  const separate = await serveMetrics(metrics.registry, { host, port: 0 }, deps);
  const text = await (await fetch(`${separate.url}/metrics`)).text();
  expect((await fetch(`${separate.url}/`)).status).toBe(404);
  await separate.close();
  expect(text).toMatch(/^sitekeeper_outbox_alerts 0$/m);
  expect(text).toMatch(/^sitekeeper_outbox_oldest_seconds 0$/m);
  expect(text).toMatch(/^sitekeeper_database_connections\{state="idle"\} \d+$/m);
  expect(text).toMatch(/^nodejs_eventloop_lag_p99_seconds \S+$/m);
});

test('the number of pending alerts is read whenever the metrics are collected', async () => {
  service = await startService();
  const metrics = createMetrics();
  registerMetrics(metrics, service.database);
  await createUserWithRows(service);
  await delay(20);
  const text = await metrics.registry.metrics();
  expect(text).toMatch(/^sitekeeper_outbox_alerts 1$/m);
  expect(text).toMatch(/^sitekeeper_outbox_oldest_seconds (0\.0*[1-9]|[1-9])/m);
});

test('the error about a used port names the settings to change', async () => {
  const { port } = new URL(await start({ host }));
  const listening = serveMetrics(createMetrics().registry, { host, port: Number(port) }, deps);
  await expect(listening).rejects.toThrow(
    `Port ${port} on ${host} is already in use. Stop the other process, or set METRICS_HOST or METRICS_PORT to another value.`,
  );
});

test('while the database is unavailable, the metrics respond, with NaN for what is in the database', async () => {
  await start({ host });
  const metrics = createMetrics();
  registerMetrics(metrics, {
    ...service.database,
    connections: () => ({ busy: 0, idle: 0, waiting: 0 }),
    asEngine: () => Promise.reject(new Error('unavailable')),
  });
  expect(await metrics.registry.metrics()).toMatch(/^sitekeeper_outbox_alerts Nan$/im);
});

test('counts requests by operation and status, and problems by code', async () => {
  const url = await start({ host, token });
  const { api } = await service.createUser();
  await api.get('/api/monitors');
  await api.get('/api/monitors/1');
  await api.get('/api/nope');
  const text = await (await fetch(url, bearer)).text();
  expect(text).toContain('sitekeeper_request_duration_seconds_count{operation="listMonitors",status="200"} 1');
  expect(text).toContain('sitekeeper_request_duration_seconds_count{operation="showMonitor",status="404"} 1');
  expect(text).toContain('sitekeeper_request_duration_seconds_count{operation="none",status="404"} 1');
  expect(text).toContain('sitekeeper_problems_total{code="not_found"} 2');
});
