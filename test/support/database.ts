import { readFile } from 'node:fs/promises';
import { PGlite } from '@electric-sql/pglite';
import pg from 'pg';
import { inject } from 'vitest';
import { entities } from '../../src/app.ts';
import type { Database } from '../../src/db/database.ts';
import { serveFrom } from '../../src/db/embedded.ts';
import { openPostgres } from '../../src/db/postgres.ts';
import { databaseUrl } from './database-url.ts';

let made = 0;

/** A migrated, empty database of the caller's own: embedded, or on the server of TEST_DATABASE_URL. */
export async function createDatabase(): Promise<Database> {
  const source = inject('source');
  if ('snapshot' in source) {
    return serveFrom(await PGlite.create({ loadDataDir: new Blob([await readFile(source.snapshot)]) }), entities);
  }
  const name = `sitekeeper_test_${process.pid}_${++made}`;
  await onServer(source.server, `create database ${name} template ${source.template}`);
  const database = await openPostgres(databaseUrl(source.server, name), entities, { poolSize: 5 });
  const close = database.close.bind(database);
  database.close = async () => {
    await close();
    await onServer(source.server, `drop database if exists ${name} with (force)`);
  };
  return database;
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
