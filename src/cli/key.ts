import type { Command } from 'commander';
import { generateKey } from '../auth/api-key.ts';
import { allScopes, type Scope } from '../auth/scopes.ts';
import type { OutputOf } from '../commands/registry.ts';
import { UsageError } from '../errors.ts';
import { type Columns, type OutputOptions, print, printPages, toMinute, withJson } from './output.ts';

interface CreateOptions extends OutputOptions {
  user: string;
  name: string;
  scopes: string;
  expires?: string;
}

export function addKeyCommands(program: Command) {
  const key = program.command('key').description('manage API keys');
  key
    .command('generate')
    .description('print a new key for OWNER_API_KEY, without storing it')
    .action(() => console.log(generateKey()));
  withJson(key.command('create'))
    .description('create a key for a user and print it')
    .requiredOption('--user <email>', 'e-mail address of the user')
    .requiredOption('--name <name>', 'what the key is for')
    .requiredOption('--scopes <scopes>', 'the scopes of the key, separated by commas, or all')
    .option('--expires <time>', 'when the key expires, such as 2099-12-31T00:00:00Z')
    .action(createKeyForUser);
  withJson(key.command('list'))
    .description('list the keys of all users, or of one; a key itself is shown only when it is created')
    .option('--user <email>', 'list only the keys of this user')
    .action(listKeys);
  withJson(key.command('revoke <key>'))
    .description('revoke a key, given by its id, its prefix or the key itself, and every key created with it')
    .action(revokeKey);
}

const columns: Columns<OutputOf<'key list'>[number]> = {
  ID: ({ id }) => id,
  PREFIX: ({ prefix }) => prefix,
  'CREATED (UTC)': ({ created_at }) => toMinute(created_at),
  'LAST USED': ({ last_used_at }) => toMinute(last_used_at),
  EXPIRES: ({ expires_at }) => toMinute(expires_at),
  USER: ({ user }) => user,
  NAME: ({ name }) => name,
  SCOPES: ({ scopes }) => (scopes.length === allScopes.length ? 'all' : scopes.join(',')),
};

async function listKeys({ user, ...options }: OutputOptions & { user?: string }): Promise<void> {
  const { withCommands } = await import('./with-commands.ts');
  await withCommands((run) => printPages(options, columns, (after) => run('key list', { after, ...(user !== undefined && { user }) })));
}

async function revokeKey(key: string, options: OutputOptions): Promise<void> {
  const { runCommand } = await import('./with-commands.ts');
  await runCommand('key revoke', { key }, (output) =>
    print(options, output, ({ id, prefix, user, revoked }) => {
      const others = revoked === 1 ? '' : revoked === 2 ? ' and the key created with it' : ` and ${revoked - 1} keys created with it`;
      return `Revoked key ${id} (${prefix}…) of ${user}${others}.`;
    }),
  );
}

async function createKeyForUser({ user, name, scopes: scopeList, expires, ...options }: CreateOptions): Promise<void> {
  const { futureTimeError } = await import('../db/times.ts');
  const { runCommand } = await import('./with-commands.ts');
  const scopes = parseScopes(scopeList);
  const expiresAt = expires === undefined ? undefined : new Date(expires);
  const error = expiresAt && futureTimeError(expiresAt, Date.now());
  if (error) throw new UsageError(`--expires: ${error.message}`);
  if (!/^\P{Cc}{1,100}$/u.test(name)) throw new UsageError('--name: must have 1 to 100 characters and no control characters');
  const input = { user, name, scopes, ...(expiresAt && { expiresAt: expiresAt.toISOString() }) };
  await runCommand('key create', input, (created) => print(options, created, ({ key }) => key));
}

function parseScopes(text: string): Scope[] {
  const scopes = text === 'all' ? allScopes : [...new Set(text.split(',').map((scope) => scope.trim()))];
  const unknown = scopes.filter((scope) => !allScopes.includes(scope as Scope));
  if (unknown.length > 0)
    throw new UsageError(`--scopes: "${unknown.join(', ')}" is not a scope; the scopes are ${allScopes.join(', ')}, or all`);
  return scopes as Scope[];
}
