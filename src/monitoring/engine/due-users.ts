import type { SqlEntityManager } from '@mikro-orm/sql';

export interface DueUsers {
  /** Those who have waited longest come first. */
  userIds: number[];
  /** Where the search continues, if there can be more users; otherwise undefined. */
  continueAfter: number | undefined;
}

/** The number of users that are visited at most. */
const maxVisited = 1000;

/**
 * Finds the users who have due monitors. Usually no more monitors are due than there are free slots, and reading them is enough.
 * Otherwise thousands of one user may hide those of everybody else: the users are visited one by one, starting after
 * `afterUserId`.
 */
export async function findDueUsers(em: SqlEntityManager, freeSlots: number, afterUserId: number): Promise<DueUsers> {
  const oldest = await em.execute<{ user_id: number; monitors: number }[]>(
    `select user_id, count(*)::int as monitors
       from (select user_id, next_check_at from monitors where next_check_at <= now() order by next_check_at limit ?) due
      group by user_id order by min(next_check_at)`,
    [freeSlots + 1],
  );
  const read = oldest.reduce((sum, { monitors }) => sum + monitors, 0);
  return read <= freeSlots ? { userIds: oldest.map((row) => row.user_id), continueAfter: undefined } : visitUsers(em, afterUserId);
}

/** Each step of the recursion jumps to the next user in the index, past the other monitors of the user before. */
async function visitUsers(em: SqlEntityManager, afterUserId: number): Promise<DueUsers> {
  const visited = await em.execute<{ user_id: number; is_due: boolean }[]>(
    `with recursive visited (user_id) as (
       (select user_id from monitors where user_id > ? and next_check_at is not null order by user_id limit 1)
       union all
       select (select m.user_id from monitors m where m.user_id > v.user_id and m.next_check_at is not null order by m.user_id limit 1)
         from visited v where v.user_id is not null
     )
     select v.user_id, due.at is not null as is_due
       from (select user_id from visited where user_id is not null limit ?) v
       left join lateral (select m.next_check_at as at from monitors m where m.user_id = v.user_id and m.next_check_at <= now()
                           order by m.next_check_at limit 1) due on true
      order by due.at nulls last, v.user_id`,
    [afterUserId, maxVisited],
  );
  const last = Math.max(...visited.map((row) => row.user_id));
  return {
    userIds: visited.filter((row) => row.is_due).map((row) => row.user_id),
    continueAfter: visited.length === maxVisited ? last : undefined,
  };
}
