import { type EntityClass, type EntityName, LockMode } from '@mikro-orm/core';
import type { SqlEntityManager } from '@mikro-orm/sql';
import { NotFound } from '../errors.ts';

/** The caller's item with this id, or NotFound; locked where it is about to change. */
export async function findOwn<Item extends { id: number }>(
  em: SqlEntityManager,
  entity: EntityName<Item>,
  id: number,
  { lock = false } = {},
): Promise<Item> {
  // The compiler cannot see that every Item here has an id to filter by.
  const item = await em.findOne(entity as EntityClass<Item>, { id } as never, lock ? { lockMode: LockMode.PESSIMISTIC_WRITE } : {});
  if (!item) throw new NotFound();
  return item as Item;
}
