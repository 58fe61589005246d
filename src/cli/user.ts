import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';
import type { Command } from 'commander';
import { OperatorError, UsageError } from '../errors.ts';

export function addUserCommands(program: Command) {
  const user = program.command('user').description('manage users');
  user.command('add <email>').description('add a user; the password is prompted for, or read from standard input').action(addUser);
  user
    .command('password <email>')
    .description('set a new password (prompted for, or read from standard input) and end every session of the user')
    .action(changePassword);
  user.command('delete <email>').description('delete a user and all of their data').action(removeUser);
}

async function addUser(email: string): Promise<void> {
  const { email: schema } = await import('../config/setting-values.ts');
  if (!schema.safeParse(email).success) throw new UsageError(`"${email}" is not an e-mail address`);
  const { createUser, findUserId } = await import('../accounts/users.ts');
  const { withDatabase } = await import('./with-database.ts');
  await withDatabase(async (database) => {
    const taken = new OperatorError(`A user with the address ${email} already exists.`);
    if ((await findUserId(database, email)) !== undefined) throw taken;
    const id = await createUser(database, email, await readPassword(email));
    if (id === undefined) throw taken;
    console.log(`Added user ${id} (${email}).`);
  });
}

async function changePassword(email: string): Promise<void> {
  const { setPassword } = await import('../accounts/users.ts');
  const { withUser } = await import('./with-database.ts');
  await withUser(email, async (database, id) => {
    await setPassword(database, id, await readPassword(email));
    console.log(`Set the password of ${email} and ended every session.`);
  });
}

async function removeUser(email: string): Promise<void> {
  const { deleteUser } = await import('../accounts/users.ts');
  const { withUser } = await import('./with-database.ts');
  await withUser(email, async (database, id) => {
    await deleteUser(database, id);
    console.log(`Deleted user ${id} (${email}) and all of their data.`);
  });
}

/** Reads the password from the terminal without echo, or from standard input. An argument would be visible in process lists. */
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
  if (length < 8 || length > 128) throw new UsageError('the password must have 8 to 128 characters');
  return password;
}
