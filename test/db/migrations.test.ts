// While a deployment is brought to a new version, processes of the older one go on working on the migrated database.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { expect, test } from 'vitest';
import { migrationNames, migrationsFolder } from '../../src/db/migrate.ts';
import { migratePostgres } from '../../src/db/postgres.ts';
import { createDatabase, urlOf } from '../support/database.ts';
import { readMigration } from '../support/migrations.ts';

/** Made before anybody ran the service. */
const first = 6;
const unused = /^-- unused since \d+\.\d+\.\d+/m;
const takesAway =
  /\bdrop (table|column|function|view|sequence)\b|\brename\b|\balter (column )?\w+ (set data )?type\b|\bset not null\b|\badd column [^,;]*\bnot null\b(?![^,;]*\b(default|generated)\b)/i;

test.each(migrationNames.slice(first))('%s takes nothing away that the version before uses', (name) => {
  const mayTakeAway = unused.test(readFileSync(join(migrationsFolder, `${name}.sql`), 'utf8'));
  expect(mayTakeAway ? [] : readMigration(name).match(takesAway)).toEqual(mayTakeAway ? [] : null);
});

test.each([
  'alter table websites drop column email;',
  'alter table websites rename domain to host;',
  'alter table websites alter column domain type varchar(10);',
  'alter table websites alter column password_hash set not null;',
  'alter table websites add column colour text not null;',
  'drop function auth_find_api_key;',
])('"%s" would be noticed', (statement) => {
  expect(takesAway.test(statement)).toBe(true);
});

test.each([
  'alter table websites add column colour text;',
  `alter table websites add column colour text not null default 'red';`,
  'create table colours (id bigint primary key);',
  'create index websites_colour on websites (colour);',
])('"%s" may be added', (statement) => {
  expect(takesAway.test(statement)).toBe(false);
});

test.runIf(process.env.TEST_DATABASE_URL)('a migration whose connection is cut ends with an error', async () => {
  const database = await createDatabase();
  const other = new pg.Client({ connectionString: urlOf(database) });
  await other.connect();
  try {
    await other.query(`select pg_advisory_lock(hashtext('sitekeeper migrations'))`);
    const failed = expect(migratePostgres(urlOf(database), urlOf(database))).rejects.toThrow('terminating connection');
    const cut = () =>
      other.query(
        `select pg_terminate_backend(pid) from pg_stat_activity
          where application_name = 'sitekeeper migrate' and datname = current_database() and wait_event_type = 'Lock'`,
      );
    await expect.poll(async () => (await cut()).rowCount, { timeout: 10_000 }).toBe(1);
    await failed;
  } finally {
    await other.end();
    await database.close();
  }
});
