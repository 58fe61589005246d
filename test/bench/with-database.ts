import pg from 'pg';
import { createServiceLogin, databaseUrl } from '../support/database-url.ts';

/** Creates an empty database on the server of TEST_DATABASE_URL, passes the URL of its owner on, and drops it after the work. */
export async function withDatabase<T>(name: string, work: (url: string) => Promise<T>): Promise<T> {
  const server = process.env.TEST_DATABASE_URL;
  if (!server) throw new Error('TEST_DATABASE_URL must name a PostgreSQL server. Run this with .ci/with-postgres.');
  const database = `sitekeeper_${name}_${process.pid}`;
  const admin = new pg.Client({ connectionString: server });
  await admin.connect();
  try {
    await createServiceLogin(admin, server);
    await admin.query(`create database ${database}`);
    return await work(databaseUrl(server, database));
  } finally {
    await admin.query(`drop database if exists ${database} with (force)`);
    await admin.end();
  }
}
