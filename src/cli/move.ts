import type { Command } from 'commander';
import { type Config, readConfig } from '../config/config.ts';
import { findUrlError, loginOf, withLogin } from '../config/postgres-url.ts';
import { UsageError } from '../errors.ts';

interface MoveCommandOptions {
  to?: string;
  login?: string;
  restart?: boolean;
}

export function addMoveCommand(program: Command) {
  program
    .command('move')
    .description('copy the embedded database to an empty PostgreSQL database; the service must be stopped')
    .option('--to <url>', 'the PostgreSQL database, with the login of its owner (default: MIGRATE_DATABASE_URL)')
    .option('--login <role>', 'the role that the service will log in as (default: the one in DATABASE_URL, or sitekeeper)')
    .option('--restart', 'delete what an unfinished move has copied, and copy everything again')
    .action(move);
}

async function move({ to, login, restart = false }: MoveCommandOptions): Promise<void> {
  const config = readConfig();
  const ownerUrl = to ?? config.migrateDatabaseUrl;
  if (ownerUrl === undefined) throw new UsageError('--to: is required unless MIGRATE_DATABASE_URL is set');
  const setting = to === undefined ? 'MIGRATE_DATABASE_URL' : '--to';
  const invalid = findUrlError(ownerUrl);
  if (invalid) throw new UsageError(`${setting}: ${invalid}`);
  const role = login ?? ((config.databaseUrl && loginOf(config.databaseUrl)) || 'sitekeeper');
  const { moveToPostgres } = await import('../db/move/move.ts');
  const print = (line: string) => console.log(line);
  await moveToPostgres({ folder: config.dataDirectory, ownerUrl, setting, login: role, restart, print });
  console.log(await nextSteps(config, ownerUrl, role));
}

/** Tells the operator how to switch, without printing a password or the key. */
async function nextSteps({ dataDirectory, secretKeys }: Config, ownerUrl: string, login: string): Promise<string> {
  const { readStoredKeys, secretKeyFile } = await import('../db/secret-key-file.ts');
  const stored = readStoredKeys(dataDirectory);
  const isComplete = stored.every((key) => secretKeys?.some((configured) => configured.equals(key)));
  const lines = stored.length > 1 ? 'the lines, separated by commas,' : 'the contents';
  return `
Everything was copied and verified. Start the service with these settings:

  DATABASE_URL=${withLogin(ownerUrl, `${encodeURIComponent(login)}:…`)}
  SECRET_KEY=…   (${secretKeys && isComplete ? 'unchanged' : `${lines} of ${secretKeyFile(dataDirectory)}`})

Keep ${dataDirectory} as a backup. No service starts on it any more, because it would send alerts as well.`;
}
