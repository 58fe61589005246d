// Two serving processes and two workers on one PostgreSQL and one Redis. One of each is killed under load.
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import type { Database } from '../../src/db/database.ts';
import { Deployment, kill, type RunningService } from '../faults/support/deployment.ts';
import { startLoad } from '../faults/support/load.ts';
import { ApiClient } from '../support/api-client.ts';
import { createDatabase, urlOf } from '../support/database.ts';
import { type MailServer, startMailServer } from '../support/mail-server.ts';
import type { RunningProcess } from '../support/process.ts';
import { wakeAll } from '../support/wake.ts';
import { scripts, startWebServer, type WebServer } from '../support/web-server.ts';

const redis = process.env.TEST_REDIS_URL ?? '';
const monitors = 20;

describe.runIf(process.env.TEST_DATABASE_URL && redis)('two serving processes and two workers', () => {
  let database: Database;
  let deployment: Deployment;
  let target: WebServer;
  let mail: MailServer;
  let webhook: WebServer;
  let services: [RunningService, RunningService];
  let workers: [RunningProcess, RunningProcess];

  beforeAll(async () => {
    database = await createDatabase();
    target = await startWebServer();
    mail = await startMailServer();
    webhook = await startWebServer();
    deployment = await Deployment.create({ DATABASE_URL: urlOf(database), REDIS_URL: redis, SMTP_URL: `smtp://${mail.host}` });
    const serve = () => deployment.serve({}, ['serve', '--no-engine']);
    services = [await serve(), await serve()];
    workers = [await deployment.startWorker(), await deployment.startWorker()];
  }, 120_000);
  afterAll(async () => {
    await deployment?.remove();
    await mail?.close();
    await webhook?.close();
    await target?.close();
    await database?.close();
  });

  test('a limit applies to the requests of both processes together', async () => {
    const { body } = await services[0].api.post('/api/providers', {
      json: { provider_type: 'email', recipient_email: 'tests@example.com' },
    });
    const statuses: number[] = [];
    for (let n = 0; n < 6; n++) statuses.push((await services[n % 2 ? 1 : 0].api.post(`/api/providers/${body.data.id}/test`)).status);
    expect(statuses).toEqual([200, 200, 200, 200, 200, 429]);
  });

  test('a key that one process has created works at the other, until it is revoked', async () => {
    const { body } = await services[0].api.post('/api/keys', { json: { name: 'Short', scopes: ['monitors:read'] } });
    const client = new ApiClient(services[1].url, { Authorization: `Bearer ${body.data.key}` });
    expect((await client.get('/api/monitors')).status).toBe(200);
    await services[0].api.delete(`/api/keys/${body.data.id}`);
    // The other process is notified. Otherwise it would accept the key from its cache for 4 seconds.
    await vi.waitFor(async () => expect((await client.get('/api/monitors')).status).toBe(401), { timeout: 3500, interval: 10 });
  });

  test('when one of each is killed under load, no acknowledged write is lost, every monitor is checked, and every incident is alerted', async () => {
    const [, { api }] = services;
    await createMonitors(api, target.url, webhook.url);
    const readMonitors = () =>
      database.asUser(1, (em) => em.execute<{ status: string; at: Date }[]>('select status, last_checked_at as at from monitors'));
    await vi.waitFor(async () => expect((await readMonitors()).map(({ status }) => status)).toEqual(Array(monitors).fill('up')), {
      timeout: 30_000,
    });

    const loads = services.map(({ url }) => startLoad(url, deployment.key, { connections: 4, perSecond: 100 }));
    target.script = scripts.hang();
    target.requests.length = 0;
    // The checks are spread over a moment, so that both workers claim some. Clearing the token drops the results of running checks.
    await database.asEngine((em) =>
      em.execute(`update monitors set next_check_at = now() + random() * interval '3 seconds', claim_token = null`, [], 'run'),
    );
    await wakeAll(database);
    const checkedPaths = () => new Set(target.requests.map(({ path }) => path));
    await vi.waitFor(() => expect(checkedPaths().size).toBe(monitors), { timeout: 30_000, interval: 20 });
    await vi.waitFor(() => expect(loads[0]?.outcome.created.length).toBeGreaterThan(5), { timeout: 20_000 });
    await Promise.all([kill(services[0]), kill(workers[0])]);
    const killedAt = new Date();
    target.script = scripts.respond('broken', 503);
    // The leases of the killed worker last 30 seconds. The test does not wait for most of that.
    await database.asEngine((em) =>
      em.execute(`update monitors set next_check_at = next_check_at - interval '20 seconds' where claim_token is not null`, [], 'run'),
    );

    const incidents = () => database.asUser(1, (em) => em.execute<{ id: number }[]>('select id from incidents'));
    await vi.waitFor(async () => expect(await incidents()).toHaveLength(monitors), { timeout: 90_000, interval: 250 });
    const alerted = () => new Set(webhook.requests.map(({ headers }) => headers['webhook-id']));
    await vi.waitFor(() => expect(alerted().size).toBe(monitors), { timeout: 90_000 });
    for (const { status, at } of await readMonitors()) expect([status, new Date(at) > killedAt]).toEqual(['down', true]);

    const [, survivingLoad] = loads;
    const created = (await Promise.all(loads.map((load) => load.stop()))).flatMap((outcome) => outcome.created);
    const rows = await database.asUser(1, (em) => em.execute<{ domain: string }[]>('select domain from websites'));
    const stored = new Set(rows.map(({ domain }) => domain));
    expect(created.filter((domain) => !stored.has(domain))).toEqual([]);
    expect(Object.keys(survivingLoad?.outcome.statuses ?? {}).toSorted()).toEqual(['200', '201', '401', '404', '422']);
  }, 180_000);
});

/** Creates monitors of the target that send alerts to a webhook. */
async function createMonitors(api: ApiClient, url: string, webhook_url: string) {
  const { body } = await api.post('/api/providers', { json: { provider_type: 'webhook', webhook_url } });
  for (let n = 1; n <= monitors; n++) {
    const monitor = await api.post('/api/monitors', { json: { friendly_name: `Shop ${n}`, url: `${url}/${n}`, interval: 30 } });
    await api.post(`/api/monitors/${monitor.body.data.id}/notifications`, { json: { provider_id: body.data.id } });
  }
}
