import { type Database, userVariable } from '../db/database.ts';
import { createKey } from './keys.ts';
import { hashPassword } from './passwords.ts';
import { allScopes } from './scopes.ts';

/**
 * On an empty database makes the owner account with a key that holds every scope, and returns the key: it is stored
 * nowhere and cannot be shown again. Otherwise changes nothing and returns undefined.
 */
export async function createOwner(
  database: Database,
  owner: { email: string; password?: string; apiKey?: string },
): Promise<string | undefined> {
  const passwordHash = owner.password === undefined ? null : await hashPassword(owner.password);
  return database.atTheDoor(async (em) => {
    const [made] = await em.execute<{ id: number | null }[]>('select door_create_first_user(?, ?) as id', [owner.email, passwordHash]);
    if (!made?.id) return undefined;
    // From here on this transaction is the new user's.
    await em.execute('select set_config(?, ?, true)', [userVariable, String(made.id)]);
    const created = await createKey(em, { userId: made.id, name: 'Owner', scopes: allScopes, ...(owner.apiKey && { key: owner.apiKey }) });
    return created.key;
  });
}
