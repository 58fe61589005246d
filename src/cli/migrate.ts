import type { Command } from 'commander';
import { type Config, ConfigError, readConfig } from '../config/config.ts';

export function addMigrateCommand(program: Command) {
  program
    .command('migrate')
    .description('migrate the database to this version and exit')
    .option('--plan', 'only list the migrations that would run')
    .action(async ({ plan }: { plan?: true }) => {
      const config = readConfig(undefined, { needsSecretKey: false });
      if (config.databaseUrl && !config.migrateDatabaseUrl) {
        throw new ConfigError('MIGRATE_DATABASE_URL: is required by the migrate command. Set it to the login of the database owner');
      }
      await (plan ? printPlan(config) : migrate(config));
    });
}

async function migrate(config: Config): Promise<void> {
  const [{ openDatabase }, { createLog }] = await Promise.all([import('../runtime/open-database.ts'), import('../telemetry/log.ts')]);
  const { database } = await openDatabase(config, createLog(config, 'migrate'));
  await database.close();
}

async function planServer(url: string) {
  const [{ planPostgres }, { explained }] = await Promise.all([import('../db/postgres.ts'), import('../runtime/open-database.ts')]);
  return explained('MIGRATE_DATABASE_URL', planPostgres(url));
}

/** Prints the pending migrations without running them. */
async function printPlan({ migrateDatabaseUrl, dataDirectory }: Config): Promise<void> {
  const { migrationsFolder } = await import('../db/migrate.ts');
  const { pending, unknown } = migrateDatabaseUrl
    ? await planServer(migrateDatabaseUrl)
    : await (await import('../db/embedded.ts')).planEmbedded(dataDirectory);
  if (unknown.length > 0) console.log(`The database was migrated by a newer version, which ran: ${unknown.join(', ')}.`);
  if (pending.length === 0) console.log('Nothing to run: the database is up to date.');
  else {
    const names = pending.map((name) => `  ${name}`);
    console.log(['These migrations would run, in one transaction:', ...names, `They are in ${migrationsFolder}.`].join('\n'));
  }
}
