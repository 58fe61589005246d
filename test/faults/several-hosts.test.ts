// DATABASE_URL with two hosts, of which only one accepts writes. A server with default_transaction_read_only acts as the standby.
import pg from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import type { Database } from '../../src/db/database.ts';
import { migratePostgres, openPostgres, planPostgres } from '../../src/db/postgres.ts';
import { entities } from '../../src/entities.ts';
import { RetryLaterError } from '../../src/errors.ts';
import { createPostgres, type PostgresServer } from './support/postgres.ts';

let first: PostgresServer;
let second: PostgresServer;
const opened: Database[] = [];
let users = 0;

beforeAll(async () => {
  [first, second] = await Promise.all([createPostgres(), createPostgres()]);
  for (const server of [first, second]) await migratePostgres(server.ownerUrl, server.url);
});
beforeEach(async () => {
  await setReadOnly(first, false);
  await setReadOnly(second, true);
});
afterEach(async () => {
  for (const database of opened.splice(0)) await database.close();
});
afterAll(async () => {
  await first?.remove();
  await second?.remove();
});

const hostOf = (url: string) => new URL(url).host;
const withHosts = (url: string, hosts: string) => `${url.replace(hostOf(url), hosts)}?target_session_attrs=read-write`;
const bothHosts = () => `${hostOf(first.url)},${hostOf(second.url)}`;

async function open(url: string, poolSize = 4, onFailure: (reason: string) => void = () => {}): Promise<Database> {
  const database = await openPostgres(url, entities, { poolSize, availability: { failed: onFailure, succeeded() {} } });
  opened.push(database);
  return database;
}

async function query<Row extends object>({ url }: PostgresServer, sql: string): Promise<Row[]> {
  const admin = new pg.Client({ connectionString: url.replace(/\/\/[^@]*@/, '//postgres@') });
  await admin.connect();
  try {
    return (await admin.query<Row>(sql)).rows;
  } finally {
    await admin.end();
  }
}

async function setReadOnly(server: PostgresServer, readOnly: boolean) {
  await query(server, `alter system set default_transaction_read_only = ${readOnly ? 'on' : 'off'}`);
  await query(server, 'select pg_reload_conf()');
  const readSetting = async () => (await query(server, 'show default_transaction_read_only'))[0];
  await expect.poll(readSetting, { timeout: 10_000 }).toEqual({ default_transaction_read_only: readOnly ? 'on' : 'off' });
}

const sessions = (server: PostgresServer) =>
  query(server, `select pid from pg_stat_activity where application_name in ('sitekeeper', 'sitekeeper listener')`);

/** Both ways to write: pipelined statements and transactions. */
const writes: [string, (database: Database) => Promise<unknown>][] = [
  [
    'a pipelined statement',
    (database) => database.query()({ text: 'select auth_create_user($1, null)', values: [`${++users}@example.com`] }),
  ],
  ['a transaction', (database) => database.asAuthenticator((em) => em.execute(`select auth_create_user('${++users}@example.com', null)`))],
];
const write = (database: Database) => Promise.all(writes.map(([, run]) => run(database)));

test.each(['first', 'last'])('the host that accepts writes is used if it is the %s one', async (position) => {
  const hosts = [hostOf(first.url), hostOf(second.url)];
  const database = await open(withHosts(first.url, (position === 'first' ? hosts : hosts.toReversed()).join()));
  await write(database);
  expect((await sessions(first)).length).toBeGreaterThan(0);
  expect(await sessions(second)).toEqual([]);
});

test('migrate and migrate --plan use the host that accepts writes', async () => {
  const ownerUrl = withHosts(first.ownerUrl, `${hostOf(second.url)},${hostOf(first.url)}`);
  expect(await migratePostgres(ownerUrl, withHosts(first.url, bothHosts()))).toEqual([]);
  expect(await planPostgres(ownerUrl)).toEqual({ pending: [], unknown: [] });
});

test.each(writes)(
  '%s on a server that has become a standby is a temporary error, and the next one goes to the new primary',
  async (_, run) => {
    const database = await open(withHosts(first.url, bothHosts()));
    await run(database);
    await setReadOnly(first, true);
    await expect(run(database)).rejects.toThrow(RetryLaterError);
    await expect(run(database)).rejects.toThrow(RetryLaterError); // No host accepts writes.
    await setReadOnly(second, false);
    await expect.poll(() => run(database).then(() => 'written', String), { timeout: 10_000 }).toBe('written');
    await expect.poll(() => sessions(first), { timeout: 10_000 }).toEqual([]);
  },
);

test.each(writes)('with one host, %s on a server that has become a standby closes its connection', async (_, run) => {
  const database = await open(first.url, 1);
  await run(database);
  expect(await sessions(first)).toHaveLength(1);
  await setReadOnly(first, true);
  await expect(run(database)).rejects.toThrow(RetryLaterError);
  await expect.poll(() => sessions(first), { timeout: 10_000 }).toEqual([]);
  await setReadOnly(first, false);
  await run(database);
});

test('when the primary freezes and another host takes over, waiting callers get an error, and notifications arrive again', async () => {
  const reasons: string[] = [];
  const database = await open(withHosts(first.url, bothHosts()), 4, (reason) => reasons.push(reason));
  const received: string[] = [];
  let gaps = -1; // The first call is the first connection.
  await database.listen('work_available', { onNotification: (payload) => received.push(payload), onReconnect: () => gaps++ });
  await write(database);
  first.freeze();
  try {
    // They occupy every connection of the pool.
    const waiting = Array.from({ length: 10 }, () => writes[1]?.[1](database));
    const failed = Promise.all(waiting.map((promise) => expect(promise).rejects.toThrow(RetryLaterError)));
    await setReadOnly(second, false);
    await failed;
    // Those on open connections fail when the new primary is found, and not only when the connections have been silent for long.
    expect(reasons).toContain('Connection terminated: another host is the primary now');
    await expect.poll(() => write(database).then(() => 'written', String), { timeout: 20_000 }).toBe('written');
    await expect.poll(() => gaps, { timeout: 20_000 }).toBe(1);
    await query(second, `select pg_notify('work_available', 'engine')`);
    await expect.poll(() => received, { timeout: 10_000 }).toEqual(['engine']);
  } finally {
    first.thaw();
  }
  await expect.poll(() => sessions(first), { timeout: 10_000 }).toEqual([]);
  await write(database);
  expect(await sessions(first)).toEqual([]);
}, 120_000);

test('when no host accepts writes, the message says why for each', async () => {
  await setReadOnly(first, true);
  const refused = '127.0.0.1:1';
  await expect(open(withHosts(first.url, `${refused},${bothHosts()}`))).rejects.toThrow(
    `No host accepts writes (${refused}: connect ECONNREFUSED ${refused}; ${hostOf(first.url)}: the server does not accept writes; ${hostOf(second.url)}: the server does not accept writes)`,
  );
});
