// Processes that work hard, and processes that are killed or told to stop at the worst moment.
import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, vi } from 'vitest';
import type { Database } from '../../src/db/database.ts';
import { leaseSeconds } from '../../src/monitoring/engine/claim.ts';
import { createDatabase, urlOf } from '../support/database.ts';
import { startMailServer } from '../support/mail-server.ts';
import { startService, type TestService, type TestUser } from '../support/service.ts';
import { scripts, startWebServer, type WebServer } from '../support/web-server.ts';
import { fault } from './fault.ts';
import { Deployment, kill, type Serving } from './support/deployment.ts';
import { type Load, send, startLoad } from './support/load.ts';
import { memoryOf, tellMemoryOnSignal } from './support/memory.ts';
import { startProxy } from './support/proxy.ts';

const loadSeconds = Number(process.env.FAULTS_LOAD_SECONDS ?? 45);

let database: Database;
let deployment: Deployment;
let checking: TestService;
let alerting: TestService;
const cleanUps: (() => Promise<void>)[] = [];

beforeAll(async () => {
  database = await createDatabase();
  deployment = await Deployment.create({ DATABASE_URL: urlOf(database) });
  checking = await startService({ netAllow: ['127.0.0.0/8'] });
  alerting = await startService();
});
afterAll(async () => {
  await deployment?.remove();
  for (const cleanUp of cleanUps.toReversed()) await cleanUp();
  await checking?.stop();
  await alerting?.stop();
  await database?.close();
});

/** Workers for a service of their own. */
async function workersOf(service: TestService, settings: Record<string, string>): Promise<Deployment> {
  const workers = await Deployment.create({ DATABASE_URL: urlOf(service.database), ...settings });
  cleanUps.push(() => workers.remove());
  return workers;
}

async function startTarget(script: WebServer['script']): Promise<WebServer> {
  const target = await startWebServer({ script });
  cleanUps.push(() => target.close());
  return target;
}

describe.concurrent('at the same time', () => {
  fault(
    1,
    'Mixed load at 70 %: no 5xx, memory does not grow',
    async () => {
      const service = await deployment.serve({ NODE_OPTIONS: tellMemoryOnSignal }, ['serve', '--no-engine']);
      const capacity = await measureCapacity(service);
      const load = startLoad(service.url, deployment.key, { perSecond: capacity * 0.7, tidy: true });
      const heaps: number[] = [];
      for (let third = 1; third <= 3; third++) {
        await pause((loadSeconds / 3) * 1000);
        heaps.push((await memoryOf(service)).heap);
      }
      const { statuses, answers, slowestMs } = await load.stop();
      await kill(service);
      const [, second = 0, last = 0] = heaps;
      expect(Object.keys(statuses).toSorted()).toEqual(['200', '201', '401', '404', '422']);
      // Half a kilobyte kept of each request would be more.
      expect(last - second).toBeLessThan(Math.max(3, ((answers / 3) * 500) / 1e6));
      return `${answers} requests in ${loadSeconds} s at 70 % of ${Math.round(capacity)}/s, slowest ${Math.round(slowestMs)} ms; heap ${heaps.map((heap) => heap.toFixed(1)).join(', ')} MB`;
    },
    (loadSeconds + 60) * 1000,
  );

  fault(
    2,
    'SIGKILL of a worker in the middle of checks: re-checked within the lease, one incident',
    async () => {
      const monitors = 20;
      const target = await startTarget(scripts.hang());
      const workers = await workersOf(checking, {});
      const { api, id } = await checking.createUser();
      for (let n = 0; n < monitors; n++) await api.post('/api/monitors', { json: { friendly_name: `M ${n}`, url: `${target.url}/${n}` } });
      await checking.database.asEngine((em) => em.execute('update monitors set next_check_at = now()', [], 'run'));
      const reached = () => new Set(target.requests.map(({ path }) => path)).size;
      const first = await workers.work();
      await vi.waitFor(() => expect(reached()).toBe(monitors), { timeout: 9000, interval: 20 }); // before the first times out
      await kill(first);
      const start = performance.now();
      target.requests.length = 0;
      target.script = scripts.accept('broken', 503);
      await workers.work();
      await vi.waitFor(() => expect(reached()).toBe(monitors), { timeout: 50_000, interval: 50 });
      const seconds = (performance.now() - start) / 1000;
      const incidents = () =>
        checking.database.asUser(id, (em) => em.execute('select monitor_id from incidents where resolved_at is null'));
      await vi.waitFor(async () => expect(await incidents()).toHaveLength(monitors), { timeout: 60_000, interval: 200 });
      const all = await checking.database.asUser(id, (em) => em.execute('select id from incidents'));
      expect(seconds).toBeLessThan(leaseSeconds + 15); // the machine is busy with what runs beside this
      expect(all).toHaveLength(monitors);
      return `${monitors} checks cut off, all made again ${seconds.toFixed(1)} s later (lease ${leaseSeconds} s), ${all.length} incidents`;
    },
    180_000,
  );

  fault(
    3,
    'SIGKILL between sending an alert and marking it: delivered at least once, with the same Message-ID',
    async () => {
      let beforeTaking = async () => {};
      const mail = await startMailServer({ onMailFrom: (_, __, done) => void beforeTaking().then(() => done(), done) });
      cleanUps.push(() => mail.close());
      const workers = await workersOf(alerting, { SMTP_URL: `smtp://${mail.host}` });
      const user = await alerting.createUser();
      const first = await workers.work();
      const admin = new pg.Client({ connectionString: urlOf(alerting.database) });
      await admin.connect();
      // From the moment when the mail is on its way, nobody can mark it.
      beforeTaking = async () => {
        beforeTaking = async () => {};
        await admin.query('begin');
        await admin.query('lock table alerts in share row exclusive mode');
      };
      await queueAlerts(alerting.database, user, { provider_type: 'email', recipient_email: 'ops@example.com' }, 1);
      const watcher = new pg.Client({ connectionString: urlOf(alerting.database) });
      await watcher.connect();
      const waiting = async () =>
        (await watcher.query(`select from pg_stat_activity where wait_event_type = 'Lock' and query ~ 'set status = ''sent'''`)).rowCount;
      await vi.waitFor(async () => expect(await waiting()).toBe(1), { timeout: 30_000, interval: 20 });
      await watcher.end();
      expect(mail.mails).toHaveLength(1);
      await kill(first);
      await admin.query('rollback');
      await admin.end();
      // The lease of a minute is over at once.
      await alerting.database.asEngine((em) => em.execute('update alerts set next_attempt_at = now()', [], 'run'));
      await workers.work();
      const status = async () =>
        (await alerting.database.asUser(user.id, (em) => em.execute<{ status: string }[]>('select status from alerts')))[0];
      await vi.waitFor(async () => expect(await status()).toEqual({ status: 'sent' }), { timeout: 30_000 });
      const ids = mail.mails.map(({ parsed }) => parsed.messageId);
      expect(ids).toHaveLength(2);
      expect(new Set(ids).size).toBe(1);
      return `delivered ${ids.length} times as ${ids[0]}`;
    },
    120_000,
  );
});

fault(
  4,
  'SIGKILL in the middle of a POST, repeated with the same Idempotency-Key: one row',
  async () => {
    const proxy = await startProxy(urlOf(database));
    cleanUps.push(() => proxy.close());
    const moments = {
      'before the row': [[/insert into "?websites/]],
      'before the kept answer': [[/insert into idempotent_responses/]],
      'before the commit': [[/insert into idempotent_responses/, /commit/]],
      'after the commit': [[/insert into idempotent_responses/, /commit/], { passOn: true }],
    } satisfies Record<string, Parameters<typeof proxy.holdAt>>;
    const rows = async (domain: string) => (await websites()).filter((found) => found === domain).length;
    const found: string[] = [];
    let service = await deployment.serve({ DATABASE_URL: proxy.url }, ['serve', '--no-engine']);
    for (const [moment, hold] of Object.entries(moments)) {
      const domain = `${moment.replaceAll(' ', '-')}.example`;
      const create = () =>
        send(undefined, `${service.url}/api/v1/websites`, {
          method: 'POST',
          key: deployment.key,
          form: `domain=${domain}`,
          headers: { 'Idempotency-Key': `repeat-${domain}` },
        });
      const held = proxy.holdAt(...(hold as Parameters<typeof proxy.holdAt>));
      const broken = create();
      await held;
      await kill(service);
      expect((await broken).status).toBe(0);
      service = await deployment.serve({ DATABASE_URL: proxy.url }, ['serve', '--no-engine']);
      const before = await rows(domain);
      expect([moment, before]).toEqual([moment, moment === 'after the commit' ? 1 : 0]);
      expect([(await create()).status, (await create()).status]).toEqual([201, 201]);
      expect(await rows(domain)).toBe(1);
      found.push(moment);
    }
    await kill(service);
    return `killed ${found.join(', ')}: one row each`;
  },
  150_000,
);

fault(
  26,
  'SIGTERM under load: readyz 503, running requests answered, leases released, exit 0 within 10 s, no answered write lost',
  async () => {
    const target = await startTarget(scripts.hang());
    // Takes its time for a test, and never answers an alert.
    const telegram = await startTarget(({ body }, response) => {
      if (body.includes('Test notification')) setTimeout(() => response.end('{"ok":true,"result":{"message_id":1}}'), 3000);
    });
    const service = await deployment.serve({ TELEGRAM_API_URL: telegram.url });
    const { body } = await service.api.post('/api/monitors', { json: { friendly_name: 'Shop', url: target.url } });
    const provider = { provider_type: 'telegram', chat_id: '-100123', token: '123456:hiddenhiddenhiddenhiddenhiddenhid' };
    const [user] = await database.asEngine((em) =>
      em.execute<{ user_id: number }[]>('select user_id from monitors where id = ?', [body.data.id]),
    );
    const providerId = await queueAlerts(database, { id: user?.user_id ?? 0, api: service.api }, provider, 3);
    await expect.poll(() => target.requests.length, { timeout: 15_000 }).toBeGreaterThan(0);
    await expect.poll(() => telegram.requests.length, { timeout: 15_000 }).toBeGreaterThan(0);
    const load = startLoad(service.url, deployment.key);
    await expect.poll(() => load.outcome.created.length, { timeout: 20_000 }).toBeGreaterThan(20);
    const slow = service.api.post(`/api/providers/${providerId}/test`);
    const isTested = () => telegram.requests.some(({ body }) => body.includes('Test notification'));
    await expect.poll(isTested, { timeout: 20_000, interval: 10 }).toBe(true);

    const start = performance.now();
    service.child.kill('SIGTERM');
    const { status, unseenMs } = await watchReadyz(service, start);
    // It says so for 2 seconds. Whoever could not look for as long, because the machine stood still, finds nobody there.
    if (unseenMs < 1500) expect(status).toBe(503);
    const awayMs = performance.now() - start;
    // As a load balancer would.
    const { statuses, created } = await load.stop();
    expect((await slow).status).toBe(200);
    const code = await service.ended;
    const seconds = (performance.now() - start) / 1000;
    expect(code).toBe(0);
    expect(seconds).toBeLessThan(15); // by its own clock it would have given up after 9, with another code
    // A load balancer that comes late meets closed doors.
    if (awayMs < 1500) expect(Object.keys(statuses).toSorted()).toEqual(['200', '201', '401', '404', '422']);
    const kept = new Set(await websites());
    expect(created.filter((domain) => !kept.has(domain))).toEqual([]);
    const leases = await database.asEngine((em) =>
      em.execute(
        `select 'monitor' as what from monitors where claim_token is not null
       union all select 'alert' from alerts where status = 'pending' and lease_token is not null`,
      ),
    );
    expect(leases).toEqual([]);
    return `readyz ${status || 'gone, 503 not seen'} after ${Math.round(awayMs)} ms, exit ${code} after ${seconds.toFixed(1)} s, ${created.length} answered writes kept, no lease left`;
  },
  150_000,
);

/** What readyz says when it no longer says 200, as it did at `startMs`; and for how long nobody had seen what it says. */
async function watchReadyz({ url }: Serving, startMs: number): Promise<{ status: number; unseenMs: number }> {
  for (let readyMs = startMs; ; await pause(10)) {
    const askedMs = performance.now();
    const { status } = await send(undefined, `${url}/readyz`);
    if (status !== 200) return { status, unseenMs: performance.now() - readyMs };
    if (askedMs - startMs > 10_000) throw new Error('readyz still says 200');
    readyMs = askedMs;
  }
}

async function websites(): Promise<string[]> {
  const admin = new pg.Client({ connectionString: urlOf(database) });
  await admin.connect();
  try {
    // The owner of the tables is bound by the policies, too.
    const sql = `select set_config('app.user_id', '1', false)`;
    await admin.query(sql);
    return (await admin.query<{ domain: string }>('select domain from websites')).rows.map(({ domain }) => domain);
  } finally {
    await admin.end();
  }
}

/** Alerts of as many incidents that are over, for a new provider; returns its id. */
async function queueAlerts(on: Database, user: Pick<TestUser, 'id' | 'api'>, provider: object, count: number): Promise<number> {
  const monitor = await user.api.post('/api/monitors', {
    json: { friendly_name: 'Paused', url: 'https://shop.example', is_active: false },
  });
  const { body } = await user.api.post('/api/providers', { json: provider });
  await on.asEngine((em) =>
    em.execute(
      `with laid as (
         insert into incidents (user_id, monitor_id, started_at, resolved_at, cause)
         select ?, ?, now(), now(), 'HTTP 503' from generate_series(1, ?) returning id, user_id
       )
       insert into alerts (user_id, incident_id, provider_id, kind, subject, body) select user_id, id, ?, 'down', 'S', 'B' from laid`,
      [user.id, monitor.body.data.id, count, body.data.id],
    ),
  );
  return body.data.id;
}

/** Answers a second when everybody asks as quickly as they can, after a while of warming up. */
async function measureCapacity({ url }: Serving): Promise<number> {
  const load: Load = startLoad(url, deployment.key, { tidy: true });
  await pause(3000);
  const before = load.outcome.answers;
  await pause(3000);
  const after = load.outcome.answers;
  await load.stop();
  return (after - before) / 3;
}
