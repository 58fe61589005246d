import { setTimeout as pause } from 'node:timers/promises';
import { pino } from 'pino';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import type { Config } from '../../src/config/config.ts';
import type { Database } from '../../src/db/database.ts';
import { listenForMetrics } from '../../src/http/metrics-endpoint.ts';
import { collectMetrics } from '../../src/runtime/telemetry.ts';
import { createMetrics } from '../../src/telemetry/metrics.ts';
import { createDatabase } from '../support/database.ts';
import { startService, type TestService } from '../support/service.ts';
import { createUserWithRows } from '../support/user-with-rows.ts';

const token = 'let-me-see-the-metrics';
const host = '127.0.0.1';
const bearer = { headers: { Authorization: `Bearer ${token}` } };
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

test('by default nobody sees metrics', async () => {
  expect((await fetch(await start({ host }), bearer)).status).toBe(404);
});

test('with a token they are there for whoever brings it, and for nobody else', async () => {
  const url = await start({ host, token });
  expect((await fetch(url, bearer)).status).toBe(200);
  for (const Authorization of ['', token, `Bearer ${token}x`, 'Bearer ']) {
    const refused = await fetch(url, { headers: { Authorization } });
    expect(refused.status).toBe(401);
    expect(await refused.json()).toMatchObject({ code: 'unauthenticated' });
  }
});

test('with a port of their own they are there and not beside the APIs', async () => {
  expect((await fetch(await start({ host, token, port: 0 }), bearer)).status).toBe(404);
  const metrics = createMetrics();
  collectMetrics(metrics, service.database);
  const own = await listenForMetrics(metrics.registry, { host, port: 0 }, pino({ level: 'silent' }));
  const text = await (await fetch(`${own.url}/metrics`)).text();
  expect((await fetch(`${own.url}/`)).status).toBe(404);
  await own.close();
  expect(text).toMatch(/^sitekeeper_outbox_alerts 0$/m);
  expect(text).toMatch(/^sitekeeper_outbox_oldest_seconds 0$/m);
  expect(text).toMatch(/^sitekeeper_database_connections\{state="idle"\} \d+$/m);
  expect(text).toMatch(/^nodejs_eventloop_lag_p99_seconds \S+$/m);
});

test('what waits to be sent is told as it is now, not as it was when last asked', async () => {
  service = await startService();
  const metrics = createMetrics();
  collectMetrics(metrics, service.database);
  await createUserWithRows(service);
  await pause(20);
  const text = await metrics.registry.metrics();
  expect(text).toMatch(/^sitekeeper_outbox_alerts 1$/m);
  expect(text).toMatch(/^sitekeeper_outbox_oldest_seconds (0\.0*[1-9]|[1-9])/m);
});

test('a port that is taken is said with the setting that names it', async () => {
  const { port } = new URL(await start({ host }));
  const listening = listenForMetrics(createMetrics().registry, { host, port: Number(port) }, pino({ level: 'silent' }));
  await expect(listening).rejects.toThrow(
    `Cannot listen on ${host}:${port}: it is taken by another process. Set METRICS_HOST or METRICS_PORT`,
  );
});

test('while the database is away the metrics still answer', async () => {
  await start({ host });
  const metrics = createMetrics();
  collectMetrics(metrics, {
    ...service.database,
    connections: () => ({ busy: 0, idle: 0, waiting: 0 }),
    asEngine: () => Promise.reject(new Error('away')),
  });
  expect(await metrics.registry.metrics()).toMatch(/^sitekeeper_outbox_alerts Nan$/im);
});

test('requests are counted by operation and status, refusals by code', async () => {
  const url = await start({ host, token });
  const { api } = await service.createUser();
  await api.get('/api/monitors');
  await api.get('/api/monitors/1');
  await api.get('/api/nowhere');
  const text = await (await fetch(url, bearer)).text();
  expect(text).toContain('sitekeeper_request_duration_seconds_count{operation="listMonitors",status="200"} 1');
  expect(text).toContain('sitekeeper_request_duration_seconds_count{operation="showMonitor",status="404"} 1');
  expect(text).toContain('sitekeeper_request_duration_seconds_count{operation="none",status="404"} 1');
  expect(text).toContain('sitekeeper_problems_total{code="not_found"} 2');
});
