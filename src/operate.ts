// What operators do from the command line, on the database itself. The embedded one serves one process at a time, so the
// service must not be running on it.
import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';
import { createKey, expiryFault } from './access/keys.ts';
import { allScopes, type Scope } from './access/scopes.ts';
import { createUser, deleteUser, findUserId, setPassword } from './access/users.ts';
import { BadSetting, CannotDo, type Config } from './config.ts';
import type { Database } from './db/database.ts';
import { planEmbedded } from './db/embedded.ts';
import { migrationsFolder } from './db/migrate.ts';
import { planPostgres } from './db/postgres.ts';
import { createLog } from './log.ts';
import { openDatabase } from './open-database.ts';
import { email as emailAddress } from './setting-values.ts';

export async function migrate(config: Config): Promise<void> {
  const { database } = await openDatabase(config, createLog(config));
  await database.close();
}

/** Says what `migrate` would run, and changes nothing. */
export async function planMigration({ migrateDatabaseUrl, dataFolder }: Config): Promise<void> {
  const { pending, unknown } = await (migrateDatabaseUrl ? planPostgres(migrateDatabaseUrl) : planEmbedded(dataFolder));
  if (unknown.length > 0) console.log(`Run by a newer version already: ${unknown.join(', ')}.`);
  if (pending.length === 0) console.log('Nothing to run: the database is up to date.');
  else
    console.log(
      ['These would run, in one transaction:', ...pending.map((name) => `  ${name}`), `They are in ${migrationsFolder}.`].join('\n'),
    );
}

export async function addUser(config: Config, email: string): Promise<void> {
  if (!emailAddress.safeParse(email).success) throw new BadSetting(`"${email}" is not an e-mail address`);
  await withDatabase(config, async (database) => {
    if ((await findUserId(database, email)) !== undefined) throw new CannotDo(`There is an account with the address ${email} already.`);
    const id = await createUser(database, email, await readPassword(email));
    if (id === undefined) throw new CannotDo(`There is an account with the address ${email} already.`);
    console.log(`User ${id} (${email}) was added.`);
  });
}

export async function changeUserPassword(config: Config, email: string): Promise<void> {
  await withUser(config, email, async (database, id) => {
    await setPassword(database, id, await readPassword(email));
    console.log(`The password of ${email} was set, and every session has ended.`);
  });
}

export async function removeUser(config: Config, email: string): Promise<void> {
  await withUser(config, email, async (database, id) => {
    await deleteUser(database, id);
    console.log(`User ${id} (${email}) was deleted with all data.`);
  });
}

export async function addKey(config: Config, wanted: { user: string; name: string; scopes: string; expires?: string }): Promise<void> {
  const scopes = readScopes(wanted.scopes);
  const expiresAt = readExpiry(wanted.expires);
  if (!/^\P{Cc}{1,100}$/u.test(wanted.name)) throw new BadSetting('--name: must have 1 to 100 characters, and no control characters');
  await withUser(config, wanted.user, async (database, userId) => {
    const { key } = await database.asUser(userId, (em) => createKey(em, { userId, name: wanted.name, scopes, expiresAt }));
    console.log(key);
  });
}

function withUser(config: Config, email: string, work: (database: Database, id: number) => Promise<void>): Promise<void> {
  return withDatabase(config, async (database) => {
    const id = await findUserId(database, email);
    if (id === undefined) throw new CannotDo(`There is no account with the address ${email}.`);
    await work(database, id);
  });
}

async function withDatabase(config: Config, work: (database: Database) => Promise<void>): Promise<void> {
  const { database } = await openDatabase(config, createLog({ logLevel: 'warn' }));
  try {
    await work(database);
  } finally {
    await database.close();
  }
}

function readScopes(text: string): Scope[] {
  const scopes = text === 'all' ? allScopes : [...new Set(text.split(',').map((scope) => scope.trim()))];
  const unknown = scopes.filter((scope) => !allScopes.includes(scope as Scope));
  if (unknown.length > 0) throw new BadSetting(`--scopes: "${unknown.join(', ')}" is unknown; there are ${allScopes.join(', ')}, and all`);
  return scopes as Scope[];
}

function readExpiry(text: string | undefined): Date | null {
  if (text === undefined) return null;
  const date = new Date(text);
  const fault = expiryFault(date);
  if (fault) throw new BadSetting(`--expires, a time such as 2030-01-31T00:00:00Z, ${fault.message}`);
  return date;
}

/** Typed unseen on a terminal, or the first line of standard input. Never an argument: those show in process lists. */
async function readPassword(email: string): Promise<string> {
  const isTerminal = process.stdin.isTTY === true;
  const silent = new Writable({ write: (_chunk, _encoding, done) => done() });
  const lines = createInterface({ input: process.stdin, output: isTerminal ? silent : undefined, terminal: isTerminal });
  if (isTerminal) process.stderr.write(`Password for ${email}: `);
  const { value } = await lines[Symbol.asyncIterator]().next();
  if (isTerminal) process.stderr.write('\n');
  lines.close();
  const password = String(value ?? '');
  const length = [...password].length;
  if (length < 8 || length > 128) throw new BadSetting('the password must have 8 to 128 characters');
  return password;
}
