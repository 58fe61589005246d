import type { SqlEntityManager } from '@mikro-orm/sql';
import { generateKey, hashKey, prefixOf } from '../auth/api-key.ts';
import type { Scope } from '../auth/scopes.ts';
import { ProblemError, type ValidationError } from '../errors.ts';
import { lockQuota } from '../limits/quota.ts';
import { type ApiKey, ApiKeyEntity } from './api-key.entity.ts';

const maxKeys = 100;
/** The keys that one key has created, directly or through others. A leaked key cannot use up the quota of its user. */
const maxDescendants = 10;
/** Years in RFC 3339 have four digits, so a later time could not be returned. */
const lastTimeMs = Date.parse('9999-12-31T23:59:59.999Z');

interface NewKey {
  userId: number;
  name: string;
  scopes: Scope[];
  expiresAt?: Date | null;
  /** The id of the key that creates this one; absent for a session or the operator. */
  createdBy?: number | null;
  /** Set by the operator; otherwise a new one is generated. */
  key?: string;
}

/** Creates a key and returns it with its row, which contains only a hash. `em` must run as the user who gets the key. */
export async function createKey(em: SqlEntityManager, newKey: NewKey): Promise<{ key: string; row: ApiKey }> {
  const { key = generateKey(), userId, name, scopes, expiresAt = null, createdBy = null } = newKey;
  await lockQuota(em, userId, 'keys');
  await em.execute('delete from api_keys where expires_at <= now()', [], 'run');
  if ((await em.count(ApiKeyEntity)) >= maxKeys) throw new ProblemError('quota_exceeded', `A user can have at most ${maxKeys} keys.`);
  if (createdBy !== null) await enforceDescendantQuota(em, createdBy);
  const row = em.create(ApiKeyEntity, { userId, createdBy, name, scopes, prefix: prefixOf(key), keyHash: hashKey(key), expiresAt });
  await em.flush();
  return { key, row };
}

/** Returns what is wrong with an expiry time, or undefined. */
export function expiryError(expiresAt: Date): Pick<ValidationError, 'code' | 'message'> | undefined {
  const ms = expiresAt.getTime();
  if (!(ms <= lastTimeMs)) return { code: 'invalid_time', message: 'must be a date and time before the year 10000' };
  return ms > Date.now() ? undefined : { code: 'not_in_future', message: 'must be in the future' };
}

async function enforceDescendantQuota(em: SqlEntityManager, creator: number) {
  const [row] = await em.execute<{ most: number }[]>(
    `with recursive ancestors as (
       select id, created_by from api_keys where id = ?
       union all
       select k.id, k.created_by from api_keys k join ancestors on k.id = ancestors.created_by
     ), descendants as (
       select ancestors.id as ancestor, k.id from ancestors join api_keys k on k.created_by = ancestors.id
       union all
       select descendants.ancestor, k.id from descendants join api_keys k on k.created_by = descendants.id
     )
     select coalesce(max(count), 0)::int as most from (select count(*) from descendants group by ancestor) as counts`,
    [creator],
  );
  if (row && row.most >= maxDescendants) {
    throw new ProblemError(
      'quota_exceeded',
      `The key that you use, or one that it was created with, has ${maxDescendants} keys that were created with it. Delete one of them, or sign in to create more.`,
    );
  }
}

/** Whether the key was created by `creator`, directly or through other keys. A key counts as its own descendant. */
export async function descendsFrom(em: SqlEntityManager, id: number, creator: number): Promise<boolean> {
  const rows = await em.execute<{ id: number }[]>(
    `with recursive ancestors as (
       select id, created_by from api_keys where id = ?
       union all
       select k.id, k.created_by from api_keys k join ancestors on k.id = ancestors.created_by
     )
     select id from ancestors where id = ?`,
    [id, creator],
  );
  return rows.length > 0;
}
