// A database of every earlier version, with rows of two users in every table that it has, brought to this version.
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { generateKey, hashKey } from '../../src/auth/api-key.ts';
import { migrationNames } from '../../src/db/migrate.ts';
import { migratePostgres, openPostgres } from '../../src/db/postgres.ts';
import { entities } from '../../src/entities.ts';
import { ApiClient } from '../support/api-client.ts';
import { databaseUrl } from '../support/database-url.ts';
import { readMigration } from '../support/migrations.ts';
import { startService } from '../support/service.ts';

type Role = 'sitekeeper_app' | 'sitekeeper_engine';
interface Write {
  table: string;
  /** The first version, by its number of migrations, that writes so. */
  since: number;
  as?: Role;
  /** {user} is whose, {round} tells one time from another; $1 is the hash of a key. */
  sql: string;
}

const scopes = `'{websites:read,websites:write,monitors:read,monitors:write,providers:read,providers:write}'::text[]`;

/** How versions write, in the shortest form: what they leave out, a newer version must not demand. */
const writes: Write[] = [
  { table: 'users', since: 1, sql: `select auth_create_user('user' || {user} || '-' || {round} || '@example.com', null)` },
  {
    table: 'api_keys',
    since: 1,
    sql: `insert into api_keys (user_id, name, scopes, prefix, key_hash) values ({user}, 'Round ' || {round}, ${scopes}, 'stkp_abcd', $1)`,
  },
  { table: 'websites', since: 1, sql: `insert into websites (user_id, domain) values ({user}, 'site' || {round} || '.example')` },
  {
    table: 'monitors',
    since: 1,
    sql: `insert into monitors (user_id, friendly_name, url) values ({user}, 'M' || {round}, 'https://example.com')`,
  },
  {
    table: 'sessions',
    since: 2,
    sql: `insert into sessions (user_id, token_hash) values ({user}, sha256(convert_to({user} || '-' || {round}, 'UTF8')))`,
  },
  {
    table: 'idempotent_responses',
    since: 2,
    sql: `insert into idempotent_responses (user_id, operation, idempotency_key, request_hash, answer) values ({user}, 'createWebsite', {round}, 'x', '{}')`,
  },
  {
    table: 'incidents',
    since: 4,
    sql: `insert into incidents (user_id, monitor_id, started_at, cause) select {user}, max(id), now(), 'HTTP 503' from monitors`,
  },
  {
    table: 'providers',
    since: 4,
    sql: `insert into providers (user_id, provider_type, recipient_email) values ({user}, 'email', 'ops' || {round} || '@example.com')`,
  },
  {
    table: 'notifications',
    since: 4,
    sql: `insert into notifications (user_id, monitor_id, provider_id) select {user}, max(m.id), max(p.id) from monitors m, providers p`,
  },
  {
    table: 'alerts',
    since: 5,
    as: 'sitekeeper_engine',
    sql: `insert into alerts (user_id, incident_id, provider_id, kind, subject, body)
          select {user}, max(i.id), max(p.id), 'down', 'S', 'B' from incidents i, providers p
           where i.user_id = {user} and p.user_id = {user}`,
  },
  {
    table: 'check_hours',
    since: 5,
    as: 'sitekeeper_engine',
    sql: `insert into check_hours (user_id, monitor_id, hour, checks, failures, total_ms)
          select {user}, max(id), now(), {round}, 0, 5 from monitors where user_id = {user}`,
  },
];

const server = process.env.TEST_DATABASE_URL ?? '';
const users = [1, 2];

describe.runIf(server).each(migrationNames.map((name, index) => ({ from: name, count: index + 1 })))('from $from', ({ count }) => {
  const name = `sitekeeper_upgrade_${process.pid}_${count}`;
  const url = databaseUrl(server, name);
  const keys = new Map(users.map((user) => [user, generateKey()]));
  let admin: pg.Client;
  let client: pg.Client;

  beforeAll(async () => {
    admin = new pg.Client({ connectionString: server });
    await admin.connect();
    await admin.query(`create database ${name}`);
    await migratePostgres(url, url, migrationNames.slice(0, count));
    client = new pg.Client({ connectionString: url });
    await client.connect();
  });
  afterAll(async () => {
    await client.end();
    await admin.query(`drop database ${name} with (force)`);
    await admin.end();
  });

  async function as(role: Role, user: number, sql: string, values: unknown[] = []): Promise<object[]> {
    await client.query('begin');
    await client.query(`set local role ${role}`);
    await client.query(`select set_config('app.user_id', $1, true)`, [String(user)]);
    const { rows } = await client.query(sql, values);
    await client.query('commit');
    return rows;
  }

  /** As the code of that version wrote. */
  async function writeRound(round: number) {
    for (const user of users) {
      for (const { table, as: role = 'sitekeeper_app', sql } of writes.filter(({ since }) => since <= count)) {
        const hash = round === 1 ? hashKey(keys.get(user) ?? '') : Buffer.from(`${user}-${round}`);
        const statement = sql.replaceAll('{user}', String(user)).replaceAll('{round}', String(round));
        await as(role, user, statement, table === 'api_keys' ? [hash] : []);
      }
    }
  }

  const columns = async () =>
    (
      await client.query<{ table: string; columns: string }>(
        `select table_name as table, string_agg(quote_ident(column_name), ', ' order by ordinal_position) as columns
           from information_schema.columns where table_schema = 'public' and table_name <> 'migrations' group by 1 order by 1`,
      )
    ).rows;

  async function rowsOf(user: number, tables: { table: string; columns: string }[]): Promise<Record<string, object[]>> {
    const rows: Record<string, object[]> = {};
    for (const { table, columns } of tables)
      rows[table] = await as('sitekeeper_app', user, `select ${columns} from ${table} order by 1, 2`);
    return rows;
  }

  test('nothing is lost, the policies hold, the older version can go on writing, and the service answers', async () => {
    await writeRound(1);
    const before = await columns();
    const [first, second] = [await rowsOf(1, before), await rowsOf(2, before)];
    for (const rows of [first, second]) expect(Object.entries(rows).filter(([, found]) => found.length === 0)).toEqual([]);

    expect(await migratePostgres(url, url)).toEqual(migrationNames.slice(count));

    expect([await rowsOf(1, before), await rowsOf(2, before)]).toEqual([first, second]);
    expect(await unprotected(client)).toEqual([]);
    for (const { table } of await columns()) {
      const whose = table === 'users' ? 'id' : 'user_id';
      expect([table, await as('sitekeeper_app', 1, `select ${whose} from ${table} where ${whose} <> 1`)]).toEqual([table, []]);
    }

    await writeRound(2);
    for (const user of users) {
      const rows = await rowsOf(user, before);
      for (const { table } of writes.filter((one) => one.since <= count && one.table !== 'users'))
        expect([table, rows[table]?.length]).toEqual([table, 2]);
    }

    const database = await openPostgres(url, entities, { poolSize: 2 });
    const service = await startService({}, { database });
    try {
      for (const [user, key] of keys) {
        const api = new ApiClient(service.url, { Authorization: `Bearer ${key}` });
        const websites = (await api.get('/api/v1/websites?sort_by=domain&sort=asc')).body;
        expect([user, websites.data.map((one: { domain: string }) => one.domain)]).toEqual([user, ['site1.example', 'site2.example']]);
        expect(websites.meta.total).toBe(2);
        expect((await api.get('/api/monitors')).body.meta.total).toBe(2);
        expect((await api.post('/api/v1/websites', { form: { domain: 'new.example' } })).status).toBe(201);
        expect((await api.post('/api/monitors', { json: { friendly_name: 'New', url: 'https://example.com' } })).status).toBe(201);
      }
    } finally {
      await service.stop();
      await database.close();
    }
  });
});

test('the rows above are of every table that there is', () => {
  const made = migrationNames.flatMap((name) => [...readMigration(name).matchAll(/^create table (\w+)/gm)].map(([, table]) => table));
  expect(writes.map(({ table }) => table)).toEqual(made);
});

async function unprotected(client: pg.Client): Promise<object[]> {
  const { rows } = await client.query(
    `select relname from pg_class c
      where relkind in ('r', 'p') and relnamespace = 'public'::regnamespace and relname <> 'migrations'
        and not (relrowsecurity and relforcerowsecurity and exists (select from pg_policy p where p.polrelid = c.oid))`,
  );
  return rows;
}
