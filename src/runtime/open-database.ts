import type { Logger } from 'pino';
import type { Config } from '../config/config.ts';
import { readOrCreateSecretKey } from '../db/data-directory.ts';
import type { Database } from '../db/database.ts';
import { entities } from '../entities.ts';

/** How long a crashed service keeps responding with 503 before it exits. */
const exitDelayMs = 1000;

/** Opens and migrates the configured database. Returns it with the keys that encrypt its secrets. Loads only the driver it needs. */
export async function openDatabase(config: Config, log: Logger): Promise<{ database: Database; secretKeys: Buffer[] }> {
  if (config.databaseUrl && config.migrateDatabaseUrl) {
    const { migratePostgres, openPostgres } = await import('../db/postgres.ts');
    const done = await migratePostgres(config.migrateDatabaseUrl, config.databaseUrl);
    log.info({ done }, done.length > 0 ? 'Database migrated' : 'Database is up to date');
    const database = await openPostgres(config.databaseUrl, entities, { poolSize: config.databasePoolSize });
    return { database, secretKeys: config.secretKeys ?? [] };
  }
  const { openEmbedded } = await import('../db/embedded.ts');
  const database = await openEmbedded(config.dataDirectory, entities, (error) => {
    log.fatal(`The embedded database has crashed: ${error.message}. If the disk is full, free some space. Then start the service again.`);
    setTimeout(() => process.exit(1), exitDelayMs);
  });
  log.info(`Using the embedded database in ${config.dataDirectory}`);
  return { database, secretKeys: config.secretKeys ?? [readOrCreateSecretKey(config.dataDirectory)] };
}
