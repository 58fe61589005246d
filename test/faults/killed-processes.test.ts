// Processes that are killed with SIGKILL in the middle of their work.
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, vi } from 'vitest';
import type { Database } from '../../src/db/database.ts';
import { createDatabase, ownerUrlOf, urlOf } from '../support/database.ts';
import { guarantee } from '../support/guarantee.ts';
import { startMailServer } from '../support/mail-server.ts';
import { startService, type TestService } from '../support/service.ts';
import { startStopwatch } from '../support/stall.ts';
import { scripts, startWebServer } from '../support/web-server.ts';
import { Deployment, kill } from './support/deployment.ts';
import { send } from './support/load.ts';
import { startProxy } from './support/proxy.ts';
import { queueAlerts } from './support/queue-alerts.ts';

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

/** Returns a deployment for workers on the database of the service. */
async function workersOf(service: TestService, settings: Record<string, string>): Promise<Deployment> {
  const workers = await Deployment.create({ DATABASE_URL: urlOf(service.database), ...settings });
  cleanUps.push(() => workers.remove());
  return workers;
}

describe.concurrent('killed workers', () => {
  guarantee(
    2,
    'After the SIGKILL of a worker during checks, its leases of 30 s expire, its monitors are checked again within 35 s, and each has one incident',
    async () => {
      const monitors = 10; // As many checks run at once on one host.
      const target = await startWebServer({ script: scripts.hang() });
      cleanUps.push(() => target.close());
      const workers = await workersOf(checking, {});
      const { api, id } = await checking.createUser();
      for (let n = 0; n < monitors; n++) await api.post('/api/monitors', { json: { friendly_name: `M ${n}`, url: `${target.url}/${n}` } });
      await checking.database.asEngine((em) => em.execute('update monitors set next_check_at = now()', [], 'run'));
      const checkedMonitors = () => new Set(target.requests.map(({ path }) => path)).size;
      const first = await workers.startWorker();
      // All checks must have started before the first one times out.
      await vi.waitFor(() => expect(checkedMonitors()).toBe(monitors), { timeout: 9000, interval: 20 });
      await kill(first);
      const elapsed = startStopwatch();
      target.requests.length = 0;
      target.script = scripts.respond('broken', 503);
      // The test does not wait for the first part of the leases.
      const skippedSeconds = 20;
      await checking.database.asEngine((em) =>
        em.execute(`update monitors set next_check_at = next_check_at - ? * interval '1 second'`, [skippedSeconds], 'run'),
      );
      await workers.startWorker();
      await vi.waitFor(() => expect(checkedMonitors()).toBe(monitors), { timeout: 60_000, interval: 50 });
      const { ms, stallMs } = elapsed();
      const openIncidents = () =>
        checking.database.asUser(id, (em) => em.execute('select monitor_id from incidents where resolved_at is null'));
      await vi.waitFor(async () => expect(await openIncidents()).toHaveLength(monitors), { timeout: 60_000, interval: 200 });
      const incidents = await checking.database.asUser(id, (em) => em.execute('select id from incidents'));
      expect(incidents).toHaveLength(monitors);
      return {
        elapsed: [{ ms: ms + skippedSeconds * 1000, stallMs }],
        measured: `${monitors} checks interrupted, all repeated, ${incidents.length} incidents`,
      };
    },
    180_000,
  );

  guarantee(
    3,
    'After a SIGKILL between sending an alert and marking it as sent, the alert is delivered again with the same Message-ID',
    async () => {
      let onMail = async () => {};
      const mail = await startMailServer({ onMailFrom: (_, __, done) => void onMail().then(() => done(), done) });
      cleanUps.push(() => mail.close());
      const workers = await workersOf(alerting, { SMTP_URL: `smtp://${mail.host}` });
      const { id, api } = await alerting.createUser();
      const first = await workers.startWorker();
      const admin = new pg.Client({ connectionString: ownerUrlOf(alerting.database) });
      await admin.connect();
      // Once the e-mail is on its way, a lock on the table keeps the worker from marking the alert as sent.
      onMail = async () => {
        onMail = async () => {};
        await admin.query('begin');
        await admin.query('lock table alerts in share row exclusive mode');
      };
      const paused = { friendly_name: 'Paused', url: 'https://shop.example', is_active: false };
      const monitor = await api.post('/api/monitors', { json: paused });
      const provider = await api.post('/api/providers', { json: { provider_type: 'email', recipient_email: 'ops@example.com' } });
      await alerting.database.asEngine((em) =>
        queueAlerts(em, { monitorId: monitor.body.data.id, providerId: provider.body.data.id, count: 1 }),
      );
      const observer = new pg.Client({ connectionString: urlOf(alerting.database) });
      await observer.connect();
      const waitingUpdates = async () =>
        (await observer.query(`select from pg_stat_activity where wait_event_type = 'Lock' and query ~ 'set "status" = ''sent'''`))
          .rowCount;
      await vi.waitFor(async () => expect(await waitingUpdates()).toBe(1), { timeout: 30_000, interval: 20 });
      await observer.end();
      expect(mail.mails).toHaveLength(1);
      await kill(first);
      await admin.query('rollback');
      await admin.end();
      // The lease lasts a minute. This ends it now.
      await alerting.database.asEngine((em) => em.execute('update alerts set next_attempt_at = now()', [], 'run'));
      await workers.startWorker();
      const alerts = () => alerting.database.asUser(id, (em) => em.execute('select status from alerts'));
      await vi.waitFor(async () => expect(await alerts()).toEqual([{ status: 'sent' }]), { timeout: 30_000 });
      const messageIds = mail.mails.map(({ parsed }) => parsed.messageId);
      expect(messageIds).toHaveLength(2);
      expect(new Set(messageIds).size).toBe(1);
      return `delivered ${messageIds.length} times as ${messageIds[0]}`;
    },
    120_000,
  );
});

guarantee(
  4,
  'A POST that is interrupted by a SIGKILL and repeated with the same Idempotency-Key creates one row',
  async () => {
    const proxy = await startProxy(urlOf(database));
    cleanUps.push(() => proxy.close());
    const moments = {
      'before the row': [[/insert into "?websites/]],
      'before the idempotent response': [[/insert into "idempotent_responses"/]],
      'before the commit': [[/insert into "idempotent_responses"/, /commit/]],
      'after the commit': [[/insert into "idempotent_responses"/, /commit/], { forwardLast: true }],
    } satisfies Record<string, Parameters<typeof proxy.holdAt>>;
    const countRows = async (domain: string) =>
      (await database.asUser(1, (em) => em.execute<object[]>('select id from websites where domain = ?', [domain]))).length;
    const tested: string[] = [];
    const serve = () => deployment.serve({ DATABASE_URL: proxy.url }, ['serve', '--no-engine']);
    let service = await serve();
    for (const [moment, holdAt] of Object.entries(moments)) {
      const domain = `${moment.replaceAll(' ', '-')}.example`;
      const create = () =>
        send(undefined, `${service.url}/api/v1/websites`, {
          method: 'POST',
          key: deployment.key,
          form: `domain=${domain}`,
          headers: { 'Idempotency-Key': `repeat-${domain}` },
        });
      const held = proxy.holdAt(...(holdAt as Parameters<typeof proxy.holdAt>));
      const interrupted = create();
      await held;
      await kill(service);
      expect((await interrupted).status).toBe(0);
      service = await serve();
      expect([moment, await countRows(domain)]).toEqual([moment, moment === 'after the commit' ? 1 : 0]);
      expect([(await create()).status, (await create()).status]).toEqual([201, 201]);
      expect(await countRows(domain)).toBe(1);
      tested.push(moment);
    }
    return `killed ${tested.join(', ')}: one row each`;
  },
  150_000,
);
