import { createUser, deleteUser, findUserId, setPassword } from '../accounts/users.ts';
import { OperatorError } from '../errors.ts';
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

export const setPasswordCommand: Command<{ email: string; password: string }, UserOutput> = async (context, { email, password }) => {
  const id = await requireUser(context, email);
  await setPassword(context.database, id, password);
  return { id, email };
};

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
