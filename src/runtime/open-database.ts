import type { Logger } from 'pino';
import type { Config } from '../config/config.ts';
import { explainConnectionError } from '../db/connection-error.ts';
import type { Database } from '../db/database.ts';
import { readSecretKeys } from '../db/secret-key-file.ts';
import { entities } from '../entities.ts';
import { OutageLog } from '../telemetry/outage-log.ts';

/** How long a crashed service keeps responding with 503 before it exits. */
const exitDelayMs = 1000;

/**
 * Opens the configured database, migrated. Returns it with the keys that encrypt its secrets. Loads only the driver it needs. With
 * `mustExist`, no embedded database is created.
 */
export async function openDatabase(
  config: Config,
  log: Logger,
  options?: { mustExist: boolean },
): Promise<{ database: Database; secretKeys: Buffer[] }> {
  if (config.databaseUrl) {
    const database = await openServer(config.databaseUrl, config, log);
    return { database, secretKeys: config.secretKeys ?? [] };
  }
  const { openEmbedded } = await import('../db/embedded.ts');
  const onPanic = (error: Error) => {
    log.fatal(
      `The embedded database in ${config.dataDirectory} (DATA_DIR) has crashed: ${error.message}. If the disk is full, free some space. Then start the service again.`,
    );
    setTimeout(() => process.exit(1), exitDelayMs);
  };
  const database = await openEmbedded(config.dataDirectory, entities, { onPanic, log, ...options });
  log.info(`Using the embedded database in ${config.dataDirectory}`);
  return { database, secretKeys: config.secretKeys ?? readSecretKeys(config.dataDirectory) };
}

async function openServer(url: string, { migrateDatabaseUrl, databasePoolSize }: Config, log: Logger): Promise<Database> {
  const { migratePostgres, openPostgres } = await import('../db/postgres.ts');
  const availability = new OutageLog(log, {
    began: 'The database is unavailable: until it is back, requests get 503, no checks run and no alerts are sent',
    continues: 'The database is still unavailable',
    ended: 'The database is available again',
    quietMs: 1000,
  });
  const open = () => explained('DATABASE_URL', openPostgres(url, entities, { poolSize: databasePoolSize, availability }));
  if (migrateDatabaseUrl) {
    const done = await explained('MIGRATE_DATABASE_URL', migratePostgres(migrateDatabaseUrl, url));
    log.info({ done }, done.length > 0 ? 'Database migrated' : 'Database is up to date');
    return open();
  }
  const database = await open().catch((error: Error) => {
    throw isRoleMissing(error)
      ? notMigrated(`its roles do not exist, or are not granted to the login of the service (${error.message})`)
      : error;
  });
  const missing = await database.missingMigrations();
  if (missing.length === 0) return database;
  await database.close();
  throw notMigrated(`${missing.join(', ')} did not run`);
}

/** Explains a connection that fails, by the setting that contains its URL. */
export function explained<T>(setting: string, opening: Promise<T>): Promise<T> {
  return opening.catch((error: unknown) => {
    throw explainConnectionError(error, setting);
  });
}

/** Before the first migration the roles of the service do not exist, or are not granted to its login. */
function isRoleMissing(error: unknown): boolean {
  const { message = '', cause } = error as Error;
  return /sitekeeper_app/.test(message) || (cause !== undefined && isRoleMissing(cause));
}

function notMigrated(reason: string): Error {
  return new Error(
    `The database is not migrated to this version: ${reason}. Run "sitekeeper migrate" with MIGRATE_DATABASE_URL set to the login of the database owner.`,
  );
}
