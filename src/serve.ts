import { type Logger, pino } from 'pino';
import pretty from 'pino-pretty';
import { createOwner } from './access/owner.ts';
import { createApp, entities } from './app.ts';
import type { Config } from './config.ts';
import { keptSecretKey } from './db/data-folder.ts';
import type { Database } from './db/database.ts';
import { openEmbedded } from './db/embedded.ts';
import { migratePostgres, openPostgres } from './db/postgres.ts';
import { listen } from './http/server.ts';

/** Runs the service until it is told to stop. */
export async function serve(config: Config): Promise<void> {
  const log = createLog(config);
  const server = await listen(config);
  let database: Database;
  try {
    database = await openDatabase(config, log);
    const key = await createOwner(database, config.owner);
    if (key) announceOwner(config, key, server.url);
    const app = await createApp({ config, database, publicUrl: server.url, log });
    server.answerWith(app.callback());
  } catch (error) {
    await server.close();
    throw error;
  }
  log.info(`Listening on ${server.url}`);

  onceToldToStop(async (why) => {
    log.info(`${why}: answering what is under way, then stopping`);
    await server.close();
    await database.close();
    process.exit(0);
  });
}

function onceToldToStop(stop: (why: string) => Promise<void>) {
  process.once('SIGTERM', stop);
  process.once('SIGINT', stop);
  // npm runs us in a shell that passes no signal on. When a stopped npm takes that shell along, nobody is left to tell us.
  if (process.env.npm_lifecycle_event) {
    const parent = process.ppid;
    const watch = setInterval(() => {
      if (process.ppid === parent) return;
      clearInterval(watch);
      void stop('npm is gone');
    }, 200);
  }
}

export async function migrateOnly(config: Config): Promise<void> {
  const log = createLog(config);
  const database = await openDatabase(config, log);
  await database.close();
}

/** The database of the settings, migrated. */
async function openDatabase(config: Config, log: Logger): Promise<Database> {
  if (config.databaseUrl && config.migrateDatabaseUrl) {
    const done = await migratePostgres(config.migrateDatabaseUrl, config.databaseUrl);
    log.info({ done }, done.length > 0 ? 'The database was migrated' : 'The database is up to date');
    return openPostgres(config.databaseUrl, entities, { poolSize: config.databasePoolSize });
  }
  const database = await openEmbedded(config.dataFolder, entities);
  keptSecretKey(config.dataFolder);
  log.info(`Using the embedded database in ${config.dataFolder}`);
  return database;
}

function createLog(config: Config): Logger {
  const options = { level: config.logLevel, base: null };
  return process.stdout.isTTY ? pino(options, pretty({ sync: true, ignore: 'pid,hostname' })) : pino(options);
}

/** On standard output beside the log: the key is a secret, and secrets never go through the log. */
function announceOwner(config: Config, key: string, url: string) {
  if (config.owner.apiKey) return;
  console.log(`
This is the first start. The owner account is ${config.owner.email}, and its API key is

    ${key}

Keep it now: only a hash is stored, and it is not shown again. Try it:

    curl -H "Authorization: Bearer ${key}" ${url}/api/v1/websites
`);
}
