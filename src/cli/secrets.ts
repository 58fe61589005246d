import type { Command } from 'commander';
import { readConfig } from '../config/config.ts';
import { UsageError } from '../errors.ts';
import { type OutputOptions, print, withJson } from './output.ts';

export function addSecretsCommands(program: Command) {
  const secrets = program.command('secrets').description('manage the encryption of stored secrets');
  withJson(secrets.command('status')).description('list how many secrets each key encrypts').action(printStatus);
  withJson(secrets.command('rotate'))
    .description('encrypt every stored secret with the newest key; after 24 hours, older keys can be removed')
    .option('--new-key', 'first add a new key to secret.key in DATA_DIR; then remove the older ones')
    .action(rotate);
}

const descriptions = { newest: 'the newest key', older: 'an older key', unknown: 'an unknown key' };

async function printStatus(options: OutputOptions): Promise<void> {
  const { runCommand } = await import('./with-commands.ts');
  await runCommand('secrets status', {}, (keys) =>
    print(options, keys, () =>
      keys
        .map(({ key, secrets, state }) => `${key}: ${secrets} ${secrets === 1 ? 'secret' : 'secrets'}, ${descriptions[state]}`)
        .join('\n'),
    ),
  );
}

const advice = {
  SECRET_KEY: 'Older keys can be removed from SECRET_KEY after 24 hours.',
  'secret.key': 'secret.key contains only this key.',
};

async function rotate({ newKey = false, ...options }: OutputOptions & { newKey?: boolean }): Promise<void> {
  if (newKey && readConfig().secretKeys) {
    throw new UsageError('--new-key: SECRET_KEY is set. Put the new key before the old one: SECRET_KEY=new,old');
  }
  const { runCommand } = await import('./with-commands.ts');
  await runCommand('secrets rotate', { newKey }, (output) =>
    print(
      options,
      output,
      ({ key, rotated, keys_in }) => `${rotated === 0 ? 'Nothing to do: every' : 'Every'} secret uses the key ${key}. ${advice[keys_in]}`,
    ),
  );
}
