import { readFile } from 'node:fs/promises';
import pg from 'pg';
import { expect, inject } from 'vitest';
import type { Database, Work } from '../../src/db/database.ts';
import { openOnPglite, startPglite } from '../../src/db/embedded.ts';
import { openPostgres } from '../../src/db/postgres.ts';
import { entities } from '../../src/entities.ts';
import { databaseUrl } from './database-url.ts';

let made = 0;
const urls = new WeakMap<Database, string>();

/** A migrated, empty database of the caller's own: embedded, or on the server of TEST_DATABASE_URL. */
export async function createDatabase(): Promise<Database> {
  const source = inject('source');
  if ('snapshot' in source) {
    return openOnPglite(await startPglite({ loadDataDir: new Blob([await readFile(source.snapshot)]) }), entities);
  }
  const name = `sitekeeper_test_${process.pid}_${++made}`;
  await onServer(source.server, `create database ${name} template ${source.template}`);
  const url = databaseUrl(source.server, name);
  const database = await openPostgres(url, entities, { poolSize: 5 });
  urls.set(database, url);
  const close = database.close.bind(database);
  database.close = async () => {
    await close();
    await dropDatabase(source.server, name);
  };
  return database;
}

/** Where another process finds the database; only on a server. */
export function urlOf(database: Database): string {
  const url = urls.get(database);
  if (!url) throw new Error('The embedded database has no address.');
  return url;
}

/** The same database as another process sees it. The embedded one has only this process, so it is the same object. */
export async function reopen(database: Database): Promise<Database> {
  const url = urls.get(database);
  return url ? openPostgres(url, entities, { poolSize: 5 }) : database;
}

/** `force` ends connections left over, but an ordinary role may not end autovacuum; the plain form asks it to leave. */
async function dropDatabase(server: string, name: string) {
  try {
    await onServer(server, `drop database if exists ${name} with (force)`);
  } catch (cause) {
    if ((cause as { code?: string }).code !== '42501') throw cause;
    await onServer(server, `drop database if exists ${name}`);
  }
}

async function onServer(server: string, sql: string) {
  const client = new pg.Client({ connectionString: server });
  await client.connect();
  try {
    await client.query(sql);
  } finally {
    await client.end();
  }
}

/**
 * Sends a request while a change is under way, so that it waits for the end of that change. Not on the embedded database,
 * which does one thing after another.
 */
export async function meanwhile<T>(database: Database, userId: number, change: Work<unknown>, send: () => Promise<T>): Promise<T> {
  const [changed, waiting] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const changing = database.asUser(userId, async (em) => {
    await change(em);
    changed.resolve();
    await waiting.promise;
  });
  await changed.promise;
  const answer = send();
  const locks = () => database.asAuthenticator((em) => em.execute<unknown[]>('select from pg_locks where not granted'));
  await expect.poll(async () => (await locks()).length, { timeout: 10_000 }).toBeGreaterThan(0);
  waiting.resolve();
  await changing;
  return answer;
}
