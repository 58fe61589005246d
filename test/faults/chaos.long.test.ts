// Kills processes at random, and crashes and freezes the database, while monitors go down and recover.
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openPostgres } from '../../src/db/postgres.ts';
import { entities } from '../../src/entities.ts';
import { type MailServer, startMailServer } from '../support/mail-server.ts';
import type { RunningProcess } from '../support/process.ts';
import { scripts, startWebServer, type WebServer } from '../support/web-server.ts';
import { Deployment, kill } from './support/deployment.ts';
import { createPostgres, type PostgresServer } from './support/postgres.ts';

const chaosMs = 6 * 60_000;
const failingMonitors = 8;
const healthyMonitors = 8;
const providerCount = 4;

let postgres: PostgresServer;
let deployment: Deployment;
let mail: MailServer;
let target: WebServer;
/** The paths of the monitors that are down now. */
const down = new Set<string>();

beforeAll(async () => {
  [postgres, mail, target] = await Promise.all([createPostgres(), startMailServer(), startWebServer()]);
  const [up, broken] = [scripts.respond(), scripts.respond('broken', 503)];
  target.script = (request, response) => (down.has(request.path) ? broken : up)(request, response);
  deployment = await Deployment.create({ DATABASE_URL: postgres.url, SMTP_URL: `smtp://${mail.host}` });
});
afterAll(async () => {
  await deployment?.remove();
  await postgres?.remove();
  await mail?.close();
  await target?.close();
});

/** Reads with the rights of the engine, again and again until the database responds. */
async function query<Row>(sql: string): Promise<Row[]> {
  for (;;) {
    const database = await openPostgres(postgres.url, entities, { poolSize: 1 }).catch(() => undefined);
    try {
      if (database) return await database.asEngine((em) => em.execute<Row[]>(sql));
    } catch {
      // It has crashed.
    } finally {
      await database?.close().catch(() => {});
    }
    await delay(500);
  }
}

async function waitUntil(state: string, isReached: () => Promise<boolean>) {
  const endMs = performance.now() + 5 * 60_000;
  while (!(await isReached())) {
    if (performance.now() > endMs) throw new Error(`After 5 minutes still not true: ${state}.`);
    await delay(1000);
  }
}

const between = (min: number, max: number) => min + Math.random() * (max - min);

test('while processes and the database are killed at random, no incident and no alert is lost, doubled or false', async () => {
  const starts = [
    () => deployment.start({}, ['serve', '--no-engine']),
    () => deployment.start({}, ['serve', '--no-engine']),
    () => deployment.start({}, ['worker']),
    () => deployment.start({}, ['worker']),
  ];
  const first = await deployment.serve({ MIGRATE_DATABASE_URL: postgres.ownerUrl }, ['--no-engine']);
  const paths = Array.from({ length: failingMonitors + healthyMonitors }, (_, index) => `/${index}`);
  for (const path of paths) {
    const json = { friendly_name: path, url: target.url + path, interval: 30 };
    const { body } = await first.api.post('/api/monitors', { json });
    if (path === '/0') {
      for (let count = 0; count < providerCount; count++) {
        await first.api.post('/api/providers', { json: { provider_type: 'email', recipient_email: `ops${count}@example.com` } });
      }
    }
    for (const { id } of (await first.api.get('/api/providers')).body.data) {
      await first.api.post(`/api/monitors/${body.data.id}/notifications`, { json: { provider_id: id } });
    }
  }
  await kill(first);

  const endMs = performance.now() + chaosMs;
  const isOver = () => performance.now() >= endMs;
  let [kills, crashes, freezes, outages] = [0, 0, 0, 0];

  const processes: RunningProcess[] = starts.map((start) => start());
  async function killProcesses() {
    while (!isOver()) {
      await delay(between(1000, 6000));
      const index = Math.floor(between(0, processes.length));
      await kill(processes[index] as RunningProcess);
      processes[index] = (starts[index] as () => RunningProcess)();
      kills++;
    }
  }
  async function breakDatabase() {
    while (!isOver()) {
      await delay(between(15_000, 30_000));
      if (Math.random() < 0.5) {
        await postgres.crash();
        await delay(between(0, 4000));
        await postgres.start();
        crashes++;
      } else {
        postgres.freeze();
        await delay(between(1000, 5000));
        postgres.thaw();
        freezes++;
      }
    }
  }
  const openIncidents = async (path: string) =>
    (
      await query(
        `select from incidents i join monitors m on m.id = i.monitor_id where m.friendly_name = '${path}' and resolved_at is null`,
      )
    ).length;
  async function breakTarget(path: string) {
    await delay(between(20_000, 40_000));
    while (!isOver()) {
      down.add(path);
      outages++;
      await waitUntil(`${path} has an open incident`, async () => (await openIncidents(path)) === 1);
      await delay(between(0, 5000));
      down.delete(path);
      await waitUntil(`${path} has recovered`, async () => (await openIncidents(path)) === 0);
      await delay(between(5000, 20_000));
    }
  }
  await Promise.all([killProcesses(), breakDatabase(), ...paths.slice(0, failingMonitors).map(breakTarget)]);

  await waitUntil('no alert is pending', async () => (await query(`select from alerts where status = 'pending'`)).length === 0);
  const incidents = await query<{ path: string; cause: string }>(
    'select m.friendly_name as path, i.cause from incidents i join monitors m on m.id = i.monitor_id',
  );
  // One of each kind for each incident and provider.
  const alerts = await query<{ status: string; count: number; alerts: number }>(
    'select status, count(distinct (incident_id, provider_id, kind))::int as count, count(*)::int as alerts from alerts group by status',
  );
  const expected = outages * 2 * providerCount;
  const messages = new Set(mail.mails.map(({ parsed }) => parsed.messageId));
  const repeated = mail.mails.length - messages.size;
  console.log(
    `${kills} SIGKILLs, ${crashes} crashes and ${freezes} freezes of the database; ${outages} outages, ${incidents.length} incidents; ` +
      `${messages.size} different alerts, ${repeated} of them sent again with the same Message-ID after a kill`,
  );
  expect(outages).toBeGreaterThan(failingMonitors);
  expect(incidents).toHaveLength(outages);
  expect(incidents.filter(({ path, cause }) => Number(path.slice(1)) >= failingMonitors || cause !== 'HTTP 503')).toEqual([]);
  expect(alerts).toEqual([{ status: 'sent', count: expected, alerts: expected }]);
  expect(messages.size).toBe(expected);
  expect(repeated).toBeLessThanOrEqual(kills * providerCount); // A process sends one alert at a time to each provider.
}, 1_800_000);
