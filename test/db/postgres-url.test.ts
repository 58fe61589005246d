// What the address of the database says after the question mark counts for every connection.
import { once } from 'node:events';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { migratePostgres, openPostgres, planPostgres } from '../../src/db/postgres.ts';
import { entities } from '../../src/entities.ts';
import { createDatabase, urlOf } from '../support/database.ts';

/** Takes no TLS, and keeps the first bytes of whoever comes. */
let server: Server;
let url: string;
const seen: number[] = [];
const tlsRequest = 80877103;

beforeAll(async () => {
  server = createServer((socket) => {
    socket.once('data', (bytes) => {
      seen.push(bytes.readInt32BE(4));
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
  ['a migration', () => migratePostgres(url, url)],
  ['the plan of one', () => planPostgres(url)],
])('sslmode=require: %s sends nothing in the clear', async (_, connect) => {
  seen.length = 0;
  await expect(connect()).rejects.toThrow('does not support SSL');
  expect(new Set(seen)).toEqual(new Set([tlsRequest]));
});

test.runIf(process.env.TEST_DATABASE_URL)('options in the address count, but not against ours', async () => {
  const database = await createDatabase();
  const address = new URL(urlOf(database));
  address.searchParams.set('options', '-c work_mem=5MB -c role=none -c statement_timeout=0');
  const same = await openPostgres(address.href, entities, { poolSize: 1 });
  try {
    const settings = `select current_user as role, current_setting('work_mem') as memory, current_setting('statement_timeout') as timeout`;
    expect(await same.asAuthenticator((em) => em.execute(settings))).toEqual([{ role: 'sitekeeper_app', memory: '5MB', timeout: '15s' }]);
  } finally {
    await same.close();
    await database.close();
  }
});
