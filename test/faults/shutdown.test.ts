// A process that is stopped with SIGTERM in the middle of its work.
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect } from 'vitest';
import type { Database } from '../../src/db/database.ts';
import { createDatabase, urlOf } from '../support/database.ts';
import { guarantee } from '../support/guarantee.ts';
import { startStopwatch } from '../support/stall.ts';
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
  'After a SIGTERM under load, /readyz returns 503, in-flight requests are finished, leases are released or end soon, the exit code is 0 within 10 s, and no acknowledged write is lost',
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

    const elapsed = startStopwatch();
    service.child.kill('SIGTERM');
    // It returns 503 for 2 seconds, before the port is closed.
    expect(await statusWhenNotReady(service)).toBe(503);
    const notReady = elapsed();
    service.child.kill('SIGTERM'); // Only the first one counts.
    // A load balancer stops sending requests once /readyz fails.
    const { statuses, created } = await load.stop();
    expect((await slowRequest).status).toBe(200);
    const exitCode = await service.ended;
    const ended = elapsed();
    expect(exitCode).toBe(0);
    expect(Object.keys(statuses).toSorted()).toEqual(['200', '201', '401', '404', '422']);
    const websites = await database.asUser(1, (em) => em.execute<{ domain: string }[]>('select domain from websites'));
    const stored = new Set(websites.map(({ domain }) => domain));
    expect(created.filter((domain) => !stored.has(domain))).toEqual([]);
    // Another process can try an alert again once the attempt that was running has certainly ended.
    const leases = await database.asEngine((em) =>
      em.execute(
        `select 'monitor' as kind from monitors where claim_token is not null
       union all select 'alert' from alerts where status = 'queued' and next_attempt_at > app_now() + interval '10 seconds'`,
      ),
    );
    expect(leases).toEqual([]);
    return {
      elapsed: [ended],
      measured: `readyz 503 after ${Math.round(notReady.ms)} ms, exit ${exitCode}, ${created.length} acknowledged writes kept, no lease left`,
    };
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

/** Polls /readyz until it no longer returns 200. Returns the status. */
async function statusWhenNotReady({ url }: RunningService): Promise<number> {
  for (;;) {
    const { status } = await send(undefined, `${url}/readyz`);
    if (status !== 200) return status;
    await delay(10);
  }
}
