import { sql } from 'kysely';
import { hashPassword } from '../auth/passwords.ts';
import type { Database } from '../db/database.ts';
import { repeatAfterDeadlock } from '../db/repeat-after-deadlock.ts';
import { prepare, queryInTransaction } from '../db/statement.ts';
import { SessionEntity } from './session.entity.ts';
import { UserEntity } from './user.entity.ts';

const insertUser = prepare(
  (given: { email: string; passwordHash: string | null }) =>
    sql<{ id: number | null }>`select auth_create_user(${given.email}, ${given.passwordHash}) as id`,
);

/** Returns the id of the new user, or undefined if the address is taken. `network` is that of the client who signs up. */
export async function createUser(
  database: Database,
  email: string,
  password: string | undefined,
  network = 'this service',
): Promise<number | undefined> {
  const passwordHash = password === undefined ? null : await hashPassword(password, { network });
  const [[created]] = await database.asAuthenticator((em) => queryInTransaction(em)(insertUser({ email, passwordHash })));
  return created?.id ?? undefined;
}

/** Sets the password and deletes every session of the user. */
export async function setPassword(database: Database, userId: number, password: string): Promise<void> {
  const passwordHash = await hashPassword(password, { userId });
  await database.asUser(userId, async (em) => {
    await em.nativeUpdate(UserEntity, { id: userId }, { passwordHash });
    await em.nativeDelete(SessionEntity, {});
  });
}

/** Deletes the account. Everything that belongs to it is deleted by cascade. */
export async function deleteUser(database: Database, userId: number): Promise<void> {
  await repeatAfterDeadlock(() => database.asUser(userId, (em) => em.nativeDelete(UserEntity, { id: userId })));
}
