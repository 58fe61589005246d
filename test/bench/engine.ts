// Measures the engine: checks per second and core, lateness, memory, claims.
//   .ci/with-postgres npm run bench:engine
// The targets run in a separate process, so that their CPU time is not counted.
import { fork } from 'node:child_process';
import { setTimeout as delay } from 'node:timers/promises';
import { pino } from 'pino';
import { createUser } from '../../src/accounts/users.ts';
import type { Database } from '../../src/db/database.ts';
import { migratePostgres, openPostgres } from '../../src/db/postgres.ts';
import { queryInTransaction } from '../../src/db/statement.ts';
import { entities } from '../../src/entities.ts';
import { claimFairly } from '../../src/monitoring/engine/claim.ts';
import { Engine } from '../../src/monitoring/engine/engine.ts';
import { parseRanges } from '../../src/net/addresses.ts';
import { Pinger } from '../../src/net/ping.ts';
import { createMetrics } from '../../src/telemetry/metrics.ts';
import { createAuthority, trust } from '../support/certificates.ts';
import { serviceUrl } from '../support/database-url.ts';
import { scripts, startWebServer } from '../support/web-server.ts';
import { withDatabase } from './with-database.ts';

const log = pino({ level: 'warn' });

if (process.argv[2] === 'target') {
  const certificate = process.argv[3] ? JSON.parse(process.argv[3]) : undefined;
  const target = await startWebServer({ script: scripts.respond('ok'), ...(certificate && { certificate }) });
  process.send?.(target.port);
  process.once('disconnect', () => process.exit()); // It must not outlive the benchmark.
} else {
  await withDatabase('bench_engine', bench);
}

async function bench(url: string) {
  await migratePostgres(url, serviceUrl(url));
  const database = await openPostgres(serviceUrl(url), entities, { poolSize: 4 });
  try {
    const userId = (await createUser(database, 'bench@example.com', undefined)) ?? 0;
    const authority = await createAuthority();
    trust(authority);

    const httpTarget = await startTarget();
    announce('http checks');
    const http = await measureChecks(database, userId, `http://%.example:${httpTarget.port}/`, 15_000);
    announce('lateness at 70 % of that rate');
    const atLoad = await measureLateness(database, userId, `http://%.example:${httpTarget.port}/`, http.perSecond * 0.7);
    httpTarget.stop();
    const httpsTarget = await startTarget(await authority.issue('*.example.com'));
    announce('https checks');
    const https = await measureChecks(database, userId, `https://%.example.com:${httpsTarget.port}/`, 3000);
    httpsTarget.stop();
    announce('claims on 1,000,000 rows');
    const claims = await measureClaims(database, url, userId, 1_000_000);
    console.table({
      'http checks per second': {
        measured: Math.round(http.perSecond),
        'per core': Math.round(http.perCoreSecond),
        goal: '2,000 per core',
      },
      'https checks per second, a new TLS connection each': {
        measured: Math.round(https.perSecond),
        'per core': Math.round(https.perCoreSecond),
        goal: '350 per core',
      },
      'p99 lateness at 70 % load, ms': { measured: Math.round(atLoad.p99), goal: '< 1,000' },
      'memory for 10,000 monitors, MB': { measured: Math.round(atLoad.megabytes * 10) / 10, goal: '<= 10' },
      'claims per second, 4 workers': { measured: Math.round(claims.perSecond), goal: '20,000' },
      'double claims': { measured: claims.duplicates, goal: '0' },
    });
  } finally {
    await database.close();
  }
}

function announce(measurement: string) {
  console.error(`measuring ${measurement} …`);
}

async function startTarget(certificate?: object): Promise<{ port: number; stop(): void }> {
  const child = fork(import.meta.filename, ['target', ...(certificate ? [JSON.stringify(certificate)] : [])]);
  const port = await new Promise<number>((resolve) => child.once('message', (message) => resolve(Number(message))));
  return { port, stop: () => child.kill() };
}

/** `%` in the URL is replaced by a number, because the engine limits the number of checks at once on one host. */
async function seed(database: Database, userId: number, url: string, count: number, intervalSeconds: number) {
  await database.asUser(userId, (em) => em.execute('delete from monitors', [], 'run'));
  // The rows are inserted in batches, because a statement is canceled after 15 seconds.
  for (let left = count; left > 0; left -= 50_000) {
    await database.asUser(userId, (em) =>
      em.execute(
        `insert into monitors (user_id, friendly_name, url, target_host, interval_seconds, next_check_at)
         select ?, 'M', url, substring(url from '//([^:/]+)'), ?, now() + random() * interval '3 seconds'
           from generate_series(1, ?) n, lateral (select replace(?, '%', n::text) as url) target`,
        [userId, intervalSeconds, Math.min(left, 50_000), url],
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

async function countChecks(database: Database): Promise<number> {
  const [sum] = await database.asEngine((em) =>
    em.execute<{ count: number }[]>('select coalesce(sum(checks), 0)::int as count from check_hours'),
  );
  return sum?.count ?? 0;
}

/** Runs checks that are all due at once, and measures the rate and the CPU time of this process. */
async function measureChecks(database: Database, userId: number, url: string, count: number) {
  await seed(database, userId, url, count, 86_400);
  await database.asEngine((em) => em.execute(`update monitors set next_check_at = now() - interval '1 minute'`, [], 'run'));
  const cpu = process.cpuUsage();
  const start = performance.now();
  const engine = engineOf(database);
  engine.start();
  while ((await countChecks(database)) < count && performance.now() - start < 60_000) await delay(100);
  const seconds = (performance.now() - start) / 1000;
  const { user, system } = process.cpuUsage(cpu);
  await engine.stop();
  return { perSecond: count / seconds, perCoreSecond: count / ((user + system) / 1e6) };
}

async function measureLateness(database: Database, userId: number, url: string, perSecond: number) {
  const count = Math.round(perSecond * 30);
  await seed(database, userId, url, count, 30);
  // Each monitor is due at its own phase, as in an engine that has been running for a while.
  await database.asEngine((em) =>
    em.execute(`update monitors set next_check_at = now() + ((id * 7919) % 30000) * interval '1 millisecond'`, [], 'run'),
  );
  globalThis.gc?.();
  const before = process.memoryUsage().rss;
  const latenessMs: number[] = [];
  const engine = engineOf(database, (ms) => latenessMs.push(ms));
  engine.start();
  await delay(30_000);
  await engine.stop();
  const growth = process.memoryUsage().rss - before;
  const sorted = latenessMs.toSorted((a, b) => a - b);
  return { p99: sorted[Math.floor(sorted.length * 0.99)] ?? 0, megabytes: Math.max(0, growth) / 1e6 / (count / 10_000) };
}

async function measureClaims(database: Database, url: string, userId: number, rows: number) {
  await seed(database, userId, 'http://%.example/', rows, 86_400);
  await delay(5000); // New monitors are due within that time.
  const workers = await Promise.all([1, 2, 3, 4].map(() => openPostgres(serviceUrl(url), entities, { poolSize: 1 })));
  const ids = new Set<number>();
  let claimed = 0;
  const start = performance.now();
  const until = start + 10_000;
  await Promise.all(
    workers.map(async (worker) => {
      while (performance.now() < until) {
        const { claims } = await worker.asEngine((em) =>
          claimFairly(queryInTransaction(em), { freeSlots: 500, running: [], afterUserId: 0 }),
        );
        if (claims.length === 0) return;
        claimed += claims.length;
        for (const { id } of claims) ids.add(id);
      }
    }),
  );
  const seconds = (performance.now() - start) / 1000;
  await Promise.all(workers.map((worker) => worker.close()));
  return { perSecond: claimed / seconds, duplicates: claimed - ids.size };
}
