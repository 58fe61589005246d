import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import type { MikroORM } from '@mikro-orm/core';
import { Migration } from '@mikro-orm/migrations';
import type { AbstractSqlDriver } from '@mikro-orm/sql';

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
  await verifyChecksums(async (sql) => ({ rows: await em.execute<object[]>(sql) }));
  const done = await orm.migrator.up();
  await em.execute(`grant select on ${migrationsTable} to sitekeeper_app, sitekeeper_engine`);
  return done.map((migration) => migration.name);
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
  await verifyChecksums(query);
  const rows = await readTable<{ name: string }>(query, migrationsTable);
  const done = rows.map(({ name }) => name).sort();
  return {
    pending: migrationNames.filter((name) => !done.includes(name)),
    unknown: done.filter((name) => !migrationNames.includes(name)),
  };
}

/** Rejects a migration that was edited after it ran: the schema it describes is not the one in this database. */
async function verifyChecksums(query: OwnerQuery): Promise<void> {
  for (const { name, checksum } of await readTable<{ name: string; checksum: string }>(query, checksumsTable)) {
    if (!migrationNames.includes(name)) continue;
    const current = checksumOf(readMigration(name));
    if (current === checksum) continue;
    throw new Error(
      `The migration ${name} was changed after it ran on this database (checksum ${current}, expected ${checksum}). Restore the original file.`,
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
      for (const statement of text.split(/;\s*\n\s*\n/)) this.addSql(statement);
      this.addSql(`create table if not exists ${checksumsTable} (name text primary key, checksum text not null)`);
      this.addSql(`insert into ${checksumsTable} values ('${name}', '${checksumOf(text)}')`);
    }
  };
}

/** Line endings are normalized, because git converts them on some systems. */
function readMigration(name: string): string {
  return readFileSync(join(migrationsFolder, `${name}.sql`), 'utf8').replaceAll('\r\n', '\n');
}

function checksumOf(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 16);
}
