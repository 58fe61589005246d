import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import type { MikroORM } from '@mikro-orm/core';
import { Migration } from '@mikro-orm/migrations';
import type { AbstractSqlDriver, SqlEntityManager } from '@mikro-orm/sql';

export const migrationsFolder = join(import.meta.dirname, 'migrations');

/** Every migration of this version in order, one SQL file each. There are no down migrations. */
export const migrationNames = readdirSync(migrationsFolder)
  .filter((file) => file.endsWith('.sql'))
  .map((file) => basename(file, '.sql'))
  .sort();

export const migrationsTable = 'migrations';
const checksumsTable = 'migration_checksums';

/** The settings of MikroORM's migrator, for all migrations or for the first few. */
export function migrationSettings(names = migrationNames) {
  return {
    tableName: migrationsTable,
    snapshot: false,
    silent: true,
    migrationsList: names.map((name) => ({ name, class: sqlMigration(name) })),
  };
}

/** Runs the pending migrations in one transaction. Returns their names. */
export async function migrate(orm: MikroORM<AbstractSqlDriver>): Promise<string[]> {
  const em = orm.em.fork();
  await readHistory(async (sql) => ({ rows: await em.execute<object[]>(sql) }));
  const done = await runPending(orm);
  await em.execute(`grant select on ${migrationsTable} to sitekeeper_app, sitekeeper_engine`);
  await revokeTemporary(em);
  return done;
}

/**
 * Temporary objects could shadow what a function with its owner's rights uses. This is not part of a migration, because neither
 * a dump nor a copy of a database contains the privileges on the database itself.
 */
async function revokeTemporary(em: SqlEntityManager): Promise<void> {
  const [database] = await em.execute<{ name: string; granted: boolean }[]>(
    `select quote_ident(current_database()) as name,
            has_database_privilege('sitekeeper_app', current_database(), 'temporary')
              or has_database_privilege('sitekeeper_engine', current_database(), 'temporary') as granted`,
  );
  if (database?.granted) {
    await em.execute(`revoke temporary on database ${database.name} from public, sitekeeper_app, sitekeeper_engine, sitekeeper_auth`);
  }
}

async function runPending({ migrator }: MikroORM<AbstractSqlDriver>): Promise<string[]> {
  let running = '';
  migrator.on('migrating', ({ name }) => {
    running = name;
  });
  try {
    return (await migrator.up()).map(({ name }) => name);
  } catch (error) {
    if (running === '') throw error;
    throw new Error(`The migration ${running} failed and was rolled back: ${(error as Error).message}`, { cause: error });
  }
}

export interface MigrationPlan {
  /** What `migrate` would run. */
  pending: string[];
  /** What a newer version has run. */
  unknown: string[];
}

/** Runs one statement as the owner of the tables. */
type OwnerQuery = (sql: string) => Promise<{ rows: object[] }>;

export async function planMigrations(query: OwnerQuery): Promise<MigrationPlan> {
  const done = await readHistory(query);
  return {
    pending: migrationNames.filter((name) => !done.includes(name)),
    unknown: done.filter((name) => !migrationNames.includes(name)),
  };
}

/** Returns what has run on this database. Throws if this version cannot continue from there. */
async function readHistory(query: OwnerQuery): Promise<string[]> {
  const done = (await readTable<{ name: string }>(query, migrationsTable)).map(({ name }) => name).sort();
  const [baseline = ''] = migrationNames;
  if (done.length > 0 && !done.includes(baseline)) {
    throw new Error(
      `This version cannot upgrade the database. It has the migrations ${done.join(', ')}, but not ${baseline}. Use an empty database.`,
    );
  }
  const checksums = await readTable<{ name: string; checksum: string }>(query, checksumsTable);
  for (const name of done) {
    if (migrationNames.includes(name)) verifyChecksum(name, checksums.find((row) => row.name === name)?.checksum);
  }
  return done;
}

/** Rejects a migration that was edited after it ran: the schema it describes is not the one in this database. */
function verifyChecksum(name: string, stored: string | undefined) {
  const current = checksumOf(readMigration(name));
  if (stored === undefined) {
    throw new Error(`The migration ${name} ran on this database, but its row in ${checksumsTable} is missing. Restore a complete backup.`);
  }
  if (current !== stored) {
    throw new Error(
      `The migration ${name} was changed after it ran on this database (checksum ${current}, expected ${stored}). Restore the original file.`,
    );
  }
}

async function readTable<Row>(query: OwnerQuery, table: string): Promise<Row[]> {
  const { rows: tables } = await query(`select from pg_tables where tablename = '${table}' and schemaname = current_schema()`);
  return tables.length > 0 ? ((await query(`select * from ${table}`)).rows as Row[]) : [];
}

/** The checksum is stored by the migration itself, in its transaction, so that neither exists without the other. */
function sqlMigration(name: string): new (...args: ConstructorParameters<typeof Migration>) => Migration {
  return class extends Migration {
    override up() {
      const text = readMigration(name);
      this.addSql(asOneStatement(text));
      this.addSql(`create table if not exists ${checksumsTable} (name text primary key, checksum text not null)`);
      this.addSql(`insert into ${checksumsTable} values ('${name}', '${checksumOf(text)}')`);
    }
  };
}

/**
 * Wraps a script in one statement, because MikroORM sends one statement at a time to PGlite. PostgreSQL itself splits the
 * script. The first line of the baseline describes an earlier runner; it stays, because released migrations are never edited.
 */
export function asOneStatement(script: string): string {
  return `do $do$ begin execute $migration$${script}$migration$; end $do$`;
}

/** Line endings are normalized, because git converts them on some systems. */
function readMigration(name: string): string {
  return readFileSync(join(migrationsFolder, `${name}.sql`), 'utf8').replaceAll('\r\n', '\n');
}

function checksumOf(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 16);
}
