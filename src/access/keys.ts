import type { SqlEntityManager } from '@mikro-orm/sql';
import { type Fault, Refusal } from '../errors.ts';
import { type ApiKey, ApiKeyEntity } from './api-key.entity.ts';
import { generateKey, hashKey, prefixOf } from './api-key.ts';
import { lockQuota } from './quota.ts';
import type { Scope } from './scopes.ts';

const maxKeys = 100;
/** Times are written with four digits of a year. */
const lastTimeMs = Date.parse('9999-12-31T23:59:59.999Z');

interface NewKey {
  userId: number;
  name: string;
  scopes: Scope[];
  expiresAt?: Date | null;
  /** The key that makes it; absent where a session or the operator does. */
  madeBy?: number | null;
  /** Given by the operator; otherwise a new one. */
  key?: string;
}

/** Makes a key and returns it beside its row: only a hash of it is stored. `em` works for the user who gets it. */
export async function createKey(em: SqlEntityManager, wanted: NewKey): Promise<{ key: string; row: ApiKey }> {
  const { key = generateKey(), userId, name, scopes, expiresAt = null, madeBy = null } = wanted;
  await lockQuota(em, userId, 'keys');
  if ((await em.count(ApiKeyEntity)) >= maxKeys) throw new Refusal('quota_exceeded', `A user may have at most ${maxKeys} keys.`);
  const row = em.create(ApiKeyEntity, { userId, madeBy, name, scopes, prefix: prefixOf(key), keyHash: hashKey(key), expiresAt });
  await em.flush();
  return { key, row };
}

/** What is wrong with the time at which a key is to end, if anything is. */
export function expiryFault(expiresAt: Date): Pick<Fault, 'code' | 'message'> | undefined {
  const ms = expiresAt.getTime();
  if (!(ms <= lastTimeMs)) return { code: 'invalid_time', message: 'must be a time before the year 10000, and no leap second' };
  return ms > Date.now() ? undefined : { code: 'not_in_future', message: 'must be in the future' };
}

/** Whether `maker` made the key, itself or through keys that it made; a key counts as its own. */
export async function descendsFrom(em: SqlEntityManager, id: number, maker: number): Promise<boolean> {
  const rows = await em.execute<{ id: number }[]>(
    `with recursive line as (
       select id, made_by from api_keys where id = ?
       union all
       select k.id, k.made_by from api_keys k join line on k.id = line.made_by
     )
     select id from line where id = ?`,
    [id, maker],
  );
  return rows.length > 0;
}
