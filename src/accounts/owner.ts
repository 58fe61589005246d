import { sql } from 'kysely';
import { hashPassword } from '../auth/passwords.ts';
import { allScopes } from '../auth/scopes.ts';
import { continueAsUser, type Database } from '../db/database.ts';
import { prepare, queryInTransaction } from '../db/statement.ts';
import { createKey } from './keys.ts';

const createFirstUser = prepare(
  (given: { email: string; passwordHash: string | null }) =>
    sql<{ id: number | null }>`select auth_create_first_user(${given.email}, ${given.passwordHash}) as id`,
);

/**
 * Creates the owner account on an empty database, with a key that has every scope. Returns the key, which is not stored and
 * cannot be shown again. If there is a user already, it changes nothing and returns undefined.
 */
export async function createOwner(
  database: Database,
  owner: { email: string; password?: string; apiKey?: string },
): Promise<string | undefined> {
  const passwordHash = owner.password === undefined ? null : await hashPassword(owner.password, { network: 'this service' });
  return database.asAuthenticator(async (em) => {
    const [[created]] = await queryInTransaction(em)(createFirstUser({ email: owner.email, passwordHash }));
    if (!created?.id) return undefined;
    // The rest of this transaction runs as the new user.
    await continueAsUser(em, created.id);
    const { key } = await createKey(em, {
      userId: created.id,
      name: 'Owner',
      scopes: allScopes,
      ...(owner.apiKey && { key: owner.apiKey }),
    });
    return key;
  });
}
