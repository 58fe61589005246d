// Sends 1,000 heartbeats a second to one process for 20 seconds, to 5,000 monitors in turn, and before that health checks at the
// same rate as a control. Without TEST_DATABASE_URL it uses the embedded database. Fails if a request fails or is not stored.
//   npm run bench:heartbeats
//   .ci/with-postgres npm run bench:heartbeats
import { mkdtemp, rm } from 'node:fs/promises';
import http from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { createUser } from '../../src/accounts/users.ts';
import type { Database } from '../../src/db/database.ts';
import { openEmbedded } from '../../src/db/embedded.ts';
import { migratePostgres, openPostgres } from '../../src/db/postgres.ts';
import { entities } from '../../src/entities.ts';
import { hashToken } from '../../src/monitoring/checks/heartbeat/heartbeat.options.ts';
import { serviceUrl } from '../support/database-url.ts';
import { Contender, serveSettings } from './contender.ts';
import { withDatabase } from './with-database.ts';

const perSecond = 1000;
const seconds = 20;
const tickMs = 10;
const command = [join(import.meta.dirname, '../../src/cli/bin.mjs'), 'serve'];
const tokens = Array.from({ length: 5000 }, (_, index) => String(index).padStart(32, 'T'));

const folder = await mkdtemp(join(tmpdir(), 'sitekeeper-bench-'));
try {
  if (process.env.TEST_DATABASE_URL) await withDatabase('bench_heartbeats', benchPostgres);
  else await benchEmbedded();
} finally {
  await rm(folder, { recursive: true });
}

async function benchPostgres(url: string) {
  await migratePostgres(url, serviceUrl(url));
  await bench(() => openPostgres(serviceUrl(url), entities, { poolSize: 2 }), serveSettings(url));
}

async function benchEmbedded() {
  const dataDirectory = join(folder, 'data');
  const open = () => openEmbedded(dataDirectory, entities, { onPanic: console.error });
  await bench(open, { DATA_DIR: dataDirectory, PORT: '0' });
}

async function bench(open: () => Promise<Database>, settings: Record<string, string>) {
  await withOpen(open, createMonitors);
  const service = await Contender.start('sitekeeper', command, settings, folder);
  try {
    console.log('| requests | successful | per second | median | p99 | slowest | CPU |\n|---|---|---|---|---|---|---|');
    await measure(service, 'health checks (control)', () => '/healthz');
    await measure(service, 'heartbeats', (number) => `/api/heartbeats/${tokens[number % tokens.length]}`);
  } finally {
    await service.stop();
  }
  await withOpen(open, checkStored);
}

async function withOpen(open: () => Promise<Database>, work: (database: Database) => Promise<void>) {
  const database = await open();
  try {
    await work(database);
  } finally {
    await database.close();
  }
}

async function createMonitors(database: Database) {
  const userId = (await createUser(database, 'bench@example.com', undefined)) ?? 0;
  await database.asUser(userId, (em) =>
    em.execute(
      `insert into monitors (user_id, friendly_name, type, grace_seconds, next_check_at, settings)
       select ?, 'Job', 'heartbeat', 60, now() + interval '1 hour', jsonb_build_object('token', jsonb_build_object('hash', hash))
         from unnest(?::text[]) as hash`,
      [userId, `{${tokens.map(hashToken).join(',')}}`],
    ),
  );
}

async function checkStored(database: Database) {
  const [stored] = await database.asEngine((em) =>
    em.execute<{ heartbeats: number; up: number }[]>(
      `select (select sum(checks)::int from check_hours) as heartbeats, (select count(*)::int from monitors where status = 'up') as up`,
    ),
  );
  console.log(`Stored: ${stored?.heartbeats} heartbeats; ${stored?.up} of ${tokens.length} monitors are up.`);
  const sent = perSecond * seconds;
  if (stored?.heartbeats !== sent || stored.up !== tokens.length) fail(`${sent} heartbeats for all monitors were sent.`);
}

/** Sends requests at a steady rate, whether or not earlier ones have been answered. */
async function measure(service: Contender, name: string, pathOf: (number: number) => string) {
  const agent = new http.Agent({ keepAlive: true, maxSockets: 50 });
  const [start, cpuBefore] = [performance.now(), service.cpuSeconds()];
  const sent: Promise<{ status: number; ms: number }>[] = [];
  while (sent.length < perSecond * seconds) {
    const due = Math.min(perSecond * seconds, Math.floor(((performance.now() - start) / 1000) * perSecond));
    while (sent.length < due) sent.push(send(agent, service.url + pathOf(sent.length)));
    await delay(tickMs);
  }
  const responses = await Promise.all(sent);
  const took = (performance.now() - start) / 1000;
  const cpu = Math.round(((service.cpuSeconds() - cpuBefore) / took) * 100);
  agent.destroy();
  const successful = responses.filter(({ status }) => status === 200).length;
  const ms = responses.map((response) => response.ms).sort((a, b) => a - b);
  const at = (share: number) => `${ms[Math.min(ms.length - 1, Math.floor(share * ms.length))]?.toFixed(1)} ms`;
  const counts = `${successful} of ${sent.length} | ${Math.round(successful / took)}`;
  console.log(`| ${name} | ${counts} | ${at(0.5)} | ${at(0.99)} | ${at(1)} | ${cpu} % |`);
  if (successful !== sent.length) fail(`${sent.length - successful} ${name} were not successful.`);
}

function fail(message: string) {
  console.error(message);
  process.exitCode = 1;
}

function send(agent: http.Agent, url: string): Promise<{ status: number; ms: number }> {
  const start = performance.now();
  return new Promise((resolve, reject) => {
    const request = http.get(url, { agent }, (response) => {
      response.resume();
      response.once('end', () => resolve({ status: response.statusCode ?? 0, ms: performance.now() - start }));
    });
    request.once('error', reject);
  });
}
