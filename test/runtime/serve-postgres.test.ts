// Requires a PostgreSQL server: run with TEST_DATABASE_URL.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { generateKey } from '../../src/auth/api-key.ts';
import { databaseUrl, serviceUrl } from '../support/database-url.ts';
import { type RunningProcess, run, waitUntilListening } from '../support/process.ts';

const server = process.env.TEST_DATABASE_URL ?? '';
const secret = { SECRET_KEY: Buffer.alloc(32, 7).toString('base64') };

describe.runIf(server)('on PostgreSQL', () => {
  let folder: string;
  let admin: pg.Client;
  let url: string;
  const name = `sitekeeper_start_${process.pid}`;
  const processes: RunningProcess[] = [];

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'sitekeeper-start-'));
    admin = new pg.Client({ connectionString: server });
    await admin.connect();
    await admin.query(`create database ${name}`);
    url = databaseUrl(server, name);
  });
  afterEach(async () => {
    for (const { child, ended } of processes.splice(0)) {
      child.kill('SIGTERM');
      await ended;
    }
    await admin.query(`drop database ${name} with (force)`);
    await admin.end();
    await rm(folder, { recursive: true });
  });

  function start(settings: Record<string, string>, args: string[] = []): RunningProcess {
    const started = run(folder, { PORT: '0', ...secret, ...settings }, args);
    processes.push(started);
    return started;
  }

  const listWebsites = (service: string, key: string) =>
    fetch(`${service}/api/v1/websites`, { headers: { Authorization: `Bearer ${key}` } });

  const both = () => ({ DATABASE_URL: serviceUrl(url), MIGRATE_DATABASE_URL: url });

  async function expectRefusal(settings: Record<string, string>, message: RegExp | string) {
    const { ended, printed } = start(settings);
    expect([await ended, printed()]).toEqual([1, expect.stringMatching(message)]);
    expect(printed()).toMatch(/^[^\n]+\n$/);
  }

  /** Runs `work` with a login that has these options. */
  async function withLogin(options: string, work: (loginUrl: string) => Promise<void>) {
    const login = new URL(serviceUrl(url));
    login.username = `${name}_login`;
    await admin.query(`create role ${login.username} login password ${admin.escapeLiteral(login.password || 'unused')} ${options}`);
    try {
      await work(login.href);
    } finally {
      await admin.query(`drop role ${login.username}`);
    }
  }

  const remedy =
    'so row-level security would not restrict it. Use a login that owns nothing, such as the one that deploy/create-database.sql creates, and set MIGRATE_DATABASE_URL to the login of the database owner.\n';

  test('the service logs in without privileges of its own, and needs no other login once the database is migrated', async () => {
    await withLogin('noinherit', async (login) => {
      const key = generateKey();
      await expectRefusal(
        { DATABASE_URL: login },
        /^Cannot start\. The database is not migrated to this version: its roles [^\n]+\(.*"sitekeeper_app".*\)\. Run [^\n]*\n$/,
      );
      const settings = { DATABASE_URL: login, MIGRATE_DATABASE_URL: url, OWNER_API_KEY: key };
      for (const given of [settings, { DATABASE_URL: login }]) {
        const started = start(given);
        expect((await listWebsites(await waitUntilListening(started), key)).status).toBe(200);
        started.child.kill('SIGTERM');
        expect(await started.ended).toBe(0);
      }
      const owner = new pg.Client({ connectionString: url });
      await owner.connect();
      await owner.query(`delete from migrations where name = '0001_baseline'`);
      await owner.end();
      await expectRefusal(
        { DATABASE_URL: login },
        /^Cannot start\. The database is not migrated to this version: 0001_baseline did not run\. Run "sitekeeper migrate" with MIGRATE_DATABASE_URL/,
      );
    });
  });

  test('the owner of the database is refused as the login of the service, before and after the migration', async () => {
    const { username } = new URL(url);
    const refusal = `Cannot start. The login "${username}" in DATABASE_URL has CREATEROLE, ${remedy}`;
    await expectRefusal({ DATABASE_URL: url, MIGRATE_DATABASE_URL: url }, refusal);
    const owner = new pg.Client({ connectionString: url });
    await owner.connect();
    expect((await owner.query(`select from pg_tables where schemaname = 'public'`)).rowCount).toBe(0);
    await owner.end();
    await waitUntilListening(start(both()));
    await expectRefusal({ DATABASE_URL: url, MIGRATE_DATABASE_URL: url }, refusal);
  });

  test.each([
    ['createrole', 'has CREATEROLE'],
    ['in role parent', `can become "${name}_parent", which has CREATEROLE`],
    ['noinherit in role sitekeeper_auth', 'can become "sitekeeper_auth", which owns functions'],
  ])('a login with %s is refused', async (options, power) => {
    await waitUntilListening(start(both()));
    await admin.query(`create role ${name}_parent createrole`);
    try {
      await withLogin(options.replace(/parent$/, `${name}_parent`), (login) =>
        expectRefusal(
          { DATABASE_URL: login, MIGRATE_DATABASE_URL: url },
          `Cannot start. The login "${name}_login" in DATABASE_URL ${power}, ${remedy}`,
        ),
      );
    } finally {
      await admin.query(`drop role ${name}_parent`);
    }
  });

  test('a login that owns a table is refused', async () => {
    await waitUntilListening(start(both()));
    const owner = new pg.Client({ connectionString: url });
    await owner.connect();
    await withLogin('noinherit', async (login) => {
      await owner.query(`grant create on schema public to ${name}_login`);
      const client = new pg.Client({ connectionString: login });
      await client.connect();
      await client.query('create table own ()');
      const refusal = `Cannot start. The login "${name}_login" in DATABASE_URL owns tables, ${remedy}`;
      await expectRefusal({ DATABASE_URL: login, MIGRATE_DATABASE_URL: url }, refusal);
      await client.query('drop table own');
      await client.end();
      await owner.query(`revoke create on schema public from ${name}_login`);
    });
    await owner.end();
  });

  test('a read is served while another user has more transactions waiting than there are connections', async () => {
    const key = generateKey();
    const service = await waitUntilListening(start({ ...both(), OWNER_API_KEY: key, DATABASE_POOL_SIZE: '3' }));
    const owner = new pg.Client({ connectionString: url });
    await owner.connect();
    const headers = { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' };
    const readKeys = () => fetch(`${service}/api/keys`, { headers });
    expect((await readKeys()).status).toBe(200);
    await owner.query('begin');
    await owner.query('lock table providers in exclusive mode');
    const body = JSON.stringify({ provider_type: 'email', recipient_email: 'a@example.com' });
    const writes = Array.from({ length: 20 }, () => fetch(`${service}/api/providers`, { method: 'POST', headers, body }));
    for (let count = 0; count < 5; count++) expect((await readKeys()).status).toBe(200);
    await owner.query('rollback');
    await owner.end();
    for (const { status } of await Promise.all(writes)) expect([201, 503]).toContain(status);
  });

  test('deletes all expired responses in batches after the start', async () => {
    await waitUntilListening(start(both()));
    const owner = new pg.Client({ connectionString: url });
    await owner.connect();
    for (const table of ['users', 'idempotent_responses']) await owner.query(`alter table ${table} no force row level security`);
    await owner.query(
      `insert into idempotent_responses (user_id, operation, idempotency_key, request_hash, response, created_at)
       select (select min(id) from users), 'POST /test', n, '\\x00', '{}', now() - interval '25 hours' from generate_series(1, 1200) n`,
    );
    await waitUntilListening(start(both()));
    const count = async () => (await owner.query('select count(*)::int as count from idempotent_responses')).rows[0].count;
    await expect.poll(count, { timeout: 20_000 }).toBe(0);
    await owner.end();
  });

  test('processes that start together on an empty database migrate it once and print one key', async () => {
    const started = [1, 2, 3].map(() => start(both()));
    const urls = await Promise.all(started.map(waitUntilListening));
    const keys = started.flatMap(({ printed }) => [...new Set(printed().match(/stkp_[0-9A-Za-z]{36}/g) ?? [])]);
    expect(keys).toHaveLength(1);
    for (const service of urls) expect((await listWebsites(service, keys[0] ?? '')).status).toBe(200);
  });
});
