import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { migrationsFolder } from '../../src/db/migrate.ts';

/** Returns the SQL of a migration without its comments. */
export function readMigration(name: string): string {
  return readFileSync(join(migrationsFolder, `${name}.sql`), 'utf8').replaceAll(/^\s*--.*$/gm, '');
}
