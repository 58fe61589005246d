import { type EntitySchema, LockMode } from '@mikro-orm/core';
import type { SqlEntityManager } from '@mikro-orm/sql';
import { NotFound } from '../errors.ts';

/** Returns the user's row with this id or throws NotFound. Lock it when the transaction is going to change it. */
export async function findById<Item extends { id: number }>(
  em: SqlEntityManager,
  entity: EntitySchema<Item>,
  id: number,
  { lock = false } = {},
): Promise<Item> {
  // The compiler cannot see that every Item here has an id to filter by.
  const item = await em.findOne(entity, { id } as never, lock ? { lockMode: LockMode.PESSIMISTIC_WRITE } : {});
  if (!item) throw new NotFound(entity.meta.className, id);
  return item as Item;
}
