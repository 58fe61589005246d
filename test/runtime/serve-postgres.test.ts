// Requires a PostgreSQL server: run with TEST_DATABASE_URL.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { generateKey } from '../../src/auth/api-key.ts';
import { databaseUrl } from '../support/database-url.ts';
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

  test('DATABASE_URL alone is enough: the service migrates and serves with the same login', async () => {
    const key = generateKey();
    const service = await waitUntilListening(start({ DATABASE_URL: url, OWNER_API_KEY: key }));
    expect((await listWebsites(service, key)).status).toBe(200);
  });

  test('with MIGRATE_DATABASE_URL, the service can use a login without privileges of its own', async () => {
    const login = `${name}_login`;
    await admin.query(`create role ${login} login noinherit`);
    try {
      const serving = new URL(url);
      serving.username = login;
      serving.password = '';
      const key = generateKey();
      const service = await waitUntilListening(start({ DATABASE_URL: serving.href, MIGRATE_DATABASE_URL: url, OWNER_API_KEY: key }));
      expect((await listWebsites(service, key)).status).toBe(200);
      for (const { child, ended } of processes.splice(0)) {
        child.kill('SIGTERM');
        expect(await ended).toBe(0);
      }
    } finally {
      await admin.query(`drop role ${login}`);
    }
  });

  test('processes that start together on an empty database migrate it once and print one key', async () => {
    const started = [1, 2, 3].map(() => start({ DATABASE_URL: url }));
    const urls = await Promise.all(started.map(waitUntilListening));
    const keys = started.flatMap(({ printed }) => [...new Set(printed().match(/stkp_[0-9A-Za-z]{36}/g) ?? [])]);
    expect(keys).toHaveLength(1);
    for (const service of urls) expect((await listWebsites(service, keys[0] ?? '')).status).toBe(200);
  });
});
