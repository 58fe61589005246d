import type { Command } from 'commander';
import type { OutputOf } from '../commands/registry.ts';
import { OperatorError, UsageError } from '../errors.ts';
import { type Columns, type OutputOptions, print, printPages, toMinute, withJson } from './output.ts';

export function addUserCommands(program: Command) {
  const user = program.command('user').description('manage users');
  withJson(user.command('add <email>'))
    .description('add a user; the password is prompted for, or read from standard input')
    .action(addUser);
  withJson(user.command('list')).description('list all users').action(listUsers);
  withJson(user.command('password <email>'))
    .description('set a new password (prompted for, or read from standard input) and end every session of the user')
    .action(setPassword);
  withJson(user.command('suspend <email>'))
    .description('reject the keys, sessions and password of a user, and stop their checks and alerts; all data stays')
    .action(suspendUser);
  withJson(user.command('resume <email>')).description('end the suspension of a user').action(resumeUser);
  withJson(user.command('delete <email>'))
    .description('delete a user and all of their data')
    .option('--yes', 'delete without asking')
    .action(deleteUser);
}

async function addUser(email: string, options: OutputOptions): Promise<void> {
  const { email: schema } = await import('../config/setting-values.ts');
  if (!schema.safeParse(email).success) throw new UsageError(`"${email}" is not an e-mail address`);
  const { readPassword } = await import('./terminal.ts');
  const { runCommand } = await import('./with-commands.ts');
  const password = await readPassword(email);
  await runCommand('user add', { email, password }, (added) => print(options, added, ({ id }) => `Added user ${id} (${email}).`));
}

const columns: Columns<OutputOf<'user list'>[number]> = {
  ID: ({ id }) => id,
  STATE: ({ suspended_at }) => (suspended_at === null ? 'active' : 'suspended'),
  'CREATED (UTC)': ({ created_at }) => toMinute(created_at),
  KEYS: ({ keys }) => keys,
  WEBSITES: ({ websites }) => websites,
  MONITORS: ({ monitors }) => monitors,
  PROVIDERS: ({ providers }) => providers,
  EMAIL: ({ email }) => email,
};

async function listUsers(options: OutputOptions): Promise<void> {
  const { withCommands } = await import('./with-commands.ts');
  await withCommands((run) => printPages(options, columns, (after) => run('user list', { after })));
}

async function setPassword(email: string, options: OutputOptions): Promise<void> {
  const { readPassword } = await import('./terminal.ts');
  const { runCommand } = await import('./with-commands.ts');
  if (process.stdin.isTTY) await requireUser(email);
  const password = await readPassword(email);
  await runCommand('user password', { email, password }, (user) =>
    print(options, user, () => `Set the password of ${email} and ended every session.`),
  );
}

async function suspendUser(email: string, options: OutputOptions): Promise<void> {
  const { runCommand } = await import('./with-commands.ts');
  await runCommand('user suspend', { email }, (output) =>
    print(options, output, ({ id, changed }) =>
      changed
        ? `Suspended user ${id} (${email}). Keys and sessions are rejected, monitors are not checked. "user resume" undoes this.`
        : `User ${id} (${email}) is already suspended.`,
    ),
  );
}

async function resumeUser(email: string, options: OutputOptions): Promise<void> {
  const { runCommand } = await import('./with-commands.ts');
  await runCommand('user resume', { email }, (output) =>
    print(options, output, ({ id, changed }) =>
      changed
        ? `Resumed user ${id} (${email}). Keys and sessions work again within 10 seconds, monitors are checked within a minute.`
        : `User ${id} (${email}) is not suspended.`,
    ),
  );
}

async function deleteUser(email: string, { yes, ...options }: OutputOptions & { yes?: true }): Promise<void> {
  if (!yes) {
    await requireUser(email);
    await confirmDeletion(email);
  }
  const { runCommand } = await import('./with-commands.ts');
  await runCommand('user delete', { email }, (deleted) =>
    print(options, deleted, ({ id }) => `Deleted user ${id} (${email}) and all of their data.`),
  );
}

/** Throws if there is no such user. The database is closed again, so that a service can start while a question waits. */
async function requireUser(email: string): Promise<void> {
  const { runCommand } = await import('./with-commands.ts');
  await runCommand('user find', { email }, () => {});
}

async function confirmDeletion(email: string): Promise<void> {
  if (!process.stdin.isTTY) throw new UsageError(`add --yes to delete ${email} and all of their data`);
  const { confirmWithAddress } = await import('./terminal.ts');
  const question = `This deletes ${email} with all websites, monitors and keys. Type the address to confirm: `;
  if (!(await confirmWithAddress(question, email))) throw new OperatorError('Nothing was deleted: the address does not match.');
}
