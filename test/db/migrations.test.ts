import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { dataDir as freshCluster } from '@electric-sql/pglite-prepopulatedfs';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { migrateEmbedded, openOnPglite, startPglite } from '../../src/db/embedded.ts';
import { asOneStatement, type MigrationPlan, migrationNames, migrationsFolder, planMigrations } from '../../src/db/migrate.ts';
import { migratePostgres, openPostgres, planPostgres } from '../../src/db/postgres.ts';
import { entities } from '../../src/entities.ts';
import { createDatabase, ownerUrlOf, urlOf } from '../support/database.ts';
import { databaseUrl, serviceUrl } from '../support/database-url.ts';
import { sampleAlert } from '../support/sample-event.ts';
import { checksums, exemptMigrations, findViolations } from './migration-rules.ts';

const textOf = (name: string) => readFileSync(join(migrationsFolder, `${name}.sql`), 'utf8');
const server = process.env.TEST_DATABASE_URL ?? '';

test('no migration was changed after it was added', () => {
  expect(Object.fromEntries(migrationNames.map((name) => [name, checksumOf(name)]))).toEqual(checksums);
});

describe('a migration only adds', () => {
  test('every migration after the baseline does', () => {
    expect(migrationNames.length).toBeGreaterThan(exemptMigrations.length);
    for (const name of migrationNames) expect([name, findViolations(name, textOf(name))]).toEqual([name, []]);
  });

  test('only the baseline is exempt', () => {
    const dropping = 'drop table websites;';
    expect(exemptMigrations).toEqual(['0001_baseline']);
    expect(migrationNames[0]).toBe('0001_baseline');
    expect(findViolations('0001_baseline', dropping)).toEqual([]);
    expect(findViolations('0002_baseline', dropping)).toEqual(['drops an object: drop table websites']);
  });

  test.each([
    ['drops an object', 'drop table websites;'],
    ['drops an object', 'drop function if exists auth_find_api_key;'],
    ['drops an object', 'alter table websites drop column email;'],
    ['drops a column', 'alter table websites drop email;'],
    ['drops a column', 'alter table websites add column colour text, drop if exists email;'],
    ['renames an object', 'alter table websites rename domain to host;'],
    ['renames an object', 'alter table websites\n  rename to sites;'],
    ['changes the type of a column', 'alter table websites alter column domain type varchar(10);'],
    ['changes the type of a column', 'alter table websites alter domain set data type varchar(10);'],
    ['makes a column required', 'alter table websites alter column password_hash set not null;'],
    ['adds a required column without a default', 'alter table websites add column colour text not null;'],
    ['adds a required column without a default', 'alter table websites add colour text not null;'],
    ['adds a required column without a default', 'alter table websites add column price numeric(10, 2) not null;'],
    ['adds a required column without a default', `alter table websites add column a text default 'x', add column b text not null;`],
    ['drops an object', 'create table colours (id bigint);\n\ndrop table websites;'],
    ['drops an object', 'do $$\nbegin\n  drop table websites;\nend\n$$;'],
    ['drops an object', 'DROP TABLE websites;'],
  ])('%s: %j', (violation, statement) => {
    const violations = findViolations('0002_next', statement);
    expect(violations).toHaveLength(1);
    expect(violations[0]).toMatch(new RegExp(`^${violation}: `));
  });

  test.each([
    'alter table websites add column colour text;',
    `alter table websites add column colour text not null default 'red';`,
    `alter table websites add column colour text default 'red' not null;`,
    'alter table websites add column price numeric(10, 2) not null default 0, add column currency text;',
    'alter table websites add constraint colour_known check (colour is not null);',
    'alter table websites drop constraint colour_known;',
    'create table colours (id bigint primary key, name text not null);',
    'create index websites_colour on websites (colour);',
    'drop index websites_favorites;',
    '-- This replaces what "drop table websites" would do.\ncreate view colours as select 1;',
  ])('allows %j', (statement) => {
    expect(findViolations('0002_next', statement)).toEqual([]);
  });

  test('a migration that begins with the version that stopped using an object can drop it', () => {
    expect(findViolations('0002_next', '-- unused since 1.2.3\n\nalter table websites drop column email;')).toEqual([]);
    for (const start of ['-- unused', '-- unused since the last version', 'create table colours (id bigint);\n-- unused since 1.2.3']) {
      expect(findViolations('0002_next', `${start}\n\nalter table websites drop column email;`)).toHaveLength(1);
    }
  });
});

test('a script runs as one statement, whatever its function bodies, texts and comments contain', async () => {
  const pglite = await startPglite({ loadDataDir: await freshCluster() });
  const script = `
    create table colours (name text); -- it's the first; not the last
    create function add_colours() returns void language plpgsql as $$
    begin
      insert into colours values ('red;

');

      insert into colours values ('it''s blue');
    end
    $$;
    select add_colours()
  `;
  try {
    await pglite.query(asOneStatement(script));
    expect((await pglite.query('select name from colours')).rows).toEqual([{ name: 'red;\n\n' }, { name: "it's blue" }]);
    await expect(pglite.query(asOneStatement(`insert into colours values ('green'); select 1 / 0`))).rejects.toThrow('division by zero');
    expect((await pglite.query('select from colours')).rows).toHaveLength(2);
  } finally {
    await pglite.close();
  }
});

/** A database with access as the owner of the tables, whom the service never is. */
interface OwnedDatabase {
  query(sql: string): Promise<object[]>;
  migrate(): Promise<string[]>;
  plan(): Promise<MigrationPlan>;
  /** Whether the service opens the database and reports it as ready. */
  isReady(): Promise<boolean>;
  close(): Promise<void>;
}

const backends = [
  { backend: 'the embedded database', createEmpty: createEmptyEmbedded, isAvailable: true },
  { backend: 'PostgreSQL', createEmpty: createEmptyOnServer, isAvailable: server !== '' },
];

// Creating a database takes seconds, so the tests of each backend share one. Each leaves it as the next one needs it: first
// empty, then migrated.
describe.each(backends.filter(({ isAvailable }) => isAvailable))('checksums on $backend', ({ createEmpty }) => {
  describe('one after the other', { shuffle: false }, () => {
    let database: OwnedDatabase;

    beforeAll(async () => {
      database = await createEmpty();
    });
    afterAll(() => database.close());

    const exists = async (table: string) => (await database.query(`select from pg_tables where tablename = '${table}'`)).length > 0;

    test('a migration that fails stores no checksum', async () => {
      // The migrator records a migration after its statements, so this fails after the checksum was inserted.
      await database.query(
        `create table migrations (id serial primary key, name varchar(255), executed_at timestamptz default now(), check (name <> '0001_baseline'))`,
      );
      await expect(database.migrate()).rejects.toThrow(/^The migration 0001_baseline failed and was rolled back: .*migrations_name_check/s);
      expect([await exists('migration_checksums'), await exists('websites')]).toEqual([false, false]);
      await database.query('drop table migrations');
    });

    test('a migration whose checksum cannot be stored does not run', async () => {
      await database.query('create table migration_checksums (name text primary key, checksum text not null check (checksum is null))');
      await expect(database.migrate()).rejects.toThrow('migration_checksums_checksum_check');
      expect(await exists('websites')).toBe(false);
      expect((await database.plan()).pending).toEqual(migrationNames);
      await database.query('drop table migration_checksums');
    });

    test('the checksum of each migration is stored, and the next start accepts it', async () => {
      expect(await database.migrate()).toEqual(migrationNames);
      const expected = migrationNames.map((name) => ({ name, checksum: checksumOf(name) }));
      expect(await database.query('select name, checksum from migration_checksums order by name')).toEqual(expected);
      expect(await database.migrate()).toEqual([]);
      expect(await database.plan()).toEqual({ pending: [], unknown: [] });
    });

    test('migrate and migrate --plan reject a migration that was changed after it ran', async () => {
      const original = checksumOf('0001_baseline');
      const store = (checksum: string) =>
        database.query(`update migration_checksums set checksum = '${checksum}' where name = '0001_baseline'`);
      await store('0123456789abcdef');
      const error = `The migration 0001_baseline was changed after it ran on this database (checksum ${original}, expected 0123456789abcdef). Restore the original file.`;
      await expect(database.migrate()).rejects.toThrow(new Error(error));
      await expect(database.plan()).rejects.toThrow(new Error(error));
      await store(original);
      expect(await database.migrate()).toEqual([]);
    });

    test('migrate and migrate --plan reject a database with a migration but without its checksum', async () => {
      await database.query('alter table migration_checksums rename to lost');
      const error =
        'The migration 0001_baseline ran on this database, but its row in migration_checksums is missing. Restore a complete backup.';
      await expect(database.migrate()).rejects.toThrow(new Error(error));
      await expect(database.plan()).rejects.toThrow(new Error(error));
      await database.query('alter table lost rename to migration_checksums');
      expect(await database.migrate()).toEqual([]);
    });

    test('migrate and migrate --plan reject a database that was not created by the baseline', async () => {
      await database.query(`update migrations set name = '0001_users_keys' where name = '0001_baseline'`);
      await database.query(`insert into migrations (name) values ('0002_engine')`);
      const found = ['0001_users_keys', '0002_engine', ...migrationNames.slice(1)].toSorted().join(', ');
      const error = `This version cannot upgrade the database. It has the migrations ${found}, but not 0001_baseline. Use an empty database.`;
      await expect(database.migrate()).rejects.toThrow(new Error(error));
      await expect(database.plan()).rejects.toThrow(new Error(error));
      await database.query(`delete from migrations where name = '0002_engine'`);
      await database.query(`update migrations set name = '0001_baseline' where name = '0001_users_keys'`);
      expect(await database.migrate()).toEqual([]);
    });

    test('a migration of a newer version is accepted, whatever its checksum', async () => {
      await database.query(`insert into migrations (name) values ('9999_next')`);
      await database.query(`insert into migration_checksums (name, checksum) values ('9999_next', '0123456789abcdef')`);
      expect(await database.migrate()).toEqual([]);
      expect(await database.plan()).toEqual({ pending: [], unknown: ['9999_next'] });
      expect(await database.isReady()).toBe(true);
    });
  });
});

test('an alert cannot be about an incident and a monitor', async () => {
  const database = await createDatabase();
  onTestFinished(() => database.close());
  const insert = database.asEngine((em) =>
    em.execute(`insert into alerts (user_id, incident_id, monitor_id, provider_id, kind, payload) values (1, 1, 1, 1, ${sampleAlert()})`),
  );
  await expect(insert).rejects.toThrow(/alerts_subject_check/);
});

test.runIf(server)('a migration whose connection is lost fails', async () => {
  const database = await createDatabase();
  const other = new pg.Client({ connectionString: ownerUrlOf(database) });
  await other.connect();
  try {
    // While this lock is held, the migration waits and can be terminated.
    await other.query(`select pg_advisory_lock(hashtext('sitekeeper migrations'))`);
    const failed = expect(migratePostgres(ownerUrlOf(database), urlOf(database))).rejects.toThrow('terminating connection');
    const terminate = () =>
      other.query(
        `select pg_terminate_backend(pid) from pg_stat_activity
          where application_name = 'sitekeeper migrate' and datname = current_database() and wait_event_type = 'Lock'`,
      );
    await expect.poll(async () => (await terminate()).rowCount, { timeout: 10_000 }).toBe(1);
    await failed;
  } finally {
    await other.end();
    await database.close();
  }
});

/** Computed independently of src/, so that an accidental change of the algorithm is noticed: it would reject every database. */
function checksumOf(name: string): string {
  return createHash('sha256').update(textOf(name).replaceAll('\r\n', '\n')).digest('hex').slice(0, 16);
}

async function createEmptyEmbedded(): Promise<OwnedDatabase> {
  const pglite = await startPglite({ loadDataDir: await freshCluster() });
  return {
    query: async (sql) => (await pglite.query<object>(sql)).rows,
    migrate: () => migrateEmbedded(pglite),
    plan: () => planMigrations((sql) => pglite.query<object>(sql)),
    isReady: async () => (await openOnPglite(pglite, entities)).isReady(),
    close: () => pglite.close(),
  };
}

let created = 0;

async function createEmptyOnServer(): Promise<OwnedDatabase> {
  const name = `sitekeeper_migrations_${process.pid}_${++created}`;
  const url = databaseUrl(server, name);
  const admin = new pg.Client({ connectionString: server });
  await admin.connect();
  await admin.query(`create database ${name}`);
  const owner = new pg.Client({ connectionString: url });
  await owner.connect();
  return {
    query: async (sql) => (await owner.query(sql)).rows,
    migrate: () => migratePostgres(url, serviceUrl(url)),
    plan: () => planPostgres(url),
    async isReady() {
      const database = await openPostgres(serviceUrl(url), entities, { poolSize: 1 });
      try {
        return await database.isReady();
      } finally {
        await database.close();
      }
    },
    async close() {
      await owner.end();
      await admin.query(`drop database ${name} with (force)`);
      await admin.end();
    },
  };
}
