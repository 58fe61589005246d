// Two that serve and two that work, on one PostgreSQL and one Redis; one of each is killed in the middle.
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import type { Database } from '../../src/db/database.ts';
import { Deployment, kill, type Serving } from '../faults/support/deployment.ts';
import { startLoad } from '../faults/support/load.ts';
import { ApiClient } from '../support/api-client.ts';
import { createDatabase, urlOf } from '../support/database.ts';
import { type MailServer, startMailServer } from '../support/mail-server.ts';
import type { Running } from '../support/process.ts';
import { scripts, startWebServer, type WebServer } from '../support/web-server.ts';

const redis = process.env.TEST_REDIS_URL ?? '';
const monitors = 20;

describe.runIf(process.env.TEST_DATABASE_URL && redis)('two that serve, two that work', () => {
  let database: Database;
  let deployment: Deployment;
  let target: WebServer;
  let mail: MailServer;
  let serving: [Serving, Serving];
  let working: [Running, Running];

  beforeAll(async () => {
    database = await createDatabase();
    target = await startWebServer();
    mail = await startMailServer();
    deployment = await Deployment.create({ DATABASE_URL: urlOf(database), REDIS_URL: redis, SMTP_URL: `smtp://${mail.host}` });
    const serve = () => deployment.serve({}, ['serve', '--no-engine']);
    serving = [await serve(), await serve()];
    working = [await deployment.work(), await deployment.work()];
  }, 120_000);
  afterAll(async () => {
    await deployment?.remove();
    await mail?.close();
    await target?.close();
    await database?.close();
  });

  test('a limit counts what both were asked', async () => {
    const { body } = await serving[0].api.post('/api/providers', {
      json: { provider_type: 'email', recipient_email: 'tests@example.com' },
    });
    const statuses: number[] = [];
    for (let n = 0; n < 6; n++) statuses.push((await serving[n % 2 ? 1 : 0].api.post(`/api/providers/${body.data.id}/test`)).status);
    expect(statuses).toEqual([200, 200, 200, 200, 200, 429]);
  });

  test('a key made by one works at the other, and no longer once it is revoked', async () => {
    const { body } = await serving[0].api.post('/api/keys', { json: { name: 'Short', scopes: ['monitors:read'] } });
    const bearer = new ApiClient(serving[1].url, { Authorization: `Bearer ${body.data.key}` });
    expect((await bearer.get('/api/monitors')).status).toBe(200);
    await serving[0].api.delete(`/api/keys/${body.data.id}`);
    // Told, at once: without being told it would believe the key for 4 seconds.
    await vi.waitFor(async () => expect((await bearer.get('/api/monitors')).status).toBe(401), { timeout: 3500, interval: 10 });
  });

  test('one of each is killed under load: no answered write is lost, every monitor is still checked, every incident is alerted', async () => {
    const [, { api }] = serving;
    await watchTarget(api, target.url);
    const states = () =>
      database.asUser(1, (em) => em.execute<{ status: string; at: Date }[]>('select status, last_checked_at as at from monitors'));
    await vi.waitFor(async () => expect((await states()).map(({ status }) => status)).toEqual(Array(monitors).fill('up')), {
      timeout: 30_000,
    });

    const loads = serving.map(({ url }) => startLoad(url, deployment.key, { connections: 4, perSecond: 100 }));
    target.script = scripts.hang();
    target.requests.length = 0;
    // Little by little, so that both workers take some on; what a check under way finds out no longer sets the next.
    await database.asEngine((em) =>
      em.execute(`update monitors set next_check_at = now() + random() * interval '3 seconds', claim_token = null`, [], 'run'),
    );
    const reached = () => new Set(target.requests.map(({ path }) => path));
    await vi.waitFor(() => expect(reached().size).toBe(monitors), { timeout: 30_000, interval: 20 });
    await vi.waitFor(() => expect(loads[0]?.outcome.created.length).toBeGreaterThan(5), { timeout: 20_000 });
    await Promise.all([kill(serving[0]), kill(working[0])]);
    const killedAt = new Date();
    target.script = scripts.accept('broken', 503);

    const incidents = () => database.asUser(1, (em) => em.execute<{ id: number }[]>('select id from incidents'));
    await vi.waitFor(async () => expect(await incidents()).toHaveLength(monitors), { timeout: 90_000, interval: 250 });
    const alerted = () =>
      new Set(mail.mails.filter(({ recipients }) => recipients[0] === 'ops@example.com').map((one) => one.parsed.messageId));
    await vi.waitFor(() => expect(alerted().size).toBe(monitors), { timeout: 30_000 });
    for (const { status, at } of await states()) expect([status, new Date(at) > killedAt]).toEqual(['down', true]);

    const [, survivor] = loads;
    const created = (await Promise.all(loads.map((load) => load.stop()))).flatMap((outcome) => outcome.created);
    const rows = await database.asUser(1, (em) => em.execute<{ domain: string }[]>('select domain from websites'));
    const kept = new Set(rows.map(({ domain }) => domain));
    expect(created.filter((domain) => !kept.has(domain))).toEqual([]);
    expect(Object.keys(survivor?.outcome.statuses ?? {}).toSorted()).toEqual(['200', '201', '401', '404', '422']);
  }, 180_000);
});

/** Monitors of the target that alert by mail. */
async function watchTarget(api: ApiClient, url: string) {
  const { body } = await api.post('/api/providers', { json: { provider_type: 'email', recipient_email: 'ops@example.com' } });
  for (let n = 1; n <= monitors; n++) {
    const monitor = await api.post('/api/monitors', { json: { friendly_name: `Shop ${n}`, url: `${url}/${n}`, interval: 30 } });
    await api.post(`/api/monitors/${monitor.body.data.id}/notifications`, { json: { provider_id: body.data.id } });
  }
}
