// Most engines and dispatchers here sleep for an hour unless they are woken, so that a test passes only if something wakes them.
import pg from 'pg';
import { pino } from 'pino';
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import type { Database } from '../../../src/db/database.ts';
import type { NotificationListener } from '../../../src/db/listen.ts';
import { queryInTransaction } from '../../../src/db/statement.ts';
import { Dispatcher } from '../../../src/monitoring/alerts/dispatcher.ts';
import { leaseAlerts } from '../../../src/monitoring/alerts/lease-alerts.ts';
import { releaseAlerts } from '../../../src/monitoring/alerts/leases.ts';
import { createChannels } from '../../../src/monitoring/channels/registry.ts';
import { Engine } from '../../../src/monitoring/engine/engine.ts';
import { recordResults } from '../../../src/monitoring/engine/record.ts';
import { releaseClaims } from '../../../src/monitoring/engine/release.ts';
import { listenForWork, wakeEngine } from '../../../src/monitoring/wake.ts';
import { parseRanges } from '../../../src/net/addresses.ts';
import { Pinger } from '../../../src/net/ping.ts';
import { createMetrics } from '../../../src/telemetry/metrics.ts';
import { testCipher } from '../../support/cipher.ts';
import { ownerUrlOf, reopen } from '../../support/database.ts';
import { startReceivers } from '../../support/receivers.ts';
import { startService, type TestService, type TestUser } from '../../support/service.ts';
import { startTestClock, type TestClock } from '../../support/test-clock.ts';
import { scripts, startWebServer, type WebServer } from '../../support/web-server.ts';
import { countTransactions } from '../count-transactions.ts';
import { createMonitor } from '../factories.ts';
import { createHeartbeat } from '../heartbeats/heartbeat-monitors.ts';
import { claimOf, makeOverdue } from './due-monitors.ts';

const maxSleepMs = 3_600_000;
const log = pino({ level: 'silent' });
const nobody = { wake() {} };

let service: TestService;
let database: Database;
let user: TestUser;
let clock: TestClock;

beforeAll(async () => {
  service = await startService({ netAllow: ['127.0.0.0/8'] });
  database = service.database;
});
beforeEach(async () => {
  clock = startTestClock();
  onTestFinished(() => clock.stop());
  await database.asEngine((em) => em.execute('update monitors set next_check_at = null', [], 'run'));
  user = await service.createUser();
});
afterAll(() => service.stop());

/** Another process that uses the same database. */
async function openOther(): Promise<Database> {
  const other = await reopen(database);
  if (other !== database) onTestFinished(() => other.close());
  return other;
}

/**
 * Lets time pass for a loop: what is due then becomes due in the database, and its timers run. A loop that sleeps longer goes on
 * sleeping, because nothing is notified.
 */
async function letPass(seconds: number) {
  await database.asEngine(async (em) => {
    await em.execute(`update monitors set next_check_at = next_check_at - ? * interval '1 second'`, [seconds], 'run');
    await em.execute(`update alerts set next_attempt_at = next_attempt_at - ? * interval '1 second'`, [seconds], 'run');
  });
  clock.advance(seconds * 1000);
}

/** Returns how many transactions a loop that sleeps runs within half an hour. Its stop() waits for one that has begun. */
async function transactionsWhileIdle(transactions: () => number, loop: { stop(): Promise<void> }): Promise<number> {
  const before = transactions();
  clock.advance(1_800_000);
  await loop.stop();
  return transactions() - before;
}

test('engine and dispatcher are woken when the lost connection for notifications is back', async () => {
  const listeners: NotificationListener[] = [];
  const listen: Database['listen'] = async (_, listener) => void listeners.push(listener);
  const woken: string[] = [];
  await listenForWork({ listen } as Database, {
    engine: { wake: () => woken.push('engine') },
    dispatcher: { wake: () => woken.push('dispatcher') },
  });
  for (const listener of listeners) listener.onReconnect();
  expect(woken.sort()).toEqual(['dispatcher', 'engine']);
});

describe('a request tells the engines of all processes that it', () => {
  const monitor = { url: 'https://example.com', interval: 3600 };
  const put = (path: string, json: object) => user.api.put(path, { json });

  test.each([
    ['creates a monitor', { ...monitor, is_active: false }, () => createMonitor(user, monitor)],
    ['resumes a monitor', { ...monitor, is_active: false }, (path: string) => put(path, { is_active: true })],
    [
      'resumes many monitors',
      { ...monitor, is_active: false, tags: ['group'] },
      () => user.api.post('/api/monitors/bulk', { json: { tag: 'group', action: 'resume' } }),
    ],
    ['shortens the interval of a monitor', monitor, (path: string) => put(path, { interval: 30 })],
    ['checks a monitor now', monitor, (path: string) => user.api.post(`${path}/check`)],
  ])('%s', async (_, existing, send) => {
    const { path } = await createMonitor(user, existing);
    const received: string[] = [];
    await database.listen('work_available', { onNotification: (payload) => received.push(payload), onReconnect() {} });
    /** Notifications arrive in the order of their transactions. */
    const barrier = async (name: string) => {
      await database.asEngine((em) => em.execute(`select pg_notify('work_available', '${name}')`));
      await expect.poll(() => received, { timeout: 15_000 }).toContain(name);
    };
    await barrier('before');
    await send(path);
    await barrier('after');
    expect(received.slice(received.indexOf('before'))).toEqual(['before', 'engine', 'after']);
  });
});

describe('engine', () => {
  let target: WebServer;

  beforeEach(async () => {
    target = await startWebServer();
    onTestFinished(() => target.close());
  });

  /** Starts an engine, and resolves when it has found nothing to do and sleeps. */
  async function startEngine({ listens = false, sleeps = { maxSleepMs } as { maxSleepMs?: number } } = {}) {
    const { counting, transactions } = countTransactions(database);
    const net = { allow: parseRanges(['127.0.0.0/8']) };
    const engine = new Engine({
      database: counting,
      net,
      pinger: new Pinger(async () => undefined),
      cipher: testCipher,
      log,
      metrics: createMetrics(),
      ...sleeps,
    });
    if (listens) await listenForWork(database, { engine, dispatcher: nobody });
    engine.start();
    onTestFinished(() => engine.stop());
    await expect.poll(transactions, { timeout: 15_000 }).toBeGreaterThan(0);
    return { engine, transactions };
  }

  const schedule = (where: Database, id: number, when: string, ...others: ReturnType<typeof wakeEngine>[]) =>
    where.asEngine(async (em) => {
      await em.execute(`update monitors set next_check_at = now() + ?::interval where id = ?`, [when, id], 'run');
      await queryInTransaction(em)(...others);
    });
  const checks = () => target.requests.length;

  async function createUnscheduledMonitor(): Promise<number> {
    const { id } = await createMonitor(user, { url: target.url });
    await database.asEngine((em) => em.execute('update monitors set next_check_at = null where id = ?', [id], 'run'));
    return id;
  }

  test('runs no transaction while nothing is due', async () => {
    const id = await createUnscheduledMonitor();
    await schedule(database, id, '1 hour');
    const { engine, transactions } = await startEngine();
    expect(await transactionsWhileIdle(transactions, engine)).toBe(0);
  });

  test('wakes when the next monitor is due', async () => {
    const id = await createUnscheduledMonitor();
    await schedule(database, id, '1 minute');
    await startEngine();
    await letPass(60);
    await expect.poll(checks, { timeout: 15_000 }).toBeGreaterThan(0);
  });

  test('wakes after 30 seconds by default, also if it is not told that a monitor is due', async () => {
    const id = await createUnscheduledMonitor();
    await startEngine({ sleeps: {} });
    await schedule(database, id, '0 seconds');
    clock.advance(30_000);
    await expect.poll(checks, { timeout: 15_000 }).toBeGreaterThan(0);
  });

  test('records the result of a check, and repeats a failed one when that is due', async () => {
    target.script = scripts.respond('broken', 503);
    const id = await createUnscheduledMonitor();
    await schedule(database, id, '0 seconds');
    await startEngine();
    const readState = () =>
      database.asUser(user.id, (em) => em.execute<{ status: string; failures: number }[]>('select status, failures from monitors'));
    for (const failures of [1, 2]) {
      // On a slow machine the next check may be due and have run before this looks.
      await expect.poll(async () => (await readState())[0]?.failures, { timeout: 15_000 }).toBeGreaterThanOrEqual(failures);
      await letPass(5);
    }
    await expect.poll(readState, { timeout: 15_000 }).toEqual([{ status: 'down', failures: 3 }]);
    expect(checks()).toBe(3);
  });

  test('is woken by a transaction of another process that schedules a monitor', async () => {
    const id = await createUnscheduledMonitor();
    await startEngine({ listens: true });
    await schedule(await openOther(), id, '0 seconds', wakeEngine({}));
    await expect.poll(checks, { timeout: 15_000 }).toBeGreaterThan(0);
  });

  test.each([
    ['creates', () => createMonitor(user, { url: target.url })],
    ['resumes', (path: string) => user.api.put(path, { json: { is_active: true } })],
  ])('is woken by a request that %s a monitor', async (_, send) => {
    const { path } = await createMonitor(user, { url: target.url, is_active: false });
    const { transactions } = await startEngine({ listens: true });
    const before = transactions();
    await send(path);
    await expect.poll(transactions, { timeout: 15_000 }).toBeGreaterThan(before);
    await letPass(5); // It is due within 5 seconds.
    await expect.poll(checks, { timeout: 15_000 }).toBeGreaterThan(0);
  });

  test.each([
    ['checks it now', (path: string) => user.api.post(`${path}/check`), 202],
    ['shortens its interval', (path: string) => user.api.put(path, { json: { interval: 30 } }), 200],
  ])('is woken for a monitor that is due in an hour by a request that %s', async (_, send, expected) => {
    const { id, path } = await createMonitor(user, { url: target.url, interval: 3600 });
    await schedule(database, id, '1 hour');
    const { transactions } = await startEngine({ listens: true });
    const before = transactions();
    expect((await send(path)).status).toBe(expected);
    await expect.poll(transactions, { timeout: 15_000 }).toBeGreaterThan(before);
    await letPass(5);
    await expect.poll(checks, { timeout: 15_000 }).toBeGreaterThan(0);
  });

  test('is woken by another process that releases its claims', async () => {
    const id = await createUnscheduledMonitor();
    const other = await openOther();
    const [claim] = await other.asEngine(async (em) => {
      await makeOverdue(em, user.id);
      return claimOf(em, user.id, 1);
    });
    if (!claim) throw new Error('The monitor was not claimed.');
    await schedule(database, id, '1 hour');
    await startEngine({ listens: true });
    await other.asEngine((em) => releaseClaims(queryInTransaction(em), [{ claim }], 0));
    await expect.poll(checks, { timeout: 15_000 }).toBeGreaterThan(0);
  });

  test.runIf(process.env.TEST_DATABASE_URL)('is woken when the lost connection for notifications is back', async () => {
    const id = await createUnscheduledMonitor();
    await startEngine({ listens: true });
    await schedule(database, id, '0 seconds');
    const owner = new pg.Client({ connectionString: ownerUrlOf(database) });
    await owner.connect();
    await owner.query(
      `select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and application_name = 'sitekeeper listener'`,
    );
    await owner.end();
    await expect.poll(checks, { timeout: 15_000 }).toBeGreaterThan(0);
  });
});

describe('dispatcher', () => {
  let receivers: Awaited<ReturnType<typeof startReceivers>>;

  beforeAll(async () => {
    receivers = await startReceivers();
  });
  afterAll(() => receivers.close());

  async function startDispatcher({ listens = false, sleeps = { maxSleepMs } as { maxSleepMs?: number } } = {}) {
    const { counting, transactions } = countTransactions(database);
    const dispatcher = new Dispatcher({
      database: counting,
      channels: createChannels(receivers.delivery, receivers.net),
      cipher: testCipher,
      log,
      metrics: createMetrics(),
      ...sleeps,
    });
    if (listens) await listenForWork(database, { engine: nobody, dispatcher });
    dispatcher.start();
    onTestFinished(() => dispatcher.stop());
    await expect.poll(transactions, { timeout: 15_000 }).toBeGreaterThan(0);
    return { dispatcher, transactions };
  }

  /** Assigns a provider to a monitor. Returns its id. */
  async function assignTelegram(path: string): Promise<number> {
    const { body } = await user.api.post('/api/providers', { json: receivers.providers.telegram });
    await user.api.post(`${path}/notifications`, { json: { provider_id: body.data.id } });
    return body.data.id;
  }

  /** Opens an incident of a new monitor that alerts a provider, as an engine in another process does. Returns the provider. */
  async function openIncident(): Promise<number> {
    const { id, path } = await createMonitor(user);
    const providerId = await assignTelegram(path);
    const other = await openOther();
    await other.asEngine(async (em) => {
      await em.execute(`update monitors set failures = 2, first_failed_at = now(), first_cause = 'HTTP 503' where id = ?`, [id], 'run');
      await makeOverdue(em, user.id);
      const claims = await claimOf(em, user.id, 1);
      expect(claims.map((claim) => claim.id)).toEqual([id]);
      const result = { up: false, cause: 'HTTP 503', statusCode: 503 } as const;
      const completed = claims.map((claim) => ({ claim, result, startedMs: performance.now() }));
      expect(await recordResults(queryInTransaction(em), completed)).toEqual({ accepted: 1, hasAlerts: true });
    });
    return providerId;
  }

  const received = () => receivers.received().telegram.length;
  const postponeAlerts = () =>
    database.asEngine((em) =>
      em.execute(`update alerts set next_attempt_at = now() + interval '1 hour' where status = 'queued'`, [], 'run'),
    );

  test('runs no transaction while nothing is due', async () => {
    await openIncident();
    await postponeAlerts();
    const { dispatcher, transactions } = await startDispatcher();
    expect(await transactionsWhileIdle(transactions, dispatcher)).toBe(0);
  });

  test('is woken by a transaction of another process that queues an alert', async () => {
    await startDispatcher({ listens: true });
    const before = received();
    await openIncident();
    await expect.poll(received, { timeout: 15_000 }).toBe(before + 1);
  });

  test('is woken by a heartbeat that reports a failure', async () => {
    const { path, receiver } = await createHeartbeat(user);
    await assignTelegram(path);
    await startDispatcher({ listens: true });
    const before = received();
    await service.anonymous.post(`${receiver}/fail`);
    await expect.poll(received, { timeout: 15_000 }).toBe(before + 1);
  });

  test.each(['an assignment', 'a bulk change'])('is woken by %s with reminders of an open incident', async (change) => {
    const providerId = await openIncident();
    await database.asEngine((em) => em.execute(`update alerts set status = 'sent', queued_at = now() - interval '1 hour'`, [], 'run'));
    const monitorId = (await user.api.get('/api/monitors')).body.data[0].id;
    const assignment = { provider_id: providerId, remind_every_seconds: 300 };
    if (change === 'a bulk change')
      await user.api.post(`/api/monitors/${monitorId}/notifications`, { json: { ...assignment, enabled: false } });
    await startDispatcher({ listens: true });
    const before = received();
    if (change === 'an assignment') await user.api.post(`/api/monitors/${monitorId}/notifications`, { json: assignment });
    else await user.api.post('/api/monitors/bulk', { json: { ids: [monitorId], action: 'assign', provider_id: providerId } });
    await expect.poll(received, { timeout: 15_000 }).toBe(before + 1);
  });

  test('wakes when the next reminder is due', async () => {
    await openIncident();
    await database.asEngine(async (em) => {
      await em.execute(`update alerts set status = 'sent', queued_at = now() - interval '1 hour' where user_id = ?`, [user.id], 'run');
      await em.execute(`update incidents set remind_at = now() + interval '1 second' where user_id = ?`, [user.id], 'run');
    });
    await database.asUser(user.id, (em) => em.execute('update notifications set remind_every_seconds = 300', [], 'run'));
    await startDispatcher();
    const before = received();
    await expect.poll(received, { timeout: 15_000 }).toBe(before + 1);
  });

  test('wakes after 30 seconds by default, also if it is not told that an alert is due', async () => {
    await openIncident();
    await postponeAlerts();
    await startDispatcher({ sleeps: {} });
    const before = received();
    await database.asEngine((em) => em.execute(`update alerts set next_attempt_at = now() where user_id = ?`, [user.id], 'run'));
    clock.advance(30_000);
    await expect.poll(received, { timeout: 15_000 }).toBe(before + 1);
  });

  test('is woken by another process that releases its alerts', async () => {
    const providerId = await openIncident();
    const other = await openOther();
    const leased = await other.asEngine((em) =>
      leaseAlerts(queryInTransaction(em), [{ userId: user.id, providerId, channel: 'telegram', limit: 10 }]),
    );
    expect(leased).toHaveLength(1);
    await postponeAlerts();
    await startDispatcher({ listens: true });
    const before = received();
    await other.asEngine((em) => releaseAlerts(queryInTransaction(em), new Map(leased.map((alert) => [alert, false]))));
    await expect.poll(received, { timeout: 15_000 }).toBe(before + 1);
  });

  test('wakes when the next attempt is due', async () => {
    const respond = receivers.telegram.script;
    onTestFinished(() => {
      receivers.telegram.script = respond;
    });
    const before = receivers.telegram.requests.length;
    const attempts = () => receivers.telegram.requests.length - before;
    receivers.telegram.script = (request, response) => (attempts() > 2 ? respond : scripts.respond('oops', 500))(request, response);
    await openIncident();
    await startDispatcher();
    // The pauses are about 1 and 2 seconds. Time is not moved, because the timeout of a running attempt would move as well.
    const readAlerts = () => database.asUser(user.id, (em) => em.execute('select status, attempts from alerts'));
    await expect.poll(readAlerts, { timeout: 30_000 }).toEqual([{ status: 'sent', attempts: 3 }]);
    expect(attempts()).toBe(3);
  });
});
