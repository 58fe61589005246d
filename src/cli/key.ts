import type { Command } from 'commander';
import { generateKey } from '../auth/api-key.ts';
import { allScopes, type Scope } from '../auth/scopes.ts';
import { UsageError } from '../errors.ts';
import { type OutputOptions, print, withJson } from './output.ts';

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
}

async function createKeyForUser({ user, name, scopes: scopeList, expires, ...options }: CreateOptions): Promise<void> {
  const { expiryError } = await import('../accounts/keys.ts');
  const { runCommand } = await import('./with-commands.ts');
  const scopes = parseScopes(scopeList);
  const expiresAt = expires === undefined ? undefined : new Date(expires);
  const error = expiresAt && expiryError(expiresAt, Date.now());
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
