import type { Command } from 'commander';
import { UsageError } from '../errors.ts';
import { type OutputOptions, print, withJson } from './output.ts';

export function addUserCommands(program: Command) {
  const user = program.command('user').description('manage users');
  withJson(user.command('add <email>'))
    .description('add a user; the password is prompted for, or read from standard input')
    .action(addUser);
  withJson(user.command('password <email>'))
    .description('set a new password (prompted for, or read from standard input) and end every session of the user')
    .action(setPassword);
  withJson(user.command('delete <email>')).description('delete a user and all of their data').action(deleteUser);
}

async function addUser(email: string, options: OutputOptions): Promise<void> {
  const { email: schema } = await import('../config/setting-values.ts');
  if (!schema.safeParse(email).success) throw new UsageError(`"${email}" is not an e-mail address`);
  const { readPassword } = await import('./terminal.ts');
  const { runCommand } = await import('./with-commands.ts');
  const password = await readPassword(email);
  await runCommand('user add', { email, password }, (added) => print(options, added, ({ id }) => `Added user ${id} (${email}).`));
}

async function setPassword(email: string, options: OutputOptions): Promise<void> {
  const { readPassword } = await import('./terminal.ts');
  const { runCommand } = await import('./with-commands.ts');
  const password = await readPassword(email);
  await runCommand('user password', { email, password }, (user) =>
    print(options, user, () => `Set the password of ${email} and ended every session.`),
  );
}

async function deleteUser(email: string, options: OutputOptions): Promise<void> {
  const { runCommand } = await import('./with-commands.ts');
  await runCommand('user delete', { email }, (deleted) =>
    print(options, deleted, ({ id }) => `Deleted user ${id} (${email}) and all of their data.`),
  );
}
