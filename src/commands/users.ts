import { findUserId, type ListedUser, listUsers, setSuspended } from '../accounts/operator-queries.ts';
import { createUser, deleteUser, setPassword } from '../accounts/users.ts';
import { repeatAfterDeadlock } from '../db/repeat-after-deadlock.ts';
import { OperatorError } from '../errors.ts';
import { resumeMonitoring, unscheduleMonitors } from '../monitoring/suspended-users.ts';
import type { Command, CommandContext } from './command.ts';

interface UserOutput {
  id: number;
  email: string;
}

export const addUserCommand: Command<{ email: string; password: string }, UserOutput> = async ({ database }, { email, password }) => {
  const id = await createUser(database, email, password);
  if (id === undefined) throw new OperatorError(`A user with the address ${email} already exists.`);
  return { id, email };
};

/** Returns a page of users. The next page begins after the last id; after the last page there is an empty one. */
export const listUsersCommand: Command<{ after: number }, ListedUser[]> = ({ database }, { after }) => listUsers(database, after);

/** Lets a question about a user be asked only if there is one. */
export const findUserCommand: Command<{ email: string }, UserOutput> = async (context, { email }) => ({
  id: await requireUser(context, email),
  email,
});

export const setPasswordCommand: Command<{ email: string; password: string }, UserOutput> = async (context, { email, password }) => {
  const id = await requireUser(context, email);
  await setPassword(context.database, id, password);
  return { id, email };
};

interface SuspensionOutput extends UserOutput {
  suspended: boolean;
  /** False if the user was suspended, or active, before. */
  changed: boolean;
}

/** Rejects keys, sessions and sign-ins of the user at once, and stops checks and alerts. All data stays. */
export const suspendUserCommand: Command<{ email: string }, SuspensionOutput> = async (context, { email }) => {
  const id = await requireUser(context, email);
  const changed = await changeSuspension(context, id, true);
  return { id, email, suspended: true, changed };
};

export const resumeUserCommand: Command<{ email: string }, SuspensionOutput> = async (context, { email }) => {
  const id = await requireUser(context, email);
  const changed = await changeSuspension(context, id, false);
  return { id, email, suspended: false, changed };
};

function changeSuspension({ database }: CommandContext, userId: number, suspended: boolean): Promise<boolean> {
  return repeatAfterDeadlock(() =>
    database.engineTransaction(async (query) => {
      // First the monitors and then the user, the order in which deleting a monitor locks them.
      if (suspended) await query(unscheduleMonitors({ userId }));
      const changed = await setSuspended(query, userId, suspended);
      if (changed && !suspended) await resumeMonitoring(query, userId);
      return changed;
    }),
  );
}

export const deleteUserCommand: Command<{ email: string }, UserOutput> = async (context, { email }) => {
  const id = await requireUser(context, email);
  await deleteUser(context.database, id);
  return { id, email };
};

/** Returns the id of a user. Throws if there is none with this address. */
export async function requireUser({ database }: Pick<CommandContext, 'database'>, email: string): Promise<number> {
  const id = await findUserId(database, email);
  if (id === undefined) throw new OperatorError(`There is no user with the address ${email}.`);
  return id;
}
