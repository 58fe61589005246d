// Measures a million monitors on one PostgreSQL server: claims and recorded checks per second, and the size of the tables.
//   .ci/with-postgres npm run bench:million
// No target is called, so this measures only the database. An argument sets another number of monitors. The history that a million
// monitors have in the long run is calculated from the rows of a few that are checked every minute for three days.
import pg from 'pg';
import type { Database } from '../../src/db/database.ts';
import { migratePostgres, openPostgres } from '../../src/db/postgres.ts';
import { entities } from '../../src/entities.ts';
import { type Claim, claimFairly } from '../../src/monitoring/engine/claim.ts';
import { recordResults } from '../../src/monitoring/engine/record.ts';
import { dayChunks, selectChunks, toChunk, writeChunks } from '../../src/monitoring/statistics/chunk-rows.ts';
import { rings, startOfHour } from '../../src/monitoring/statistics/periods.ts';
import { appendChecks } from '../../src/monitoring/statistics/record-checks.ts';
import { rollUp } from '../../src/monitoring/statistics/roll-up.ts';
import { encodeCheck } from '../../src/monitoring/statistics/single-check.ts';
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

  announce('claims and records, in the middle of an hour');
  await seedLogs();
  await owner.query(`select pg_sleep(3)`); // New monitors are due within that time.
  const checks = await perSecond(120, checkWithoutTarget);
  await owner.query('vacuum analyze monitors');
  const used = await sizeOf('monitors');

  announce('claims and records, the first ones of an hour');
  await owner.query(`delete from check_logs where monitor_id <= 100000`);
  await owner.query(`update monitors set next_check_at = now() - interval '1 minute' where id <= 100000`);
  await owner.query('vacuum analyze monitors');
  const firstChecks = await perSecond(60, checkWithoutTarget);

  announce('claims');
  await owner.query(`update monitors set next_check_at = now() - interval '1 minute'`);
  await owner.query('vacuum analyze monitors');
  const claims = await perSecond(10, async (worker) => (await claim(worker)).length);

  announce('incidents');
  const incidents = await simulateIncidents(50_000);

  announce('three days of checks');
  await owner.query('truncate check_logs');
  const history = await simulateDays(Math.min(300, monitors));

  console.table({
    'claims per second, 4 workers': { measured: Math.round(claims) },
    'checks claimed and recorded per second, 4 workers': { measured: Math.round(checks) },
    'monitors that this supports at an interval of 60 s': { measured: Math.round(checks * 60) },
    'a million monitors, table, MB': { measured: megabytes(fresh.table * perMillion) },
    'a million monitors, indexes, MB': { measured: megabytes(fresh.indexes * perMillion) },
    'a million monitors after a round of checks and a vacuum, table, MB': { measured: megabytes(used.table * perMillion) },
    'a million monitors after a round of checks and a vacuum, indexes, MB': { measured: megabytes(used.indexes * perMillion) },
    'first checks of an hour claimed and recorded per second, 4 workers': { measured: Math.round(firstChecks) },
    'check log, bytes per hour and monitor with indexes': { measured: Math.round(history.logBytes) },
    'hour statistics, bytes per day and monitor with indexes': { measured: Math.round(history.dayBytes) },
    'day statistics, bytes per month and monitor with indexes': { measured: Math.round(history.monthBytes) },
    'a million monitors, checks of 4 days, GB': { measured: gigabytes(history.logBytes * 24 * rings.check_logs.slots * 1_000_000) },
    'a million monitors, hours of 7 weeks, GB': { measured: gigabytes(history.dayBytes * 7 * rings.hour_statistics.slots * 1_000_000) },
    'a million monitors, days of 16 months, GB': { measured: gigabytes(history.monthBytes * rings.day_statistics.slots * 1_000_000) },
    'incident with two alerts, bytes with indexes': { measured: Math.round(incidents) },
    'incidents of a million monitors, one each per month, GB per year': { measured: gigabytes(incidents * 12_000_000) },
  });
}

function announce(measurement: string) {
  console.error(`measuring ${measurement} …`);
}

/** The owner of the tables creates the rows. Row-level security is forced, so it would apply to the owner as well. */
async function exemptOwnerFromPolicies() {
  for (const table of [
    'users',
    'monitors',
    'incidents',
    'providers',
    'alerts',
    'check_logs',
    'hour_statistics',
    'day_statistics',
    'deleted_monitors',
  ]) {
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
  return (await worker.engineTransaction((query) => claimFairly(query, { freeSlots: 500, running: [], afterUserId: 0 }))).claims;
}

async function checkWithoutTarget(worker: Database): Promise<number> {
  const claimed = await claim(worker);
  const result = { up: true, responseTimeMs: 120 } as const;
  const checked = claimed.map((claim) => ({ claim, result, startedMs: performance.now() }));
  if (checked.length === 0) return 0;
  return (await worker.engineTransaction((query) => recordResults(query, checked))).accepted;
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

/** Half an hour of checks for each monitor. */
async function seedLogs() {
  const hourMs = startOfHour(Date.now());
  const checks = Array.from({ length: 30 }, (_, minute) =>
    encodeCheck({ checkedAtMs: hourMs + minute * 60_000, responseTimeMs: 120, failure: undefined }, hourMs),
  );
  await owner.query(
    `insert into check_logs (hour, user_id, monitor_id, slot, checks) select to_timestamp($1), user_id, id, $2, $3 from monitors`,
    [hourMs / 1000, rings.check_logs.slotOf(hourMs), Buffer.concat(checks)],
  );
  await owner.query('vacuum analyze check_logs');
}

/** The response times of a target that is usually fast: about 180 ms, with a tail up to a second. */
function responseTime(): number {
  return Math.round(120 + 60 * Math.random() - 80 * Math.log(Math.random()));
}

/** Checks monitors every minute for three days, rolls the hours up, and vacuums as often as autovacuum would. */
async function simulateDays(count: number): Promise<{ logBytes: number; dayBytes: number; monthBytes: number }> {
  const [worker] = workers;
  if (!worker) throw new Error('There is no worker.');
  const { rows: checked } = await owner.query<{ id: number; user_id: number }>('select id, user_id from monitors order by id limit $1', [
    count,
  ]);
  await owner.query('delete from monitors where id > $1', [checked.at(-1)?.id]); // Rolling up the others would take an hour.
  const day = 24 * 3_600_000;
  const startMs = Math.floor(Date.now() / day) * day - 3 * day;
  await owner.query(`update monitors set observed_since = to_timestamp($1), observed_until = now() + interval '1 day'`, [startMs / 1000]);
  await rollUp(worker).runBatch(); // This inserts the progress.
  await owner.query(`update roll_up_progress set hour = to_timestamp($1), monitor_id = 0`, [startMs / 1000]);
  for (let hour = 0; hour < 72; hour++) {
    for (let minute = 0; minute < 60; minute++) {
      const checkedAtMs = startMs + hour * 3_600_000 + minute * 60_000 + 1234;
      const checks = checked.map(({ id, user_id }) => ({
        userId: Number(user_id),
        monitorId: Number(id),
        checkedAtMs,
        responseTimeMs: responseTime(),
        failure: undefined,
      }));
      await worker.engineTransaction((query) => appendChecks(query, checks));
    }
    await owner.query('vacuum check_logs');
  }
  const { runBatch } = rollUp(worker);
  while ((await runBatch()) > 0);
  await owner.query('vacuum hour_statistics');
  await fillMonth(worker, startMs + day);
  const bytesPerRow = async (table: string, rows: number) => {
    const { rows: sizes } = await owner.query<{ bytes: number }>(
      `select sum(pg_total_relation_size(inhrelid))::float8 as bytes from pg_inherits
        where inhparent = $1::regclass and pg_relation_size(inhrelid) > 0`,
      [table],
    );
    return (sizes[0]?.bytes ?? 0) / rows;
  };
  return {
    logBytes: await bytesPerRow('check_logs', count * 72),
    dayBytes: await bytesPerRow('hour_statistics', count * 3),
    monthBytes: await bytesPerRow('day_statistics', count),
  };
}

/** Repeats a day that was rolled up for all days of a month, one after the other. */
async function fillMonth(worker: Database, dayMs: number) {
  const startMs = dayChunks.startOf(dayMs);
  const { rows: monitors } = await owner.query<{ id: number; user_id: number }>('select id, user_id from monitors');
  const subjects = monitors.map(({ id, user_id }) => ({ userId: Number(user_id), monitorId: Number(id) }));
  const [stored] = await worker.engineTransaction((query) => query(selectChunks(dayChunks, subjects, [startMs])));
  const rows = stored.map(toChunk);
  for (let number = 1; number <= 31; number++) {
    for (const { chunk } of rows) {
      const value = chunk.get(dayChunks.numberOf(dayMs));
      if (value) chunk.set(number, value);
    }
    await worker.engineTransaction((query) => writeChunks(query, dayChunks, rows));
    await owner.query('vacuum day_statistics');
  }
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
