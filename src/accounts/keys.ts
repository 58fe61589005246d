import { raw } from '@mikro-orm/core';
import type { SqlEntityManager } from '@mikro-orm/sql';
import { sql } from 'kysely';
import { generateKey, hashKey, prefixOf } from '../auth/api-key.ts';
import type { Scope } from '../auth/scopes.ts';
import { enforceQuota } from '../db/rows.ts';
import { prepare, queryInTransaction } from '../db/statement.ts';
import { tables } from '../db/tables.ts';
import { ProblemError } from '../errors.ts';
import { type ApiKey, ApiKeyEntity } from './api-key.entity.ts';

const maxKeys = 100;
/** The keys that one key has created, directly or through others. A leaked key cannot use up the quota of its user. */
const maxDescendants = 10;

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
  await em.nativeDelete(ApiKeyEntity, { expiresAt: { $lte: raw('app_now()') } });
  const row = em.create(ApiKeyEntity, { userId, createdBy, name, scopes, prefix: prefixOf(key), keyHash: hashKey(key), expiresAt });
  await em.flush();
  // The insert locks the user until the end of the transaction, so the numbers are exact.
  const query = queryInTransaction(em);
  await enforceQuota({ query }, { table: 'api_keys', maximum: maxKeys });
  const [[counted]] = await query(countDescendants({ id: row.id }));
  if (counted && counted.most > maxDescendants) throw tooManyDescendants();
  return { key, row };
}

function tooManyDescendants(): ProblemError {
  return new ProblemError(
    'quota_exceeded',
    `The key that you use, or one that it was created with, has ${maxDescendants} keys that were created with it. Delete one of them, or sign in to create more.`,
  );
}

/** A key, the key that created it, the one that created that, and so on. */
function withAncestors(id: number) {
  return tables<typeof ApiKeyEntity>().withRecursive('ancestors', (db) =>
    db
      .selectFrom('api_keys')
      .select(['id', 'created_by'])
      .where('id', '=', id)
      .unionAll(db.selectFrom('api_keys as k').innerJoin('ancestors', 'ancestors.created_by', 'k.id').select(['k.id', 'k.created_by'])),
  );
}

/** Counts the descendants of each ancestor of a key, and returns the highest number. */
const countDescendants = prepare(({ id }: { id: number }) =>
  withAncestors(id)
    .withRecursive('descendants', (db) =>
      db
        .selectFrom('ancestors')
        .innerJoin('api_keys as k', 'k.created_by', 'ancestors.id')
        .select(['ancestors.id as ancestor', 'k.id'])
        .unionAll(
          db
            .selectFrom('descendants')
            .innerJoin('api_keys as k', 'k.created_by', 'descendants.id')
            .select(['descendants.ancestor', 'k.id']),
        ),
    )
    .selectFrom((db) => db.selectFrom('descendants').select(sql<number>`count(*)`.as('count')).groupBy('ancestor').as('counts'))
    .select(sql<number>`coalesce(max(count), 0)::int`.as('most')),
);

const selectAncestor = prepare((given: { id: number; ancestor: number }) =>
  withAncestors(given.id).selectFrom('ancestors').select('id').where('id', '=', given.ancestor),
);

/** Whether the key was created by `creator`, directly or through other keys. A key counts as its own descendant. */
export async function descendsFrom(em: SqlEntityManager, id: number, creator: number): Promise<boolean> {
  const [rows] = await queryInTransaction(em)(selectAncestor({ id, ancestor: creator }));
  return rows.length > 0;
}
