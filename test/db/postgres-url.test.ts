// The query parameters of DATABASE_URL apply to every connection.
import { once } from 'node:events';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { migratePostgres, openPostgres, planPostgres } from '../../src/db/postgres.ts';
import { entities } from '../../src/entities.ts';
import { createDatabase, urlOf } from '../support/database.ts';

/** Declines TLS, and records the first message of each connection. */
let server: Server;
let url: string;
const firstMessages: number[] = [];
/** The code of SSLRequest in the PostgreSQL protocol. */
const sslRequest = 80877103;

beforeAll(async () => {
  server = createServer((socket) => {
    socket.once('data', (bytes) => {
      firstMessages.push(bytes.readInt32BE(4));
      socket.end('N');
    });
    socket.on('error', () => {});
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  url = `postgres://app:secret@127.0.0.1:${(server.address() as AddressInfo).port}/sitekeeper?sslmode=require`;
});
afterAll(() => void server.close());

test.each([
  ['the service', () => openPostgres(url, entities, { poolSize: 1 })],
  ['migrate', () => migratePostgres(url, url)],
  ['migrate --plan', () => planPostgres(url)],
])('with sslmode=require, %s sends nothing unencrypted', async (_, connect) => {
  firstMessages.length = 0;
  await expect(connect()).rejects.toThrow('does not support SSL');
  expect(new Set(firstMessages)).toEqual(new Set([sslRequest]));
});

test.runIf(process.env.TEST_DATABASE_URL)('options in the URL apply unless the service sets them itself', async () => {
  const database = await createDatabase();
  const url = new URL(urlOf(database));
  url.searchParams.set('options', '-c work_mem=5MB -c role=none -c statement_timeout=0');
  const withOptions = await openPostgres(url.href, entities, { poolSize: 1 });
  try {
    const settings = `select current_user as role, current_setting('work_mem') as memory, current_setting('statement_timeout') as timeout`;
    expect(await withOptions.asAuthenticator((em) => em.execute(settings))).toEqual([
      { role: 'sitekeeper_app', memory: '5MB', timeout: '15s' },
    ]);
  } finally {
    await withOptions.close();
    await database.close();
  }
});
