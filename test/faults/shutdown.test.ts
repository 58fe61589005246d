// A process that is stopped with SIGTERM in the middle of its work.
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect } from 'vitest';
import type { Database } from '../../src/db/database.ts';
import { createDatabase, urlOf } from '../support/database.ts';
import { guarantee } from '../support/guarantee.ts';
import { scripts, startWebServer, type WebServer } from '../support/web-server.ts';
import { Deployment, type RunningService } from './support/deployment.ts';
import { send, startLoad } from './support/load.ts';
import { queueAlerts } from './support/queue-alerts.ts';

let database: Database;
let deployment: Deployment;
let target: WebServer;
let telegram: WebServer;

beforeAll(async () => {
  database = await createDatabase();
  target = await startWebServer({ script: scripts.hang() });
  // It responds slowly to a test notification, and never to an alert.
  telegram = await startWebServer({
    script: ({ body }, response) => {
      if (body.includes('Test notification')) setTimeout(() => response.end('{"ok":true,"result":{"message_id":1}}'), 3000);
    },
  });
  deployment = await Deployment.create({ DATABASE_URL: urlOf(database), TELEGRAM_API_URL: telegram.url });
});
afterAll(async () => {
  await deployment?.remove();
  await telegram?.close();
  await target?.close();
  await database?.close();
});

guarantee(
  5,
  'After a SIGTERM under load, /readyz returns 503, in-flight requests are finished, leases are released, the exit code is 0 within 10 s, and no acknowledged write is lost',
  async () => {
    const service = await deployment.serve();
    const { providerId } = await createWork(service);
    await expect.poll(() => target.requests.length, { timeout: 15_000 }).toBeGreaterThan(0);
    await expect.poll(() => telegram.requests.length, { timeout: 15_000 }).toBeGreaterThan(0);
    const load = startLoad(service.url, deployment.key);
    await expect.poll(() => load.outcome.created.length, { timeout: 20_000 }).toBeGreaterThan(20);
    const slowRequest = service.api.post(`/api/providers/${providerId}/test`);
    const isInFlight = () => telegram.requests.some(({ body }) => body.includes('Test notification'));
    await expect.poll(isInFlight, { timeout: 20_000, interval: 10 }).toBe(true);

    const start = performance.now();
    service.child.kill('SIGTERM');
    const { status, unobservedMs } = await waitUntilNotReady(service, start);
    // /readyz returns 503 for 2 seconds. If this machine was suspended for as long, the port may be closed already.
    if (unobservedMs < 1500) expect(status).toBe(503);
    const notReadyMs = performance.now() - start;
    service.child.kill('SIGTERM'); // Only the first one counts.
    // A load balancer stops sending requests once /readyz fails.
    const { statuses, created } = await load.stop();
    expect((await slowRequest).status).toBe(200);
    const exitCode = await service.ended;
    const seconds = (performance.now() - start) / 1000;
    expect(exitCode).toBe(0);
    expect(seconds).toBeLessThan(15); // After 9 seconds by its own clock, the process would have exited with 1.
    // If the load stopped too late, some of its connections were refused.
    if (notReadyMs < 1500) expect(Object.keys(statuses).toSorted()).toEqual(['200', '201', '401', '404', '422']);
    const websites = await database.asUser(1, (em) => em.execute<{ domain: string }[]>('select domain from websites'));
    const stored = new Set(websites.map(({ domain }) => domain));
    expect(created.filter((domain) => !stored.has(domain))).toEqual([]);
    const leases = await database.asEngine((em) =>
      em.execute(
        `select 'monitor' as kind from monitors where claim_token is not null
       union all select 'alert' from alerts where status = 'pending' and lease_token is not null`,
      ),
    );
    expect(leases).toEqual([]);
    return `readyz ${status || 'closed, 503 not observed'} after ${Math.round(notReadyMs)} ms, exit ${exitCode} after ${seconds.toFixed(1)} s, ${created.length} acknowledged writes kept, no lease left`;
  },
  150_000,
);

/** Creates a monitor whose check hangs, and alerts whose delivery hangs. */
async function createWork({ api }: RunningService): Promise<{ providerId: number }> {
  await api.post('/api/monitors', { json: { friendly_name: 'Shop', url: target.url } });
  const paused = await api.post('/api/monitors', { json: { friendly_name: 'Paused', url: 'https://shop.example', is_active: false } });
  const telegramProvider = { provider_type: 'telegram', chat_id: '-100123', token: '123456:hiddenhiddenhiddenhiddenhiddenhid' };
  const provider = await api.post('/api/providers', { json: telegramProvider });
  const providerId: number = provider.body.data.id;
  await database.asEngine((em) => queueAlerts(em, { monitorId: paused.body.data.id, providerId, count: 3 }));
  return { providerId };
}

/** Polls /readyz until it no longer returns 200. Returns the status, and the time since the last 200 was requested. */
async function waitUntilNotReady({ url }: RunningService, startMs: number): Promise<{ status: number; unobservedMs: number }> {
  for (let readyMs = startMs; ; await delay(10)) {
    const requestedMs = performance.now();
    const { status } = await send(undefined, `${url}/readyz`);
    if (status !== 200) return { status, unobservedMs: performance.now() - readyMs };
    if (requestedMs - startMs > 10_000) throw new Error('/readyz still returns 200');
    readyMs = requestedMs;
  }
}
