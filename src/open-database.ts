import type { Logger } from 'pino';
import { entities } from './app.ts';
import type { Config } from './config.ts';
import { keptSecretKey } from './db/data-folder.ts';
import type { Database } from './db/database.ts';

const answeringMs = 1000;

/** The database of the settings, migrated, and the keys that encrypt what is secret in it. Only its own driver is loaded. */
export async function openDatabase(config: Config, log: Logger): Promise<{ database: Database; secretKeys: Buffer[] }> {
  if (config.databaseUrl && config.migrateDatabaseUrl) {
    const { migratePostgres, openPostgres } = await import('./db/postgres.ts');
    const done = await migratePostgres(config.migrateDatabaseUrl, config.databaseUrl);
    log.info({ done }, done.length > 0 ? 'The database was migrated' : 'The database is up to date');
    const database = await openPostgres(config.databaseUrl, entities, { poolSize: config.databasePoolSize });
    return { database, secretKeys: config.secretKeys ?? [] };
  }
  const { openEmbedded } = await import('./db/embedded.ts');
  const database = await openEmbedded(config.dataFolder, entities, (error) => {
    log.fatal(`The embedded database has given up: ${error.message}. If the disk is full, make room; then start again.`);
    setTimeout(() => process.exit(1), answeringMs); // requests under way are told to come back
  });
  log.info(`Using the embedded database in ${config.dataFolder}`);
  return { database, secretKeys: config.secretKeys ?? [keptSecretKey(config.dataFolder)] };
}
