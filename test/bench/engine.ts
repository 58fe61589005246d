// How much the engine does: checks a second and core, lateness, memory, claims.
//   .ci/with-postgres npm run bench:engine
// The targets run in a process of their own, so that their work is not counted as the engine's.
import { fork } from 'node:child_process';
import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';
import { pino } from 'pino';
import { createUser } from '../../src/accounts/users.ts';
import type { Database } from '../../src/db/database.ts';
import { migratePostgres, openPostgres } from '../../src/db/postgres.ts';
import { entities } from '../../src/entities.ts';
import { claimDueMonitors } from '../../src/monitoring/engine/claim.ts';
import { Engine } from '../../src/monitoring/engine/engine.ts';
import { parseRanges } from '../../src/net/addresses.ts';
import { Pinger } from '../../src/net/ping.ts';
import { createMetrics } from '../../src/telemetry/metrics.ts';
import { createAuthority, trust } from '../support/certificates.ts';
import { databaseUrl } from '../support/database-url.ts';
import { scripts, startWebServer } from '../support/web-server.ts';

const log = pino({ level: 'warn' });

if (process.argv[2] === 'target') {
  const certificate = process.argv[3] ? JSON.parse(process.argv[3]) : undefined;
  const target = await startWebServer({ script: scripts.accept('ok'), ...(certificate && { certificate }) });
  process.send?.(target.port);
  process.once('disconnect', () => process.exit()); // not to be left behind
} else {
  await bench();
}

async function bench() {
  const server = process.env.TEST_DATABASE_URL;
  if (!server) throw new Error('TEST_DATABASE_URL names no PostgreSQL server. Run this with .ci/with-postgres.');
  const name = `sitekeeper_bench_${process.pid}`;
  const url = databaseUrl(server, name);
  const admin = new pg.Client({ connectionString: server });
  await admin.connect();
  await admin.query(`create database ${name}`);
  let database: Database | undefined;
  try {
    await migratePostgres(url, url);
    database = await openPostgres(url, entities, { poolSize: 4 });
    const userId = (await createUser(database, 'bench@example.com', undefined)) ?? 0;
    const authority = await createAuthority();
    trust(authority);

    const http = await startTarget();
    say('http checks');
    const plain = await rate(database, userId, `http://127.0.0.1:${http.port}/`, 15_000);
    say('lateness at 70 % of that');
    const late = await lateness(database, userId, `http://127.0.0.1:${http.port}/`, plain.aSecond * 0.7);
    http.stop();
    const https = await startTarget(await authority.issue('localhost.example'));
    say('https checks');
    const secure = await rate(database, userId, `https://localhost.example:${https.port}/`, 3000);
    https.stop();
    say('claims on 1,000,000 rows');
    const claims = await claimRate(database, url, userId, 1_000_000);
    console.table({
      'http checks a second': { measured: Math.round(plain.aSecond), 'a core': Math.round(plain.aCoreSecond), goal: '2,000 a core' },
      'https checks a second, fresh TLS': {
        measured: Math.round(secure.aSecond),
        'a core': Math.round(secure.aCoreSecond),
        goal: '350 a core',
      },
      'p99 lateness at 70 %, ms': { measured: Math.round(late.p99), goal: '< 1,000' },
      'memory for 10,000 monitors, MB': { measured: Math.round(late.megabytes * 10) / 10, goal: '<= 10' },
      'claims a second, 4 workers': { measured: Math.round(claims.aSecond), goal: '20,000' },
      'double claims': { measured: claims.doubles, goal: '0' },
    });
  } finally {
    await database?.close();
    await admin.query(`drop database ${name} with (force)`);
    await admin.end();
  }
}

function say(what: string) {
  console.error(`measuring ${what} …`);
}

async function startTarget(certificate?: object): Promise<{ port: number; stop(): void }> {
  const child = fork(import.meta.filename, ['target', ...(certificate ? [JSON.stringify(certificate)] : [])]);
  const port = await new Promise<number>((resolve) => child.once('message', (message) => resolve(Number(message))));
  return { port, stop: () => child.kill() };
}

async function seed(database: Database, userId: number, url: string, count: number, intervalSeconds: number) {
  await database.asUser(userId, (em) => em.execute('delete from monitors', [], 'run'));
  // In portions, because a statement may not run for longer than 15 seconds.
  for (let left = count; left > 0; left -= 50_000) {
    await database.asUser(userId, (em) =>
      em.execute(
        `insert into monitors (user_id, friendly_name, url, interval_seconds) select ?, 'M', ?, ? from generate_series(1, ?)`,
        [userId, url, intervalSeconds, Math.min(left, 50_000)],
        'run',
      ),
    );
  }
}

function engineOf(database: Database, onLateness?: (ms: number) => void): Engine {
  const metrics = createMetrics();
  if (onLateness) metrics.lateness.observe = (seconds: unknown) => onLateness(Number(seconds) * 1000);
  const net = { allow: parseRanges(['127.0.0.0/8']), lookup: async () => [{ address: '127.0.0.1', family: 4 }] };
  return new Engine({ database, net, pinger: new Pinger(Promise.resolve(undefined)), log, metrics });
}

async function checked(database: Database): Promise<number> {
  const [sum] = await database.asEngine((em) =>
    em.execute<{ count: number }[]>('select coalesce(sum(checks), 0)::int as count from check_hours'),
  );
  return sum?.count ?? 0;
}

/** All due at once: how quickly they are done, and at what cost of this process's CPU. */
async function rate(database: Database, userId: number, url: string, count: number) {
  await seed(database, userId, url, count, 86_400);
  await database.asEngine((em) => em.execute(`update monitors set next_check_at = now() - interval '1 minute'`, [], 'run'));
  const cpu = process.cpuUsage();
  const start = performance.now();
  const engine = engineOf(database);
  engine.start();
  while ((await checked(database)) < count && performance.now() - start < 60_000) await pause(100);
  const seconds = (performance.now() - start) / 1000;
  const { user, system } = process.cpuUsage(cpu);
  await engine.stop();
  return { aSecond: count / seconds, aCoreSecond: count / ((user + system) / 1e6) };
}

async function lateness(database: Database, userId: number, url: string, aSecond: number) {
  const count = Math.round(aSecond * 30);
  await seed(database, userId, url, count, 30);
  // As after a while of running: each at its phase.
  await database.asEngine((em) =>
    em.execute(`update monitors set next_check_at = now() + ((id * 7919) % 30000) * interval '1 millisecond'`, [], 'run'),
  );
  globalThis.gc?.();
  const before = process.memoryUsage().rss;
  const late: number[] = [];
  const engine = engineOf(database, (ms) => late.push(ms));
  engine.start();
  await pause(30_000);
  await engine.stop();
  const grown = process.memoryUsage().rss - before;
  const sorted = late.toSorted((a, b) => a - b);
  return { p99: sorted[Math.floor(sorted.length * 0.99)] ?? 0, megabytes: Math.max(0, grown) / 1e6 / (count / 10_000) };
}

async function claimRate(database: Database, url: string, userId: number, rows: number) {
  await seed(database, userId, 'http://127.0.0.1/', rows, 86_400);
  await pause(5000); // new monitors are due within that time
  const workers = await Promise.all([1, 2, 3, 4].map(() => openPostgres(url, entities, { poolSize: 1 })));
  const seen = new Set<number>();
  let claimed = 0;
  const start = performance.now();
  const until = start + 10_000;
  await Promise.all(
    workers.map(async (worker) => {
      while (performance.now() < until) {
        const claims = await worker.asEngine((em) => claimDueMonitors(em, 500));
        if (claims.length === 0) return;
        claimed += claims.length;
        for (const { id } of claims) seen.add(id);
      }
    }),
  );
  const seconds = (performance.now() - start) / 1000;
  await Promise.all(workers.map((worker) => worker.close()));
  return { aSecond: claimed / seconds, doubles: claimed - seen.size };
}
