// Kills processes at random, and crashes and freezes the database, while monitors of the types http, tcp and heartbeat go down and
// recover. Others, also of the type ping, stay up, and must cause no alert. No monitor is in a maintenance.
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openPostgres } from '../../src/db/postgres.ts';
import { entities } from '../../src/entities.ts';
import { freePort } from '../support/free-port.ts';
import { type MailServer, startMailServer } from '../support/mail-server.ts';
import type { RunningProcess } from '../support/process.ts';
import { Deployment, kill } from './support/deployment.ts';
import { createPostgres, type PostgresServer } from './support/postgres.ts';
import { answersPing, Job, startPages, startPort, type Watched } from './support/watched-targets.ts';

const chaosMs = 6 * 60_000;
/** Each monitor has one of two groups, because a provider receives at most 100 messages an hour. */
const providersInGroup = 4;

let postgres: PostgresServer;
let deployment: Deployment;
let mail: MailServer;
let pages: Awaited<ReturnType<typeof startPages>>;
let openPorts: Awaited<ReturnType<typeof startPort>>[];

beforeAll(async () => {
  [postgres, mail, pages] = await Promise.all([createPostgres(), startMailServer(), startPages()]);
  openPorts = await Promise.all(['tcp-1', 'tcp-2', 'tcp-healthy'].map(startPort));
  deployment = await Deployment.create({ DATABASE_URL: postgres.url, SMTP_URL: `smtp://${mail.host}` });
});
afterAll(async () => {
  await deployment?.remove();
  await postgres?.remove();
  await mail?.close();
  await pages?.close();
  for (const port of openPorts ?? []) port.close();
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

test('while processes and the database are killed at random, no incident and no alert of an http, tcp or heartbeat monitor is lost, doubled or false, and healthy monitors of every type stay up and are checked on', async () => {
  const ports = [await freePort(), await freePort()];
  const starts = [
    ...ports.map((port) => () => deployment.start({ PORT: String(port) }, ['serve', '--no-engine'])),
    () => deployment.start({}, ['worker']),
    () => deployment.start({}, ['worker']),
  ];
  const services = ports.map((port) => `http://127.0.0.1:${port}`);
  const jobs = {
    silent: new Job('job-silent', { services, reports: false }),
    reporting: new Job('job-reporting', { services, reports: true }),
    healthy: [1, 2].map((number) => new Job(`job-healthy-${number}`, { services, reports: false })),
  };
  const failing: Watched[] = [
    ...[pages.plain('http-1'), pages.plain('http-2'), pages.plain('http-3')],
    ...[pages.withOptions('options-1'), pages.withOptions('options-2')],
    ...[...openPorts.slice(0, 2), jobs.silent, jobs.reporting],
  ];
  const healthy: Watched[] = [
    ...[pages.plain('http-healthy-1'), pages.plain('http-healthy-2'), pages.withOptions('options-healthy')],
    ...[...openPorts.slice(2), answersPing('ping-healthy-1'), answersPing('ping-healthy-2'), ...jobs.healthy],
  ];
  const first = await deployment.serve({ MIGRATE_DATABASE_URL: postgres.ownerUrl }, ['--no-engine']);
  for (let count = 0; count < 2 * providersInGroup; count++) {
    await first.api.post('/api/providers', { json: { provider_type: 'email', recipient_email: `ops${count}@example.com` } });
  }
  const providers: { id: number }[] = (await first.api.get('/api/providers')).body.data;
  const running: Promise<void>[] = [];
  for (const [index, watched] of [...failing, ...healthy].entries()) {
    const { body, status } = await first.api.post('/api/monitors', {
      json: { friendly_name: watched.name, interval: 30, ...watched.fields },
    });
    if (status !== 201) throw new Error(`${watched.name}: ${JSON.stringify(body)}`);
    const group = index % 2 === 0 ? providers.slice(0, providersInGroup) : providers.slice(providersInGroup);
    for (const { id } of group) await first.api.post(`/api/monitors/${body.data.id}/notifications`, { json: { provider_id: id } });
    if (watched instanceof Job) running.push(watched.run(body.data.heartbeat_url));
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
  const openIncidents = async (name: string) =>
    (
      await query(
        `select from incidents i join monitors m on m.id = i.monitor_id where m.friendly_name = '${name}' and resolved_at is null`,
      )
    ).length;
  async function breakAgainAndAgain(watched: Watched) {
    await delay(between(20_000, 40_000));
    while (!isOver()) {
      await watched.break();
      outages++;
      await waitUntil(`${watched.name} has an open incident`, async () => (await openIncidents(watched.name)) === 1);
      await delay(between(0, 5000));
      await watched.repair();
      await waitUntil(`${watched.name} has recovered`, async () => (await openIncidents(watched.name)) === 0);
      await delay(between(5000, 20_000));
    }
  }
  await Promise.all([killProcesses(), breakDatabase(), ...failing.map(breakAgainAndAgain)]);

  // A monitor that is no longer checked would keep its status.
  const [end] = await query<{ time: string }>('select app_now()::text as time');
  const isHealthy = `friendly_name in (${healthy.map(({ name }) => `'${name}'`).join()})`;
  const checkedSince = () => query(`select from monitors where ${isHealthy} and last_checked_at > '${end?.time}'`);
  await waitUntil('every healthy monitor was checked again', async () => (await checkedSince()).length === healthy.length);
  const states = await query<{ name: string; status: string }>(`select friendly_name as name, status from monitors where ${isHealthy}`);
  await waitUntil('no alert is pending', async () => (await query(`select from alerts where status = 'queued'`)).length === 0);
  const incidents = await query<{ name: string; cause: string }>(
    'select m.friendly_name as name, i.cause from incidents i join monitors m on m.id = i.monitor_id',
  );
  // One of each kind for each incident and provider.
  const alerts = await query<{ status: string; count: number; alerts: number }>(
    'select status, count(distinct (incident_id, provider_id, kind))::int as count, count(*)::int as alerts from alerts group by status',
  );
  const expected = outages * 2 * providersInGroup;
  const messages = new Set(mail.mails.map(({ parsed }) => parsed.messageId));
  const repeated = mail.mails.length - messages.size;
  console.log(
    `${kills} SIGKILLs, ${crashes} crashes and ${freezes} freezes of the database; ${outages} outages, ${incidents.length} incidents; ` +
      `${messages.size} different alerts, ${repeated} of them sent again with the same Message-ID after a kill`,
  );
  for (const job of [jobs.silent, jobs.reporting, ...jobs.healthy]) job.stop();
  await Promise.all(running);
  expect(new Map(states.map(({ name, status }) => [name, status]))).toEqual(new Map(healthy.map(({ name }) => [name, 'up'])));
  expect(outages).toBeGreaterThan(failing.length);
  expect(incidents).toHaveLength(outages);
  const expectedCauses = new Map(failing.map(({ name, cause }) => [name, cause]));
  expect(incidents.filter(({ name, cause }) => expectedCauses.get(name) !== cause)).toEqual([]);
  expect(new Set(incidents.map(({ name }) => name))).toEqual(new Set(expectedCauses.keys()));
  expect(alerts).toEqual([{ status: 'sent', count: expected, alerts: expected }]);
  expect(messages.size).toBe(expected);
  expect(repeated).toBeLessThanOrEqual(kills * providers.length); // A process sends one alert at a time to each provider.
}, 1_800_000);
