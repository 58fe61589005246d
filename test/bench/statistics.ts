// Compares the CPU time of statistics with that of simpler requests, of the service and the PostgreSQL server together.
//   .ci/with-postgres npm run bench:statistics
// A user has 1,000 monitors that are checked every minute, with the statistics of a year and the checks of the last hours.
import pg from 'pg';
import { generateKey } from '../../src/auth/api-key.ts';
import { migratePostgres, openPostgres } from '../../src/db/postgres.ts';
import { entities } from '../../src/entities.ts';
import { addCounts, emptyAggregate, mergeAggregates } from '../../src/monitoring/statistics/aggregate.ts';
import {
  type ChunkTable,
  dayChunks,
  hourChunks,
  type StoredChunk,
  totalsId,
  writeChunks,
} from '../../src/monitoring/statistics/chunk-rows.ts';
import { aggregate } from '../../src/monitoring/statistics/history.ts';
import { dayMs, hourMs, rings, startOfDay, startOfHour } from '../../src/monitoring/statistics/periods.ts';
import { encodeCheck, type SingleCheck } from '../../src/monitoring/statistics/single-check.ts';
import { serviceUrl } from '../support/database-url.ts';
import { run, waitUntilListening } from '../support/process.ts';
import { postmasterOf } from './engine-processes.ts';
import { median } from './median.ts';
import { cpuSecondsOf } from './process-usage.ts';
import { withDatabase } from './with-database.ts';

const monitors = 1000;
const rounds = 7;
const key = generateKey();

interface Request {
  name: string;
  path: string;
  /** How many requests one round sends. */
  count: number;
  /** The request that this one is compared with, and how much more it may take. */
  comparedWith?: string;
  goal?: number;
}

const requests = (id: number): Request[] => [
  { name: 'show a monitor', path: `/api/monitors/${id}`, count: 1000 },
  { name: 'statistics of 24 hours', path: `/api/monitors/${id}/statistics`, count: 600, comparedWith: 'show a monitor', goal: 2 },
  {
    name: 'statistics of 24 hours in 5 minutes',
    path: `/api/monitors/${id}/statistics?resolution=5m`,
    count: 200,
    comparedWith: 'show a monitor',
  },
  { name: 'statistics of a year', path: `/api/monitors/${id}/statistics?window=1y`, count: 300, comparedWith: 'show a monitor', goal: 5 },
  { name: 'list 20 monitors', path: '/api/monitors', count: 400 },
  { name: 'statistics of 20 monitors', path: '/api/monitors/statistics', count: 150, comparedWith: 'list 20 monitors', goal: 4 },
  { name: 'overview of 1,000 monitors', path: '/api/statistics', count: 300, comparedWith: 'show a monitor', goal: 10 },
  { name: 'the last 100 checks', path: `/api/monitors/${id}/checks`, count: 200, comparedWith: 'show a monitor' },
];

await withDatabase('statistics', async (url) => {
  await migratePostgres(url, serviceUrl(url));
  const service = run(process.cwd(), { ...settings(url), MIGRATE_DATABASE_URL: url }, ['serve', '--no-engine']);
  try {
    const address = await waitUntilListening(service);
    await seed(url);
    await measure(address, [service.child.pid ?? 0, await postmasterOf(url)]);
  } finally {
    service.child.kill('SIGINT');
    await service.ended;
  }
});

function settings(url: string): Record<string, string> {
  return {
    PORT: '0',
    DATABASE_URL: serviceUrl(url),
    SECRET_KEY: Buffer.alloc(32, 1).toString('base64'),
    OWNER_API_KEY: key,
    RATE_LIMIT_PER_MINUTE: '1000000',
  };
}

/** Measures all requests in turn, several times, so that other programs on the machine disturb all of them alike. */
async function measure(address: string, processes: number[]) {
  const cpu = () => processes.reduce((sum, pid) => sum + cpuSecondsOf(pid), 0);
  const cases = requests(1);
  const send = async ({ path, count }: Request) => {
    for (let index = 0; index < count; index++) {
      const response = await fetch(address + path, { headers: { authorization: `Bearer ${key}` } });
      if (response.status !== 200) throw new Error(`${path}: ${response.status} ${await response.text()}`);
      await response.arrayBuffer();
    }
  };
  for (const request of cases) await send(request);
  const microseconds = new Map<string, number[]>(cases.map(({ name }) => [name, []]));
  for (let round = 0; round < rounds; round++) {
    for (const request of cases) {
      const start = cpu();
      await send(request);
      microseconds.get(request.name)?.push(((cpu() - start) / request.count) * 1_000_000);
    }
  }
  const of = (name: string) => median(microseconds.get(name) ?? []);
  console.log('| request | CPU in µs | compared with | ratio | goal |\n|---|---|---|---|---|');
  for (const { name, comparedWith, goal } of cases) {
    const ratio = comparedWith ? (of(name) / of(comparedWith)).toFixed(2) : '';
    console.log(`| ${name} | ${Math.round(of(name))} | ${comparedWith ?? ''} | ${ratio} | ${goal ? `≤ ${goal}` : ''} |`);
  }
}

async function seed(url: string) {
  const owner = new pg.Client({ connectionString: url });
  await owner.connect();
  for (const table of ['monitors', 'check_logs', 'roll_up_progress']) {
    if (table !== 'roll_up_progress') await owner.query(`alter table ${table} no force row level security`);
  }
  await owner.query(
    `insert into monitors (user_id, friendly_name, url, target_host, status, last_checked_at, observed_since, observed_until)
     select 1, 'Shop ' || n, 'https://shop-' || n || '.example.com/health', 'shop-' || n || '.example.com', 'up', now(),
            now() - interval '1 year', now() + interval '1 day' from generate_series(1, $1::int) n`,
    [monitors],
  );
  const nowMs = Date.now();
  const hours = Array.from({ length: 26 }, (_, index) => startOfHour(nowMs) - index * hourMs);
  await owner.query(`insert into roll_up_progress (hour) values (to_timestamp($1))`, [startOfHour(nowMs) / 1000]);
  for (const ms of hours) {
    const checks = Buffer.concat(checksOf(ms).map((check) => encodeCheck(check, ms)));
    await owner.query(
      `insert into check_logs (hour, user_id, monitor_id, slot, checks) select to_timestamp($1), 1, id, $2, $3 from monitors`,
      [ms / 1000, rings.check_logs.slotOf(ms), checks],
    );
  }
  await seedStatistics(url, nowMs);
  await owner.query('vacuum analyze');
  await owner.end();
}

/** A check a minute: about 180 ms, with a tail. */
function checksOf(startMs: number): SingleCheck[] {
  return Array.from({ length: 60 }, (_, minute) => ({
    checkedAtMs: startMs + minute * 60_000,
    responseTimeMs: Math.round(120 + 60 * Math.random() - 80 * Math.log(Math.random())),
    failure: undefined,
  }));
}

async function seedStatistics(url: string, nowMs: number) {
  const database = await openPostgres(serviceUrl(url), entities, { poolSize: 1 });
  const hour = (startMs: number) => {
    const log = { checks: checksOf(startMs), moreSuccesses: 0, moreFailures: 0 };
    const period = { fromMs: startMs, toMs: startMs + hourMs };
    return aggregate({ observed: [period], incidents: [], logs: new Map([[startMs, log]]) }, period);
  };
  for (let id = 1; id <= monitors; id++) {
    const value = hour(0); // The same for all hours of a monitor: generating them all would take minutes.
    const day = Array.from({ length: 24 }, () => value).reduce(mergeAggregates);
    const store = (table: ChunkTable, stepMs: number, fromMs: number, toMs: number, entry: typeof value) => {
      const rows = new Map<number, StoredChunk>();
      for (let ms = fromMs; ms < toMs; ms += stepMs) {
        const startMs = table.startOf(ms);
        const row = rows.get(startMs) ?? { userId: 1, monitorId: id, startMs, chunk: new Map() };
        row.chunk.set(table.numberOf(ms), entry);
        rows.set(startMs, row);
      }
      const sums = [...rows.values()].map((row) => ({
        ...row,
        monitorId: totalsId,
        chunk: new Map([...row.chunk].map(([number]) => [number, addCounts(emptyAggregate, entry)])),
      }));
      return [...rows.values(), ...(id === 1 ? sums : [])];
    };
    const hoursRows = store(hourChunks, hourMs, startOfDay(nowMs) - 7 * dayMs, startOfHour(nowMs), value);
    const dayRows = store(dayChunks, dayMs, startOfDay(nowMs) - 366 * dayMs, startOfDay(nowMs), day);
    await database.engineTransaction(async (query) => {
      await writeChunks(query, hourChunks, hoursRows);
      await writeChunks(query, dayChunks, dayRows);
    });
  }
  await database.close();
}
