// Runs the migrations once. Each test file then gets its own database as a copy, which is faster than migrating: a copy of
// a snapshot of the embedded database, or of a template database on the server that TEST_DATABASE_URL names.
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { dataDir as freshCluster } from '@electric-sql/pglite-prepopulatedfs';
import pg from 'pg';
import type { TestProject } from 'vitest/node';
import { migrateEmbedded, startPglite } from '../../src/db/embedded.ts';
import { migratePostgres } from '../../src/db/postgres.ts';
import { createServiceLogin, databaseUrl, serviceUrl } from './database-url.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** The source that test databases are copied from. */
    source: { snapshot: string } | { server: string; template: string };
  }
}

export default async function setup(project: TestProject) {
  const server = process.env.TEST_DATABASE_URL;
  return server ? prepareTemplate(project, server) : prepareSnapshot(project);
}

async function prepareSnapshot(project: TestProject) {
  const folder = await mkdtemp(join(tmpdir(), 'sitekeeper-test-'));
  const pglite = await startPglite({ loadDataDir: await freshCluster() });
  await migrateEmbedded(pglite);
  const snapshot = join(folder, 'migrated.tar');
  await writeFile(snapshot, Buffer.from(await (await pglite.dumpDataDir('none')).arrayBuffer()));
  await pglite.close();
  project.provide('source', { snapshot });
  return () => rm(folder, { recursive: true });
}

async function prepareTemplate(project: TestProject, server: string) {
  const template = `sitekeeper_template_${process.pid}`;
  const admin = new pg.Client({ connectionString: server });
  await admin.connect();
  await admin.query(`create database ${template}`);
  await createServiceLogin(admin, server);
  await migratePostgres(databaseUrl(server, template), serviceUrl(server));
  project.provide('source', { server, template });
  return async () => {
    await admin.query(`drop database ${template} with (force)`);
    await admin.end();
  };
}
