import { hashPassword } from '../auth/passwords.ts';
import type { Database } from '../db/database.ts';
import { UserEntity } from './user.entity.ts';

/** Returns the id of the new user, or undefined if the address is taken. `network` is that of the client who signs up. */
export async function createUser(
  database: Database,
  email: string,
  password: string | undefined,
  network = 'this service',
): Promise<number | undefined> {
  const passwordHash = password === undefined ? null : await hashPassword(password, { network });
  const [created] = await database.asAuthenticator((em) =>
    em.execute<{ id: number | null }[]>('select auth_create_user(?, ?) as id', [email, passwordHash]),
  );
  return created?.id ?? undefined;
}

export async function findUserId(database: Database, email: string): Promise<number | undefined> {
  const [user] = await database.asAuthenticator((em) => em.execute<{ id: number }[]>('select id from auth_find_user(?)', [email]));
  return user?.id;
}

/** Sets the password and deletes every session of the user. */
export async function setPassword(database: Database, userId: number, password: string): Promise<void> {
  const passwordHash = await hashPassword(password, { userId });
  await database.asUser(userId, async (em) => {
    await em.nativeUpdate(UserEntity, { id: userId }, { passwordHash });
    await em.execute('delete from sessions', [], 'run');
  });
}

/** Deletes the account. Everything that belongs to it is deleted by cascade. */
export async function deleteUser(database: Database, userId: number): Promise<void> {
  await database.asUser(userId, (em) => em.nativeDelete(UserEntity, { id: userId }));
}
