import { readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import type { MikroORM } from '@mikro-orm/core';
import { Migration } from '@mikro-orm/migrations';
import type { AbstractSqlDriver } from '@mikro-orm/sql';

export const migrationsFolder = join(import.meta.dirname, 'migrations');

/** Every migration of this version in order, one SQL file each. They only go forward. */
export const migrationNames = readdirSync(migrationsFolder)
  .filter((file) => file.endsWith('.sql'))
  .map((file) => basename(file, '.sql'))
  .sort();

export const migrationsTable = 'migrations';

/** For the migrations up to the last of these names. */
export function migrationSettings(names = migrationNames) {
  return {
    tableName: migrationsTable,
    snapshot: false,
    silent: true,
    migrationsList: names.map((name) => ({ name, class: sqlMigration(name) })),
  };
}

/** Brings the database to this version, in one transaction. Returns the names of the migrations that ran. */
export async function migrate(orm: MikroORM<AbstractSqlDriver>): Promise<string[]> {
  const done = await orm.migrator.up();
  await orm.em.fork().execute(`grant select on ${migrationsTable} to sitekeeper_app, sitekeeper_engine`);
  return done.map((migration) => migration.name);
}

/** What `migrate` would run, read without changing anything. */
export interface MigrationPlan {
  pending: string[];
  /** Run by a newer version than this one. */
  unknown: string[];
}

/** `query` answers one statement of an owner, whom the list of migrations does not hide itself from. */
export async function planMigrations(query: (sql: string) => Promise<{ rows: object[] }>): Promise<MigrationPlan> {
  const { rows: tables } = await query(`select from pg_tables where tablename = '${migrationsTable}' and schemaname = current_schema()`);
  const { rows } = tables.length > 0 ? await query(`select name from ${migrationsTable} order by name`) : { rows: [] };
  const done = (rows as { name: string }[]).map(({ name }) => name);
  return {
    pending: migrationNames.filter((name) => !done.includes(name)),
    unknown: done.filter((name) => !migrationNames.includes(name)),
  };
}

function sqlMigration(name: string): new (...args: ConstructorParameters<typeof Migration>) => Migration {
  return class extends Migration {
    override up() {
      const statements = readFileSync(join(migrationsFolder, `${name}.sql`), 'utf8').split(/;\s*\n\s*\n/);
      for (const statement of statements) this.addSql(statement);
    }
  };
}
