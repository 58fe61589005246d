import type { Database } from '../db/database.ts';
import { hashPassword } from './passwords.ts';
import { UserEntity } from './user.entity.ts';

/** The id of the new user; undefined where the address is taken. */
export async function createUser(database: Database, email: string, password: string | undefined): Promise<number | undefined> {
  const passwordHash = password === undefined ? null : await hashPassword(password);
  const [made] = await database.atTheDoor((em) =>
    em.execute<{ id: number | null }[]>('select door_create_user(?, ?) as id', [email, passwordHash]),
  );
  return made?.id ?? undefined;
}

export async function findUserId(database: Database, email: string): Promise<number | undefined> {
  const [user] = await database.atTheDoor((em) => em.execute<{ id: number }[]>('select id from door_find_user(?)', [email]));
  return user?.id;
}

/** Sets the password and ends every session of the user. */
export async function setPassword(database: Database, userId: number, password: string): Promise<void> {
  const passwordHash = await hashPassword(password);
  await database.asUser(userId, async (em) => {
    await em.nativeUpdate(UserEntity, { id: userId }, { passwordHash });
    await em.execute('delete from sessions', [], 'run');
  });
}

/** Deletes the account with all that belongs to it. */
export async function deleteUser(database: Database, userId: number): Promise<void> {
  await database.asUser(userId, (em) => em.nativeDelete(UserEntity, { id: userId }));
}
