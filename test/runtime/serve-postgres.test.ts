// On a PostgreSQL server only: run with TEST_DATABASE_URL.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { generateKey } from '../../src/auth/api-key.ts';
import { databaseUrl } from '../support/database-url.ts';
import { waitUntilListening, type RunningProcess, run } from '../support/process.ts';

const server = process.env.TEST_DATABASE_URL ?? '';
const secret = { SECRET_KEY: Buffer.alloc(32, 7).toString('base64') };

describe.runIf(server)('on PostgreSQL', () => {
  let folder: string;
  let admin: pg.Client;
  let url: string;
  const name = `sitekeeper_start_${process.pid}`;
  const running: RunningProcess[] = [];

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'sitekeeper-start-'));
    admin = new pg.Client({ connectionString: server });
    await admin.connect();
    await admin.query(`create database ${name}`);
    url = databaseUrl(server, name);
  });
  afterEach(async () => {
    for (const { child, ended } of running.splice(0)) {
      child.kill('SIGTERM');
      await ended;
    }
    await admin.query(`drop database ${name} with (force)`);
    await admin.end();
    await rm(folder, { recursive: true });
  });

  function start(settings: Record<string, string>, args: string[] = []): RunningProcess {
    const started = run(folder, { PORT: '0', ...secret, ...settings }, args);
    running.push(started);
    return started;
  }

  const list = (service: string, key: string) => fetch(`${service}/api/v1/websites`, { headers: { Authorization: `Bearer ${key}` } });

  test('one URL is enough', async () => {
    const key = generateKey();
    const service = await waitUntilListening(start({ DATABASE_URL: url, OWNER_API_KEY: key }));
    expect((await list(service, key)).status).toBe(200);
  });

  test('a login without any rights of its own can serve what the owner migrated', async () => {
    const login = `${name}_login`;
    await admin.query(`create role ${login} login noinherit`);
    try {
      const serving = new URL(url);
      serving.username = login;
      serving.password = '';
      const key = generateKey();
      const service = await waitUntilListening(start({ DATABASE_URL: serving.href, MIGRATE_DATABASE_URL: url, OWNER_API_KEY: key }));
      expect((await list(service, key)).status).toBe(200);
      for (const { child, ended } of running.splice(0)) {
        child.kill('SIGTERM');
        expect(await ended).toBe(0);
      }
    } finally {
      await admin.query(`drop role ${login}`);
    }
  });

  test('processes that start together on an empty database migrate once and print one key', async () => {
    const started = [1, 2, 3].map(() => start({ DATABASE_URL: url }));
    const urls = await Promise.all(started.map(waitUntilListening));
    const keys = started.flatMap(({ printed }) => [...new Set(printed().match(/stkp_[0-9A-Za-z]{36}/g) ?? [])]);
    expect(keys).toHaveLength(1);
    for (const service of urls) expect((await list(service, keys[0] ?? '')).status).toBe(200);
  });

  test('migrate brings the database up to date and stops; a second run has nothing to do', async () => {
    const first = start({ DATABASE_URL: url }, ['migrate']);
    expect(await first.ended).toBe(0);
    expect(first.printed()).toContain('was migrated');
    const second = start({ DATABASE_URL: url }, ['migrate']);
    expect(await second.ended).toBe(0);
    expect(second.printed()).toContain('up to date');
  });

  test('migrate --plan names what would run and changes nothing', async () => {
    const plan = async () => {
      const planning = start({ DATABASE_URL: url }, ['migrate', '--plan']);
      expect(await planning.ended).toBe(0);
      return planning.printed();
    };
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    const objects = async () => (await client.query(`select count(*) from pg_class`)).rows[0].count;
    try {
      const before = await objects();
      expect(await plan()).toMatch(/^These would run, in one transaction:\n {2}0001_\w+\n {2}0002_/);
      expect(await objects()).toBe(before);
      expect(await start({ DATABASE_URL: url }, ['migrate']).ended).toBe(0);
      await client.query(`delete from migrations where name like '0006%'`);
      await client.query(`insert into migrations (name) values ('9999_tomorrow')`);
      expect(await plan()).toMatch(/^Run by a newer version already: 9999_tomorrow\.\nThese would run[^\n]*\n {2}0006_quota\nThey are in/);
    } finally {
      await client.end();
    }
  });
});
