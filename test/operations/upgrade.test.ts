// Upgrades of a database that has rows of two users in every table: from every earlier version to this one, and from this
// version to a sample next version.
import { cpSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { generateKey, hashKey } from '../../src/auth/api-key.ts';
import type { Database } from '../../src/db/database.ts';
import { migrationNames } from '../../src/db/migrate.ts';
import { migratePostgres, openPostgres, planPostgres } from '../../src/db/postgres.ts';
import { entities } from '../../src/entities.ts';
import { smsText } from '../../src/monitoring/channels/sms/sms-message.ts';
import { contentOf } from '../../src/monitoring/messages/content.ts';
import type { StoredEvent } from '../../src/monitoring/messages/event.ts';
import { ApiClient } from '../support/api-client.ts';
import { databaseUrl, serviceUrl } from '../support/database-url.ts';
import { readMigration } from '../support/migrations.ts';
import { run } from '../support/process.ts';
import { sampleAlert } from '../support/sample-event.ts';
import { startService, type TestService } from '../support/service.ts';

type Role = 'sitekeeper_app' | 'sitekeeper_engine';
interface Write {
  table: string;
  /** The migration that the first version that writes this brought. It is the baseline if absent. */
  since?: string;
  /** The migration with which versions stopped writing this. */
  until?: string;
  as?: Role;
  /** {user} is the id of the user, {round} is the number of the round, $1 is the hash of an API key. */
  sql: string;
}

const scopes = `'{websites:read,websites:write,monitors:read,monitors:write,providers:read,providers:write}'::text[]`;

/** Versions before this migration were never released. Their rows are kept, but they cannot write after it. */
const oldestSupported = '0018_statistics';
/** Later versions store alerts as events. */
const withEvents = '0011_alert_events';
/** Later versions store the settings of a provider in one column. */
const withSettings = '0005_one_data_layer';
/** Later versions store every check, instead of the number of checks in each hour. */
const withHistory = '0018_statistics';
/** Tables without user data, besides those of the migrations. */
const ownerless = ['installation', 'roll_up_progress'];

/** The shortest statements that a version writes. A newer schema must not require the columns that they leave out. */
const writes: Write[] = [
  { table: 'users', sql: `select auth_create_user('user' || {user} || '-' || {round} || '@example.com', null)` },
  {
    table: 'api_keys',
    sql: `insert into api_keys (user_id, name, scopes, prefix, key_hash) values ({user}, 'Round ' || {round}, ${scopes}, 'stkp_abcd', $1)`,
  },
  {
    table: 'sessions',
    sql: `insert into sessions (user_id, token_hash) values ({user}, sha256(convert_to({user} || '-' || {round}, 'UTF8')))`,
  },
  {
    table: 'idempotent_responses',
    sql: `insert into idempotent_responses (user_id, operation, idempotency_key, request_hash, response) values ({user}, 'createWebsite', {round}, 'x', '{}')`,
  },
  { table: 'websites', sql: `insert into websites (user_id, domain) values ({user}, 'site' || {round} || '.example')` },
  {
    table: 'monitors',
    sql: `insert into monitors (user_id, friendly_name, url) values ({user}, 'M' || {round}, 'https://example.com')`,
  },
  {
    table: 'incidents',
    sql: `insert into incidents (user_id, monitor_id, started_at, cause) select {user}, max(id), now(), 'HTTP 503' from monitors`,
  },
  {
    table: 'providers',
    until: withSettings,
    sql: `insert into providers (user_id, provider_type, recipient_email) values ({user}, 'email', 'ops' || {round} || '@example.com')`,
  },
  {
    table: 'providers',
    since: withSettings,
    sql: `insert into providers (user_id, provider_type, settings)
          values ({user}, 'email', jsonb_build_object('recipient_email', 'ops' || {round} || '@example.com'))`,
  },
  {
    table: 'notifications',
    sql: `insert into notifications (user_id, monitor_id, provider_id) select {user}, max(m.id), max(p.id) from monitors m, providers p`,
  },
  {
    table: 'alerts',
    as: 'sitekeeper_engine',
    until: withEvents,
    sql: `insert into alerts (user_id, incident_id, provider_id, kind, subject, body)
          select {user}, max(i.id), max(p.id), 'down', 'S', 'B' from incidents i, providers p
           where i.user_id = {user} and p.user_id = {user}`,
  },
  {
    table: 'alerts',
    as: 'sitekeeper_engine',
    since: withEvents,
    sql: `insert into alerts (user_id, incident_id, provider_id, kind, payload)
          select {user}, max(i.id), max(p.id), ${sampleAlert()} from incidents i, providers p
           where i.user_id = {user} and p.user_id = {user}`,
  },
  {
    table: 'check_hours',
    as: 'sitekeeper_engine',
    until: withHistory,
    sql: `insert into check_hours (user_id, monitor_id, hour, checks, failures, total_ms)
          select {user}, max(id), now(), {round}, 0, 5 from monitors where user_id = {user}`,
  },
  {
    table: 'message_counts',
    since: '0003_shares_and_caps',
    sql: `insert into message_counts (user_id, counter, period_start, messages) values ({user}, 'round ' || {round}, now(), 1)`,
  },
  {
    table: 'installation',
    as: 'sitekeeper_engine',
    since: withEvents,
    sql: 'insert into installation default values on conflict do nothing',
  },
  {
    table: 'check_logs',
    as: 'sitekeeper_engine',
    since: withHistory,
    sql: `insert into check_logs (hour, user_id, monitor_id, slot, checks)
          select date_trunc('hour', now()), {user}, max(id), 0, '' from monitors where user_id = {user}`,
  },
  {
    table: 'hour_statistics',
    as: 'sitekeeper_engine',
    since: withHistory,
    sql: `insert into hour_statistics (user_id, monitor_id, day, slot, hours)
          select {user}, max(id), current_date, 0, '' from monitors where user_id = {user}`,
  },
  {
    table: 'day_statistics',
    as: 'sitekeeper_engine',
    since: withHistory,
    sql: `insert into day_statistics (user_id, monitor_id, month, slot, days)
          select {user}, max(id), date_trunc('month', now())::date, 0, '' from monitors where user_id = {user}`,
  },
  {
    table: 'roll_up_progress',
    as: 'sitekeeper_engine',
    since: withHistory,
    sql: 'insert into roll_up_progress default values on conflict do nothing',
  },
  {
    table: 'deleted_monitors',
    since: withHistory,
    sql: 'insert into deleted_monitors (user_id, monitor_id) values ({user}, {round})',
  },
];

test('there is a write for every table', () => {
  const tables = migrationNames.flatMap((name) => [...readMigration(name).matchAll(/^create table (\w+)/gm)].map(([, table]) => table));
  expect([...new Set(writes.map(({ table }) => table))]).toEqual(tables);
});

/**
 * What a later version could add: columns, derived data, and a table with user data. Row-level security is forced, so the
 * owner of the tables sees their rows only while it is not.
 */
const sampleMigration = `
alter table websites add column title text;

alter table monitors add column region text not null default 'local';

alter table websites no force row level security;

update websites set title = 'Site ' || domain;

alter table websites force row level security;

create table reports (
  id bigint generated always as identity primary key,
  user_id bigint not null references users (id) on delete cascade,
  created_at timestamptz(3) not null default now()
);

create index reports_by_user on reports (user_id, id);

alter table reports enable row level security;

alter table reports force row level security;

create policy own_rows on reports to sitekeeper_app using (user_id = current_user_id());

grant select, insert, update, delete on reports to sitekeeper_app;
`;

/** A condition for the tables and partitions in pg_class. */
const hasUserData = `relnamespace = 'public'::regnamespace and relname not like 'migration%' and relname <> all (array['${ownerless.join("', '")}'])`;

/** The statements of a version with these migrations. */
function writesOf(migrations: string[]): Write[] {
  return writes.filter(({ since = '0001_baseline', until = '' }) => migrations.includes(since) && !migrations.includes(until));
}

/** Returns the value that a column of an alert gets from the migrations: the kinds and a status have other names since. */
function renamed(column: string, value: unknown): unknown {
  if (column === 'kind') return `monitor.${String(value).replace('monitor.', '')}`;
  return column === 'status' && value === 'pending' ? 'queued' : value;
}

const lastNumber = Number(migrationNames.at(-1)?.slice(0, 4));
const nextName = (suffix: string, position = 1) => `${String(lastNumber + position).padStart(4, '0')}_${suffix}`;
const sampleName = nextName('sample');
const server = process.env.TEST_DATABASE_URL ?? '';
const users = [1, 2];

describe.runIf(server)('on PostgreSQL', () => {
  /** A copy of this checkout with one more migration. */
  let nextVersion: string;
  let admin: pg.Client;
  let client: pg.Client;
  /** The owner cannot become the roles of the service. */
  let serviceClient: pg.Client;
  let name: string;
  let url: string;

  beforeAll(async () => {
    nextVersion = mkdtempSync(join(tmpdir(), 'sitekeeper-next-version-'));
    for (const part of ['src', 'generated', 'package.json']) cpSync(part, join(nextVersion, part), { recursive: true });
    symlinkSync(join(process.cwd(), 'node_modules'), join(nextVersion, 'node_modules'));
    writeFileSync(migrationFile(sampleName), sampleMigration);
    admin = new pg.Client({ connectionString: server });
    await admin.connect();
  });
  afterAll(async () => {
    await admin.end();
    rmSync(nextVersion, { recursive: true });
  });

  const migrationFile = (migration: string) => join(nextVersion, 'src/db/migrations', `${migration}.sql`);

  /** Runs the next version's `migrate` command. */
  async function migrateNext(...options: string[]): Promise<{ code: number | string; printed: string }> {
    const settings = { DATABASE_URL: serviceUrl(url), MIGRATE_DATABASE_URL: url, SECRET_KEY: Buffer.alloc(32, 1).toString('base64') };
    const { ended, printed } = run(nextVersion, settings, ['migrate', ...options], nextVersion);
    return { code: await ended, printed: printed() };
  }

  async function createDatabaseWith(migrations: string[]) {
    name = `sitekeeper_upgrade_${process.pid}_${migrations.length}`;
    url = databaseUrl(server, name);
    await admin.query(`create database ${name}`);
    await migratePostgres(url, serviceUrl(url), migrations);
    client = new pg.Client({ connectionString: url });
    serviceClient = new pg.Client({ connectionString: serviceUrl(url) });
    await Promise.all([client.connect(), serviceClient.connect()]);
  }

  async function dropDatabase() {
    await Promise.all([client.end(), serviceClient.end()]);
    await admin.query(`drop database ${name} with (force)`);
  }

  async function queryAs(role: Role, user: number, sql: string, values: unknown[] = []): Promise<object[]> {
    await serviceClient.query('begin');
    await serviceClient.query(`set local role ${role}`);
    await serviceClient.query(`select set_config('app.user_id', $1, true)`, [String(user)]);
    const { rows } = await serviceClient.query(sql, values);
    await serviceClient.query('commit');
    return rows;
  }

  /** Returns the tables with user data and their columns. The rows of partitions are those of their table. */
  async function readTables(): Promise<{ table: string; columns: string[] }[]> {
    const { rows } = await client.query(
      `select relname::text as table, array_agg(quote_ident(attname)::text order by attnum) as columns
         from pg_class c join pg_attribute on attrelid = c.oid and attnum > 0 and not attisdropped
        where relkind in ('r', 'p') and not relispartition and ${hasUserData} group by 1 order by 1`,
    );
    return rows;
  }

  type Tables = Awaited<ReturnType<typeof readTables>>;

  /** Returns the tables without those and their columns that have been dropped since. */
  async function withoutDropped(tables: Tables): Promise<Tables> {
    const now = await readTables();
    const dropped = tables.filter(({ table }) => !now.some((found) => found.table === table)).map(({ table }) => table);
    const written = writesOf(migrationNames).map(({ table }) => table);
    expect(dropped.filter((table) => written.includes(table))).toEqual([]);
    return tables.flatMap(({ table, columns }) => {
      const current = now.find((found) => found.table === table)?.columns;
      return current ? [{ table, columns: columns.filter((column) => current.includes(column)) }] : [];
    });
  }

  /** Returns the rows of each user by table, as that user sees them. */
  async function readRows(tables: Tables): Promise<Record<string, object[]>[]> {
    const rowsByUser: Record<string, object[]>[] = [];
    for (const user of users) {
      const rows: Record<string, object[]> = {};
      for (const { table, columns } of tables)
        rows[table] = await queryAs('sitekeeper_app', user, `select ${columns} from ${table} order by 1, 2`);
      rowsByUser.push(rows);
    }
    return rowsByUser;
  }

  async function expectIsolation() {
    expect(await unprotectedTables(client)).toEqual([]);
    for (const { table } of await readTables()) {
      const column = table === 'users' ? 'id' : 'user_id';
      expect([table, await queryAs('sitekeeper_app', 1, `select ${column} from ${table} where ${column} <> 1`)]).toEqual([table, []]);
    }
  }

  describe.each(migrationNames.map((last, index) => ({ last, migrations: migrationNames.slice(0, index + 1) })))(
    'from $last',
    ({ migrations }) => {
      const keys = new Map(users.map((user) => [user, generateKey()]));
      const canStillWrite = migrations.includes(oldestSupported);
      let database: Database | undefined;
      let service: TestService | undefined;

      beforeAll(() => createDatabaseWith(migrations));
      afterAll(async () => {
        await service?.stop();
        await database?.close();
        await dropDatabase();
      });

      /** Writes as the version with these migrations does. */
      async function writeRound(round: number, ownWrites: Write[]) {
        for (const user of users) {
          for (const { table, as: role = 'sitekeeper_app', sql } of ownWrites) {
            const hash = round === 1 ? hashKey(keys.get(user) ?? '') : Buffer.from(`${user}-${round}`);
            const statement = sql.replaceAll('{user}', String(user)).replaceAll('{round}', String(round));
            await queryAs(role, user, statement, table === 'api_keys' ? [hash] : []);
          }
        }
      }

      /** Reads and writes through the service. It is expected to return these domains and one monitor for each. */
      async function expectServiceWorks({ url }: TestService, domains: string[], newDomain: string) {
        for (const [user, key] of keys) {
          const api = new ApiClient(url, { Authorization: `Bearer ${key}` });
          const websites = (await api.get('/api/v1/websites?sort_by=domain&sort=asc')).body;
          expect([user, websites.data.map((website: { domain: string }) => website.domain)]).toEqual([user, domains]);
          expect(websites.meta.total).toBe(domains.length);
          expect((await api.get('/api/monitors')).body.meta.total).toBe(domains.length);
          expect((await api.post('/api/v1/websites', { form: { domain: newDomain } })).status).toBe(201);
          expect((await api.post('/api/monitors', { json: { friendly_name: 'New', url: 'https://example.com' } })).status).toBe(201);
          // The service updates last_used_at after the response. Later snapshots must not differ because of it.
          const unused = () =>
            queryAs('sitekeeper_app', user, 'select id from api_keys where key_hash = $1 and last_used_at is null', [hashKey(key)]);
          await vi.waitFor(async () => expect(await unused()).toEqual([]));
        }
        expect((await fetch(`${url}/readyz`)).status).toBe(200);
      }

      test(`all rows and policies are kept in this version${canStillWrite ? ', and the older version can still write' : ''}`, async () => {
        await writeRound(1, writesOf(migrations));
        const tables = await readTables();
        const all = await readRows(tables);
        for (const rows of all) expect(Object.entries(rows).filter(([, found]) => found.length === 0)).toEqual([]);

        expect(await migratePostgres(url, serviceUrl(url))).toEqual(migrationNames.slice(migrations.length));

        const kept = await withoutDropped(tables);
        const pick = (rows: Record<string, object[]>) =>
          Object.fromEntries(
            kept.map(({ table, columns }) => [
              table,
              rows[table]?.map((row) =>
                Object.fromEntries(
                  Object.entries(row)
                    .filter(([column]) => columns.includes(column))
                    .map(([column, value]) => [column, table === 'alerts' ? renamed(column, value) : value]),
                ),
              ),
            ]),
          );
        expect(await readRows(kept)).toEqual(all.map(pick));
        for (const user of users) {
          const settings = await queryAs('sitekeeper_app', user, 'select settings from providers');
          expect(settings).toEqual([{ settings: { recipient_email: 'ops1@example.com' } }]);
          const counted = 'select website_count, monitor_count, provider_count, key_count from users';
          expect(await queryAs('sitekeeper_app', user, counted)).toEqual([
            { website_count: 1, monitor_count: 1, provider_count: 1, key_count: 1 },
          ]);
        }
        await expectIsolation();
        const later = writesOf(canStillWrite ? migrations : migrationNames);
        await writeRound(2, later);
        for (const rows of await readRows(kept)) {
          for (const { table } of later.filter(({ table }) => table !== 'users' && kept.some((known) => known.table === table)))
            expect([table, rows[table]?.length]).toEqual([table, 2]);
        }
      });

      // The next test differs only in the rows that the service finds, so two of the versions are enough.
      if (migrations.length > 1 && migrations.length < migrationNames.length) return;

      test('this version keeps working on a database that the next version has migrated', async () => {
        database = await openPostgres(serviceUrl(url), entities, { poolSize: 2 });
        service = await startService({}, { database });
        await expectServiceWorks(service, ['site1.example', 'site2.example'], 'site3.example');
        const tables = await readTables();
        const before = await readRows(tables);

        expect(await migrateNext('--plan')).toEqual({ code: 0, printed: expect.stringContaining(`  ${sampleName}\n`) });
        expect(await migrateNext()).toEqual({ code: 0, printed: expect.stringContaining(`"done":["${sampleName}"]`) });

        expect(await planPostgres(url)).toEqual({ pending: [], unknown: [sampleName] });
        expect(await readRows(tables)).toEqual(before);
        await expectIsolation();
        for (const user of users) {
          const titles = await queryAs('sitekeeper_app', user, 'select title from websites order by domain');
          expect(titles).toEqual([1, 2, 3].map((n) => ({ title: `Site site${n}.example` })));
        }
        // The connections of the service are the same as before, with statements that were prepared before the migration.
        await writeRound(4, writesOf(canStillWrite ? migrations : migrationNames));
        await expectServiceWorks(
          service,
          [1, 2, 3, 4].map((n) => `site${n}.example`),
          'site5.example',
        );
      });
    },
  );

  describe('from the last version with a column for each setting of a provider', () => {
    beforeAll(() => createDatabaseWith(migrationNames.slice(0, migrationNames.indexOf(withSettings))));
    afterAll(dropDatabase);

    test('the settings of every type are kept', async () => {
      await queryAs('sitekeeper_app', 1, `select auth_create_user('a@example.com', null)`);
      await queryAs(
        'sitekeeper_app',
        1,
        `insert into providers (user_id, provider_type, recipient_email, webhook_url_encrypted, webhook_url_mask, channel, username,
           chat_id, token_encrypted, token_mask, phone_number) values
           (1, 'email', 'ops@example.com', null, null, null, null, null, null, null, null),
           (1, 'slack', null, 'encrypted url', '****path', '#ops', 'Keeper', null, null, null, null),
           (1, 'slack', null, 'encrypted url', '****path', null, null, null, null, null, null),
           (1, 'telegram', null, null, null, null, null, '-100', 'encrypted token', '****oken', null),
           (1, 'sms', null, null, null, null, null, null, null, null, '+14155550100')`,
      );
      await migratePostgres(url, serviceUrl(url));
      const webhook_url = { encrypted: 'encrypted url', mask: '****path' };
      expect(await queryAs('sitekeeper_app', 1, 'select provider_type, settings from providers order by id')).toEqual([
        { provider_type: 'email', settings: { recipient_email: 'ops@example.com' } },
        { provider_type: 'slack', settings: { webhook_url, channel: '#ops', username: 'Keeper' } },
        { provider_type: 'slack', settings: { webhook_url, channel: null, username: null } },
        { provider_type: 'telegram', settings: { chat_id: '-100', token: { encrypted: 'encrypted token', mask: '****oken' } } },
        { provider_type: 'sms', settings: { phone_number: '+14155550100' } },
      ]);
    });
  });

  describe('from the last version whose alerts are texts', () => {
    beforeAll(() => createDatabaseWith(migrationNames.slice(0, migrationNames.indexOf(withEvents))));
    afterAll(dropDatabase);

    test('alerts that wait are kept, as events that every channel can show', async () => {
      await queryAs('sitekeeper_app', 1, `select auth_create_user('a@example.com', null)`);
      await queryAs('sitekeeper_app', 1, `insert into monitors (user_id, friendly_name, url) values (1, 'Shop', 'https://shop.example')`);
      await queryAs('sitekeeper_app', 1, `insert into providers (user_id, provider_type, settings) values (1, 'sms', '{}')`);
      await queryAs(
        'sitekeeper_engine',
        1,
        `insert into incidents (user_id, monitor_id, started_at, resolved_at, cause, status_code)
         values (1, 1, '2026-11-15T01:41:07Z', '2026-11-15T02:04:18Z', 'HTTP 503', 503)`,
      );
      await queryAs(
        'sitekeeper_engine',
        1,
        `insert into alerts (user_id, incident_id, monitor_id, provider_id, kind, subject, body, status) values
           (1, 1, null, 1, 'down', 'S', 'B', 'sent'), (1, 1, null, 1, 'recovered', 'S', 'B', 'pending'), (1, null, 1, 1, 'tls_expiring', 'S', 'B', 'failed')`,
      );
      await migratePostgres(url, serviceUrl(url));
      const alerts = (await queryAs('sitekeeper_engine', 1, 'select kind, status, payload from alerts order by id')) as {
        kind: string;
        status: string;
        payload: StoredEvent;
      }[];
      expect(alerts.map(({ kind, status }) => [kind, status])).toEqual([
        ['monitor.down', 'sent'],
        ['monitor.recovered', 'queued'],
        ['monitor.tls_expiring', 'failed'],
      ]);
      const texts = alerts.map(({ payload }) => smsText({ event: payload, content: contentOf(payload) }));
      expect(texts[1]).toBe('UP Shop: was down 23 min, 01:41-02:04 UTC (503 Service Unavailable). https://shop.example');
      for (const text of texts) expect(text).toContain(' Shop: ');
    });
  });

  describe('a failed migration', () => {
    const failing = nextName('failing', 2);

    beforeAll(() => {
      writeFileSync(migrationFile(failing), 'alter table websites add column colour text;\n\nselect 1 / 0;\n');
      return createDatabaseWith(migrationNames);
    });
    afterAll(async () => {
      rmSync(migrationFile(failing));
      await dropDatabase();
    });

    test('leaves the database unchanged, together with the migrations before it', async () => {
      const before = await readTables();
      expect(await migrateNext()).toEqual({ code: 1, printed: expect.stringMatching(/^(?!Cannot start).*division by zero/m) });
      expect(await readTables()).toEqual(before);
      expect(await planPostgres(url)).toEqual({ pending: [], unknown: [] });
    });
  });
});

async function unprotectedTables(client: pg.Client): Promise<object[]> {
  const { rows } = await client.query(
    `select relname from pg_class c
      where relkind in ('r', 'p') and ${hasUserData}
        and not (relrowsecurity and relforcerowsecurity and exists (select from pg_policy p where p.polrelid = c.oid))`,
  );
  return rows;
}
