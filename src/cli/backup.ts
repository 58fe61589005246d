import { resolve } from 'node:path';
import type { Command } from 'commander';
import { readConfig } from '../config/config.ts';
import { OperatorError } from '../errors.ts';
import { type OutputOptions, print, withJson } from './output.ts';

export function addBackupCommand(program: Command) {
  withJson(program.command('backup <folder>'))
    .description('copy the embedded database and its secret key to a new folder, also while the service is running')
    .option('--without-key', 'leave the secret key out')
    .action(backUp);
}

async function backUp(folder: string, { withoutKey = false, ...options }: OutputOptions & { withoutKey?: boolean }): Promise<void> {
  const { databaseUrl, secretKeys } = readConfig();
  if (databaseUrl) throw new OperatorError('DATABASE_URL is set. Back up a PostgreSQL server with pg_dump, as docs/backup.md describes.');
  const { runCommand } = await import('./with-commands.ts');
  await runCommand('backup', { folder: resolve(folder), withKey: !withoutKey }, (output) =>
    print(
      options,
      output,
      ({ folder, contains_key }) => `Backed up the database to ${folder}. ${adviceOn(contains_key, secretKeys !== undefined)}`,
    ),
  );
}

function adviceOn(containsKey: boolean, isKeySet: boolean): string {
  if (containsKey) return 'It contains the secret key: protect it like a password.';
  return `It does not contain the secret key: keep a copy of ${isKeySet ? 'SECRET_KEY' : 'secret.key'} in another place.`;
}
