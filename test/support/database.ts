import pg from 'pg';
import { expect, inject, onTestFinished } from 'vitest';
import type { Database, Work } from '../../src/db/database.ts';
import { openOnPglite } from '../../src/db/embedded.ts';
import { openPostgres } from '../../src/db/postgres.ts';
import { entities } from '../../src/entities.ts';
import { databaseUrl, serviceUrl } from './database-url.ts';
import { borrowPglite } from './pglite-pool.ts';

let databaseCount = 0;
const ownerUrls = new WeakMap<Database, string>();

/** Creates a migrated, empty database for the caller: embedded, or on the server that TEST_DATABASE_URL names. */
export async function createDatabase(): Promise<Database> {
  const source = inject('source');
  if ('snapshot' in source) return openOnPglite(await borrowPglite(source.snapshot), entities);
  const name = `sitekeeper_test_${process.pid}_${++databaseCount}`;
  await onServer(source.server, `create database ${name} template ${source.template}`);
  const ownerUrl = databaseUrl(source.server, name);
  const database = await openPostgres(serviceUrl(ownerUrl), entities, { poolSize: 5 });
  ownerUrls.set(database, ownerUrl);
  const close = database.close.bind(database);
  database.close = async () => {
    await close();
    await dropDatabase(source.server, name);
  };
  return database;
}

/** Returns the URL with which another process of the service can reach the database. The embedded database has none. */
export function urlOf(database: Database): string {
  return serviceUrl(ownerUrlOf(database));
}

/** Returns the URL with the login of the database owner, for what the service itself may not do. */
export function ownerUrlOf(database: Database): string {
  const url = ownerUrls.get(database);
  if (!url) throw new Error('The embedded database has no URL.');
  return url;
}

/**
 * Opens the same database with separate connections, as another process would. The embedded database allows only one process,
 * so it is returned unchanged.
 */
export async function reopen(database: Database): Promise<Database> {
  return ownerUrls.has(database) ? openPostgres(urlOf(database), entities, { poolSize: 5 }) : database;
}

/**
 * `force` closes leftover connections, but an ordinary role cannot terminate autovacuum. Without `force`, PostgreSQL cancels
 * autovacuum itself.
 */
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
 * Sends a request while a transaction with a change is open, so that the request waits until the transaction commits, or until it
 * collides with a second change of the transaction. This does not work on the embedded database, which runs one transaction at a time.
 */
export async function sendDuringTransaction<T>(
  database: Database,
  userId: number,
  change: Work<unknown>,
  send: () => Promise<T>,
  secondChange: Work<unknown> = async () => {},
): Promise<T> {
  const [changed, blocked] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const transaction = database.asUser(userId, async (em) => {
    await change(em);
    changed.resolve();
    await blocked.promise;
    await secondChange(em);
  });
  await changed.promise;
  const response = send();
  // Only this database, because other tests use the same server.
  const waitingLocks = () =>
    database.asAuthenticator((em) =>
      em.execute<unknown[]>('select from pg_locks join pg_stat_activity using (pid) where not granted and datname = current_database()'),
    );
  await expect.poll(async () => (await waitingLocks()).length, { timeout: 10_000 }).toBeGreaterThan(0);
  blocked.resolve();
  await transaction;
  return response;
}

/** Makes a change right before the next update of a table by a request, which has read the row by then. It must not be another request. */
export function changeBeforeUpdate(database: Database, table: string, change: () => Promise<unknown>) {
  const { query } = database;
  onTestFinished(() => {
    database.query = query;
  });
  database.query =
    (userId) =>
    async (...statements) => {
      if (statements.some(({ text }) => text.startsWith(`update "${table}"`))) {
        database.query = query;
        await change();
      }
      return query.call(database, userId)(...statements);
    };
}
