import { readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import type { MikroORM } from '@mikro-orm/core';
import { Migration } from '@mikro-orm/migrations';
import type { AbstractSqlDriver } from '@mikro-orm/sql';

const folder = join(import.meta.dirname, 'migrations');

/** Every migration of this version in order, one SQL file each. They only go forward. */
export const migrationNames = readdirSync(folder)
  .filter((file) => file.endsWith('.sql'))
  .map((file) => basename(file, '.sql'))
  .sort();

export const migrationsTable = 'migrations';

export const migrationSettings = {
  tableName: migrationsTable,
  snapshot: false,
  silent: true,
  migrationsList: migrationNames.map((name) => ({ name, class: sqlMigration(name) })),
};

/** Brings the database to this version, in one transaction. Returns the names of the migrations that ran. */
export async function migrate(orm: MikroORM<AbstractSqlDriver>): Promise<string[]> {
  const done = await orm.migrator.up();
  await orm.em.fork().execute(`grant select on ${migrationsTable} to sitekeeper_app, sitekeeper_engine`);
  return done.map((migration) => migration.name);
}

function sqlMigration(name: string): new (...args: ConstructorParameters<typeof Migration>) => Migration {
  return class extends Migration {
    override up() {
      const statements = readFileSync(join(folder, `${name}.sql`), 'utf8').split(/;\s*\n\s*\n/);
      for (const statement of statements) this.addSql(statement);
    }
  };
}
