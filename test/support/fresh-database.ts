// A database for scripts that run outside the test runner. Tests get copies of a migrated database instead (global-setup.ts).
import { dataDir as freshCluster } from '@electric-sql/pglite-prepopulatedfs';
import pg from 'pg';
import type { Database } from '../../src/db/database.ts';
import { migrateEmbedded, openOnPglite, startPglite } from '../../src/db/embedded.ts';
import { migratePostgres, openPostgres } from '../../src/db/postgres.ts';
import { entities } from '../../src/entities.ts';
import { createServiceLogin, databaseUrl, serviceUrl } from './database-url.ts';

/** Opens a migrated, empty database: embedded, or on the server that TEST_DATABASE_URL names. It is dropped when it is closed. */
export async function openFreshDatabase(server = process.env.TEST_DATABASE_URL): Promise<Database> {
  if (server) return onServer(server);
  const pglite = await startPglite({ loadDataDir: await freshCluster() });
  await migrateEmbedded(pglite);
  return openOnPglite(pglite, entities);
}

async function onServer(server: string): Promise<Database> {
  const name = `sitekeeper_script_${process.pid}`;
  const admin = new pg.Client({ connectionString: server });
  await admin.connect();
  await admin.query(`create database ${name}`);
  await createServiceLogin(admin, server);
  const ownerUrl = databaseUrl(server, name);
  await migratePostgres(ownerUrl, serviceUrl(ownerUrl));
  const database = await openPostgres(serviceUrl(ownerUrl), entities, { poolSize: 5 });
  const close = database.close.bind(database);
  database.close = async () => {
    await close();
    await admin.query(`drop database ${name}`);
    await admin.end();
  };
  return database;
}
