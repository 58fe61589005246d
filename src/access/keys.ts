import type { SqlEntityManager } from '@mikro-orm/sql';
import { hashKey, prefixOf } from './api-key.ts';
import type { Scope } from './scopes.ts';

/** Stores what is needed to recognise a key, never the key itself. `em` works for the user who gets it. */
export async function storeKey(
  em: SqlEntityManager,
  userId: number,
  { key, name, scopes, expiresAt = null }: { key: string; name: string; scopes: Scope[]; expiresAt?: Date | null },
): Promise<void> {
  await em.execute('insert into api_keys (user_id, name, scopes, prefix, key_hash, expires_at) values (?, ?, ?::text[], ?, ?, ?)', [
    userId,
    name,
    `{${scopes.join(',')}}`,
    prefixOf(key),
    hashKey(key),
    expiresAt,
  ]);
}
