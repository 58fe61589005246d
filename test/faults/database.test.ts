// What becomes of the service when its database dies or stands still. The server is the test's own.
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, expect } from 'vitest';
import { openPostgres } from '../../src/db/postgres.ts';
import { entities } from '../../src/entities.ts';
import { type MailServer, startMailServer } from '../support/mail-server.ts';
import { startWebServer, type WebServer } from '../support/web-server.ts';
import { fault } from './fault.ts';
import { Deployment, type Serving } from './support/deployment.ts';
import { type Answered, send, startLoad } from './support/load.ts';
import { createPostgres, type PostgresServer } from './support/postgres.ts';

let postgres: PostgresServer;
let deployment: Deployment;
let service: Serving;
let mail: MailServer;
let target: WebServer;

beforeAll(async () => {
  [postgres, mail, target] = await Promise.all([createPostgres(), startMailServer(), startWebServer()]);
  deployment = await Deployment.create({ DATABASE_URL: postgres.url, SMTP_URL: `smtp://${mail.host}` });
  service = await deployment.serve();
});
afterAll(async () => {
  await deployment?.remove();
  await postgres?.remove();
  await mail.close();
  await target.close();
});

/** A transaction of the engine from outside the service. */
async function query<Row>(sql: string, parameters: unknown[] = []): Promise<Row[]> {
  const database = await openPostgres(postgres.url, entities, { poolSize: 1 });
  try {
    return await database.asEngine((em) => em.execute<Row[]>(sql, parameters));
  } finally {
    await database.close();
  }
}

async function createMonitor(): Promise<number> {
  const { body } = await service.api.post('/api/monitors', { json: { friendly_name: 'Shop', url: target.url, interval: 30 } });
  return body.data.id;
}

const get = (path: string) => send(undefined, service.url + path, { key: deployment.key });
const isList = async () => (await get('/api/v1/websites')).status === 200;

fault(
  5,
  'PostgreSQL restarted under load: 503 meanwhile, back within 5 s, no alert lost or sent twice',
  async () => {
    const alerts = 40;
    // Its first check is under way when it happens.
    const answer = target.script;
    const held = Promise.withResolvers<void>();
    target.script = async (request, response) => {
      await held.promise;
      answer(request, response);
    };
    const monitor = await createMonitor();
    await expect.poll(() => target.requests.length, { timeout: 20_000 }).toBeGreaterThan(0);
    const provider = await service.api.post('/api/providers', { json: { provider_type: 'email', recipient_email: 'ops@example.com' } });
    const load = startLoad(service.url, deployment.key, { perSecond: 100 });
    await query(
      `with laid as (
       insert into incidents (user_id, monitor_id, started_at, resolved_at, cause)
       select m.user_id, m.id, now(), now(), 'HTTP 503' from monitors m, generate_series(1, ?) where m.id = ? returning id, user_id
     )
     insert into alerts (user_id, incident_id, provider_id, kind, subject, body) select user_id, id, ?, 'down', 'S', 'B' from laid`,
      [alerts, monitor, provider.body.data.id],
    );
    await expect.poll(() => mail.mails.length, { timeout: 20_000 }).toBeGreaterThan(3);
    await postgres.crash();
    held.resolve();
    target.script = answer;
    await expect.poll(() => load.outcome.statuses[503], { timeout: 20_000 }).toBeGreaterThan(50);
    const [ready, healthy] = [await get('/readyz'), await get('/healthz')];
    await postgres.start();
    const start = performance.now();
    await expect.poll(isList, { timeout: 20_000, interval: 20 }).toBe(true);
    const backMs = performance.now() - start;
    const outcome = await load.stop();
    // What was found out meanwhile is recorded, long before the lease of the check is over.
    const status = async () => (await service.api.get(`/api/monitors/${monitor}`)).body.data.status;
    await expect.poll(status, { timeout: 15_000 }).toBe('up');
    // Those that were under way are still this process's, which knows how far it came.
    const statuses = () => query<{ status: string; count: number }>('select status, count(*)::int from alerts group by 1');
    await expect.poll(statuses, { timeout: 30_000, interval: 500 }).toEqual([{ status: 'sent', count: alerts }]);
    expect([ready.status, healthy.status]).toEqual([503, 200]);
    expect(backMs).toBeLessThan(12_000); // on a slow machine, too; a connection that nobody takes back is silent for 16 s
    expect(Object.keys(outcome.statuses).toSorted()).toEqual(['200', '201', '401', '404', '422', '503']);
    expect(outcome.shapeless).toBe(0);
    expect(new Set(mail.mails.map(({ parsed }) => parsed.messageId)).size).toBe(alerts);
    expect(mail.mails.length).toBe(alerts);
    const { body } = await service.api.get('/api/v1/websites');
    expect(body.meta.total).toBeGreaterThanOrEqual(outcome.created.length);
    return `${outcome.statuses[503]} × 503, back after ${Math.round(backMs)} ms, ${alerts} of ${alerts} alerts sent once`;
  },
  150_000,
);

fault(
  6,
  'PostgreSQL frozen for 60 s: readyz 503, healthz 200, requests answered 503 within 25 s, no false "down"',
  async () => {
    const monitors = await Promise.all(Array.from({ length: 10 }, createMonitor));
    const states = async () => (await service.api.get('/api/monitors?pageSize=100')).body.data;
    await expect
      .poll(async () => new Set((await states()).map((row: { status: string }) => row.status)), { timeout: 40_000 })
      .toEqual(new Set(['up']));
    // Requests and checks are under way when it happens; there are more clients than connections in the pool.
    const load = startLoad(service.url, deployment.key, { connections: 30 });
    await expect.poll(() => load.outcome.answers, { timeout: 20_000 }).toBeGreaterThan(100);
    const failures = async () => (await query<{ sum: number }>('select sum(failures)::int from check_hours'))[0]?.sum;
    const failuresBefore = await failures();
    const answer = target.script;
    target.script = (request, response) => void setTimeout(() => answer(request, response), 1000);
    const seen = target.requests.length;
    await query('update monitors set next_check_at = now() returning id');
    await expect.poll(() => target.requests.length, { timeout: 20_000, interval: 10 }).toBeGreaterThan(seen);

    const end = performance.now() + 60_000;
    postgres.freeze();
    const probes: { ready: Answered; healthy: Answered }[] = [];
    while (performance.now() < end) {
      const [ready, healthy] = await Promise.all([get('/readyz'), get('/healthz')]);
      probes.push({ ready, healthy });
      await pause(Math.max(0, Math.min(3000, end - performance.now())));
    }
    postgres.thaw();
    const start = performance.now();
    await expect.poll(isList, { timeout: 20_000, interval: 50 }).toBe(true);
    const backMs = performance.now() - start;
    const { statuses, slowestMs, shapeless } = await load.stop();

    expect(Object.keys(statuses).toSorted()).toEqual(['200', '201', '401', '404', '422', '503']);
    expect(shapeless).toBe(0);
    // Five for a connection of the pool, sixteen of silence on it, and the rest for a slow machine; two silences would be more.
    expect(slowestMs).toBeLessThan(30_000);
    // The median, because a machine that stands still for a moment makes one of them late.
    const readyMs = probes.map(({ ready }) => ready.ms).toSorted((a, b) => a - b)[probes.length >> 1] ?? 0;
    expect(new Set(probes.map(({ ready, healthy }) => `${ready.status} ${healthy.status}`))).toEqual(new Set(['503 200']));
    expect(readyMs).toBeLessThan(4500); // less than it takes to get no connection
    // Checks go on, and nothing of this was the monitors' fault.
    const before = target.requests.length;
    await expect.poll(() => target.requests.length, { timeout: 40_000 }).toBeGreaterThan(before + 3);
    const [faults] = await query<{ count: number }>('select count(*)::int as count from incidents where resolved_at is null');
    expect(faults?.count).toBe(0);
    for (const row of await states()) expect(row).toMatchObject({ status: 'up', last_error: null });
    expect(await failures()).toBe(failuresBefore);
    return `${statuses[503]} × 503, slowest after ${(slowestMs / 1000).toFixed(1)} s; readyz 503 after ${(readyMs / 1000).toFixed(1)} s; back after ${Math.round(backMs)} ms; ${monitors.length} monitors up`;
  },
  240_000,
);
