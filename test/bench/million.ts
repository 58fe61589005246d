// Measures a million monitors on one PostgreSQL server: claims and recorded checks per second, and the size of the tables.
//   .ci/with-postgres npm run bench:million
// No target is called, so this measures only the database. An argument sets another number of monitors.
import pg from 'pg';
import type { Database } from '../../src/db/database.ts';
import { migratePostgres, openPostgres } from '../../src/db/postgres.ts';
import { queryInTransaction } from '../../src/db/statement.ts';
import { entities } from '../../src/entities.ts';
import { type Claim, claimFairly } from '../../src/monitoring/engine/claim.ts';
import { recordResults } from '../../src/monitoring/engine/record.ts';
import { serviceUrl } from '../support/database-url.ts';
import { sampleEvent } from '../support/sample-event.ts';
import { withDatabase } from './with-database.ts';

const monitors = Number(process.argv[2] ?? 1_000_000);
const perUser = 1000;
const perMillion = 1_000_000 / monitors;

let owner: pg.Client;
const workers: Database[] = [];

await withDatabase('million', async (url) => {
  await migratePostgres(url, serviceUrl(url));
  owner = new pg.Client({ connectionString: url });
  await owner.connect();
  try {
    for (let n = 0; n < 4; n++) workers.push(await openPostgres(serviceUrl(url), entities, { poolSize: 1 }));
    await bench();
  } finally {
    for (const worker of workers) await worker.close();
    await owner.end();
  }
});

async function bench() {
  await exemptOwnerFromPolicies();
  announce(`${monitors} monitors`);
  await seedMonitors();
  const fresh = await sizeOf('monitors');

  announce('claims and records');
  await owner.query(`select pg_sleep(3)`); // New monitors are due within that time.
  const checks = await perSecond(120, checkWithoutTarget);
  await owner.query('vacuum analyze monitors');
  const used = await sizeOf('monitors');

  announce('claims');
  await owner.query(`update monitors set next_check_at = now() - interval '1 minute'`);
  await owner.query('vacuum analyze monitors');
  const claims = await perSecond(10, async (worker) => (await claim(worker)).length);

  announce('a day of checks');
  const hours = await simulateDay(Math.min(500, monitors));
  announce('incidents');
  const incidents = await simulateIncidents(50_000);

  console.table({
    'claims per second, 4 workers': { measured: Math.round(claims) },
    'checks claimed and recorded per second, 4 workers': { measured: Math.round(checks) },
    'monitors that this supports at an interval of 60 s': { measured: Math.round(checks * 60) },
    'a million monitors, table, MB': { measured: megabytes(fresh.table * perMillion) },
    'a million monitors, indexes, MB': { measured: megabytes(fresh.indexes * perMillion) },
    'a million monitors after a round of checks and a vacuum, table, MB': { measured: megabytes(used.table * perMillion) },
    'a million monitors after a round of checks and a vacuum, indexes, MB': { measured: megabytes(used.indexes * perMillion) },
    'check_hours, bytes per row with indexes': { measured: Math.round(hours.bytesPerRow) },
    'check_hours, rows per day of a million monitors': { measured: hours.rowsPerMonitor * 1_000_000 },
    'check_hours, GB per day of a million monitors': { measured: gigabytes(hours.rowsPerMonitor * 1_000_000 * hours.bytesPerRow) },
    'incident with two alerts, bytes with indexes': { measured: Math.round(incidents) },
    'incidents of a million monitors, one each per month, GB per year': { measured: gigabytes(incidents * 12_000_000) },
  });
}

function announce(measurement: string) {
  console.error(`measuring ${measurement} …`);
}

/** The owner of the tables creates the rows. Row-level security is forced, so it would apply to the owner as well. */
async function exemptOwnerFromPolicies() {
  for (const table of ['users', 'monitors', 'incidents', 'providers', 'alerts', 'check_hours']) {
    await owner.query(`alter table ${table} no force row level security`);
  }
}

async function seedMonitors() {
  const users = Math.ceil(monitors / perUser);
  await owner.query(`insert into users (email) select 'user' || n || '@example.com' from generate_series(1, $1::int) n`, [users]);
  // The interval is a day, so that no monitor is due twice during the measurement.
  await owner.query(
    `insert into monitors (user_id, friendly_name, url, target_host, interval_seconds, next_check_at)
     select 1 + n / ${perUser}, 'Shop ' || n, 'https://shop-' || n || '.example.com/health', 'shop-' || n || '.example.com', 86400,
            now() + random() * interval '3 seconds' from generate_series(0, $1::int - 1) n`,
    [monitors],
  );
  await owner.query('vacuum analyze monitors');
}

/** Claims what an engine claims that has no check running. */
async function claim(worker: Database): Promise<Claim[]> {
  return (await worker.asEngine((em) => claimFairly(queryInTransaction(em), { freeSlots: 500, running: [], afterUserId: 0 }))).claims;
}

async function checkWithoutTarget(worker: Database): Promise<number> {
  const claimed = await claim(worker);
  const result = { up: true, responseTimeMs: 120 } as const;
  const checked = claimed.map((claim) => ({ claim, result, startedMs: performance.now() }));
  if (checked.length === 0) return 0;
  return (await worker.asEngine((em) => recordResults(queryInTransaction(em), checked))).accepted;
}

/** Repeats the work on every worker until nothing is due or the time is over. */
async function perSecond(seconds: number, work: (worker: Database) => Promise<number>): Promise<number> {
  let done = 0;
  const start = performance.now();
  await Promise.all(
    workers.map(async (worker) => {
      while (performance.now() - start < seconds * 1000) {
        const count = await work(worker);
        if (count === 0) return;
        done += count;
      }
    }),
  );
  return done / ((performance.now() - start) / 1000);
}

/** Counts a check per minute as `record.ts` does, with a vacuum as often as autovacuum would run. */
async function simulateDay(count: number): Promise<{ bytesPerRow: number; rowsPerMonitor: number }> {
  await owner.query('truncate check_hours');
  for (let hour = 0; hour < 24; hour++) {
    for (let minute = 0; minute < 60; minute++) {
      await owner.query(
        `insert into check_hours as h (user_id, monitor_id, hour, checks, failures, total_ms, min_ms, max_ms)
         select user_id, id, date_trunc('day', now()) + $1 * interval '1 hour', 1, 0, ms, ms, ms
           from (select user_id, id, (100 + random() * 100)::int as ms from monitors where id <= $2) r
         on conflict (user_id, monitor_id, hour) do update set
           checks = h.checks + 1, failures = h.failures + excluded.failures, total_ms = h.total_ms + excluded.total_ms,
           min_ms = least(h.min_ms, excluded.min_ms), max_ms = greatest(h.max_ms, excluded.max_ms)`,
        [hour, count],
      );
    }
    await owner.query('vacuum check_hours');
  }
  const { table, indexes } = await sizeOf('check_hours');
  const { rows } = await owner.query('select count(*)::int as rows from check_hours');
  return { bytesPerRow: (table + indexes) / rows[0].rows, rowsPerMonitor: rows[0].rows / count };
}

/** Returns the bytes of one resolved incident with its two alerts to one provider. */
async function simulateIncidents(count: number): Promise<number> {
  await owner.query(
    `insert into providers (user_id, provider_type, settings) select id, 'email', '{"recipient_email": "ops@example.com"}' from users`,
  );
  await owner.query(
    `insert into incidents (user_id, monitor_id, started_at, resolved_at, cause, status_code)
     select user_id, id, now() - interval '1 hour', now(), 'HTTP 503', 503 from monitors order by id limit $1`,
    [count],
  );
  await owner.query(
    `insert into alerts (user_id, incident_id, provider_id, kind, payload, status, attempts, done_at)
     select i.user_id, i.id, p.id, kind, $1::jsonb, 'sent', 1, now()
       from incidents i join providers p on p.user_id = i.user_id, unnest(array['monitor.down', 'monitor.recovered']) as kind`,
    [JSON.stringify(sampleEvent())],
  );
  const [incidents, alerts] = [await sizeOf('incidents'), await sizeOf('alerts')];
  const created = Math.min(count, monitors);
  return (incidents.table + incidents.indexes + alerts.table + alerts.indexes) / created;
}

async function sizeOf(table: string): Promise<{ table: number; indexes: number }> {
  const { rows } = await owner.query(`select pg_table_size($1)::float8 as table, pg_indexes_size($1)::float8 as indexes`, [table]);
  return rows[0];
}

function megabytes(bytes: number): number {
  return Math.round(bytes / 1e6);
}

function gigabytes(bytes: number): number {
  return Math.round(bytes / 1e8) / 10;
}
