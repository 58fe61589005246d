// Measures the engine: checks per second and core, lateness, memory, claims. Then compares it with Gatus, if Go is installed.
//   .ci/with-postgres npm run bench:engine               both
//   .ci/with-postgres npm run bench:engine -- engine     without the comparison
//   .ci/with-postgres npm run bench:engine -- lateness   only what is measured at 70 % load
//   .ci/with-postgres npm run bench:engine -- gatus      only the comparison
import { availableParallelism } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { pino } from 'pino';
import { createUser } from '../../src/accounts/users.ts';
import type { Database } from '../../src/db/database.ts';
import { migratePostgres, openPostgres } from '../../src/db/postgres.ts';
import { entities } from '../../src/entities.ts';
import { claimFairly } from '../../src/monitoring/engine/claim.ts';
import { Engine } from '../../src/monitoring/engine/engine.ts';
import { parseRanges } from '../../src/net/addresses.ts';
import { Pinger } from '../../src/net/ping.ts';
import { createMetrics } from '../../src/telemetry/metrics.ts';
import { createAuthority, trust } from '../support/certificates.ts';
import { testCipher } from '../support/cipher.ts';
import { serviceUrl } from '../support/database-url.ts';
import { compareWithGatus } from './engine-beside-gatus.ts';
import { postmasterOf } from './engine-processes.ts';
import { startTarget } from './engine-target.ts';
import { cpuSecondsOf } from './process-usage.ts';
import { withDatabase } from './with-database.ts';

const log = pino({ level: 'warn' });

const parts = { engine: measureEngine, lateness: measureOnlyLateness, gatus: compareWithGatus };
const [, , chosen] = process.argv;
if (chosen && !(chosen in parts)) throw new Error(`There is no part "${chosen}". Choose one of ${Object.keys(parts).join(', ')}.`);
for (const part of chosen ? [chosen as keyof typeof parts] : (['engine', 'gatus'] as const))
  await withDatabase(`bench_${part}`, parts[part]);

async function measureEngine(url: string) {
  await withUser(url, async (database, userId) => {
    const authority = await createAuthority();
    trust(authority);
    const { http, atLoad } = await measureHttp(database, userId, url);
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
      'memory for 10,000 monitors, MB': { measured: Math.round((atLoad[0]?.megabytes ?? 0) * 10) / 10, goal: '<= 10' },
      'claims per second, 4 workers': { measured: Math.round(claims.perSecond), goal: '20,000' },
      'double claims': { measured: claims.duplicates, goal: '0' },
    });
    reportLateness(atLoad);
  });
}

async function measureOnlyLateness(url: string) {
  await withUser(url, async (database, userId) => reportLateness((await measureHttp(database, userId, url)).atLoad));
}

async function withUser(url: string, work: (database: Database, userId: number) => Promise<void>) {
  await migratePostgres(url, serviceUrl(url));
  const database = await openPostgres(serviceUrl(url), entities, { poolSize: 4 });
  try {
    await work(database, (await createUser(database, 'bench@example.com', undefined)) ?? 0);
  } finally {
    await database.close();
  }
}

async function measureHttp(database: Database, userId: number, url: string) {
  const target = await startTarget();
  const targets = `http://%.example:${target.port}/`;
  announce('http checks');
  const http = await measureChecks(database, userId, targets, 15_000);
  const postmaster = await postmasterOf(url);
  const readers = { engine: ownCpuSeconds, PostgreSQL: () => cpuSecondsOf(postmaster), target: () => cpuSecondsOf(target.pid) };
  const atLoad: Awaited<ReturnType<typeof measureLateness>>[] = [];
  for (const run of [1, 2, 3]) {
    announce(`lateness at 70 % of that rate, run ${run}`);
    atLoad.push(await measureLateness(database, userId, targets, http.perSecond * 0.7, readers));
  }
  target.stop();
  return { http, atLoad };
}

/** The rate is measured with full batches. At 70 % of it, small ones need more CPU time per check: see who uses the cores. */
function reportLateness(atLoad: Awaited<ReturnType<typeof measureLateness>>[]) {
  const rows = atLoad.map(({ perSecond, planned, p99, cores }, index) => [
    `p99 lateness at 70 % load, ms, run ${index + 1}`,
    {
      measured: Math.round(p99),
      goal: '< 1,000',
      'checks per second': Math.round(perSecond),
      planned: Math.round(planned),
      ...cores,
    },
  ]);
  console.table(Object.fromEntries(rows));
  console.log(`The columns of processes are the cores that each used, of ${availableParallelism()}. The engine uses at most one.`);
}

function announce(measurement: string) {
  console.error(`measuring ${measurement} …`);
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
  return new Engine({ database, net, pinger: new Pinger(async () => undefined), cipher: testCipher, log, metrics });
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
  await database.asEngine((em) => em.execute(`update monitors set next_check_at = now()`, [], 'run'));
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

/** Each returns the CPU seconds of a part so far. */
type CpuReaders = Record<string, () => number>;

function ownCpuSeconds(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6;
}

async function measureLateness(database: Database, userId: number, url: string, perSecond: number, readers: CpuReaders) {
  const count = Math.round(perSecond * 30);
  await seed(database, userId, url, count, 30);
  // Each monitor is due at the phase that the engine gives it, as in one that has been running for a while. With others, most monitors
  // would be checked twice within their first interval. None is due before this transaction ends, because it would be late already.
  await database.asEngine((em) =>
    em.execute(
      `update monitors set next_check_at = to_timestamp((floor((extract(epoch from now()) + 5 - phase) / 30) + 1) * 30 + phase)
         from (select id, (id * 53377081) % 86400000 / 1000.0 as phase from monitors) p where p.id = monitors.id`,
      [],
      'run',
    ),
  );
  globalThis.gc?.();
  const before = process.memoryUsage().rss;
  await delay(3000);
  const cpuBefore = Object.values(readers).map((read) => read());
  const latenessMs: number[] = [];
  const engine = engineOf(database, (ms) => latenessMs.push(ms));
  engine.start();
  await delay(30_000);
  const cores = Object.entries(readers).map(([name, read], index) => [name, Math.round((read() - (cpuBefore[index] ?? 0)) / 0.3) / 100]);
  await engine.stop();
  const growth = process.memoryUsage().rss - before;
  const sorted = latenessMs.toSorted((a, b) => a - b);
  return {
    perSecond: sorted.length / 30,
    planned: perSecond,
    p99: sorted[Math.floor(sorted.length * 0.99)] ?? 0,
    megabytes: Math.max(0, growth) / 1e6 / (count / 10_000),
    cores: Object.fromEntries(cores) as Record<string, number>,
  };
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
        const { claims } = await worker.engineTransaction((query) => claimFairly(query, { freeSlots: 500, running: [], afterUserId: 0 }));
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
