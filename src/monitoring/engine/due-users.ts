import { sql } from 'kysely';
import { prepare, type Query } from '../../db/statement.ts';
import { tables } from '../../db/tables.ts';
import type { MonitorEntity } from '../monitors/monitor.entity.ts';

export interface DueUsers {
  /** Those who have waited longest come first. */
  userIds: number[];
  /** Where the search continues, if there can be more users; otherwise undefined. */
  continueAfter: number | undefined;
}

/** The number of users that are visited at most. */
const maxVisited = 1000;

const db = tables<typeof MonitorEntity>();
const now = sql<Date>`app_now()`;

const selectOldest = prepare(({ limit }: { limit: number }) =>
  db
    .selectFrom(
      db
        .selectFrom('monitors')
        .select(['user_id', 'next_check_at'])
        .where('next_check_at', '<=', now)
        .orderBy('next_check_at')
        .limit(limit)
        .as('due'),
    )
    .select(['user_id as userId', sql<number>`count(*)::int`.as('monitors')])
    .groupBy('user_id')
    .orderBy(sql`min(next_check_at)`),
);

/**
 * Finds the users who have due monitors. Usually no more monitors are due than there are free slots, and reading them is enough.
 * Otherwise thousands of one user may hide those of everybody else: the users are visited one by one, starting after
 * `afterUserId`.
 */
export async function findDueUsers(query: Query, freeSlots: number, afterUserId: number): Promise<DueUsers> {
  const [oldest] = await query(selectOldest({ limit: freeSlots + 1 }));
  const read = oldest.reduce((sum, { monitors }) => sum + monitors, 0);
  return read <= freeSlots ? { userIds: oldest.map(({ userId }) => userId), continueAfter: undefined } : visitUsers(query, afterUserId);
}

/** Each step of the recursion jumps to the next user in the index, past the other monitors of the user before. */
const selectVisited = prepare(({ afterUserId }: { afterUserId: number }) => {
  const scheduled = db.selectFrom('monitors as m').select('m.user_id').where('m.next_check_at', 'is not', null);
  const next = scheduled.orderBy('m.user_id').limit(sql.lit(1));
  return db
    .withRecursive('visited(user_id)', (recursive) =>
      recursive
        .selectFrom(next.where('m.user_id', '>', afterUserId).as('first'))
        .select(sql<number | null>`user_id`.as('user_id'))
        .unionAll(
          recursive
            .selectFrom('visited as v')
            .where('v.user_id', 'is not', null)
            .select(next.where('m.user_id', '>', sql.ref<number>('v.user_id')).as('user_id')),
        ),
    )
    .selectFrom((from) =>
      from
        .selectFrom('visited')
        .select('user_id')
        .where('user_id', 'is not', null)
        .$narrowType<{ user_id: number }>()
        .limit(sql.lit(maxVisited))
        .as('v'),
    )
    .leftJoinLateral(
      (from) =>
        from
          .selectFrom('monitors as m')
          .select('m.next_check_at as at')
          .whereRef('m.user_id', '=', 'v.user_id')
          .where('m.next_check_at', '<=', now)
          .orderBy('m.next_check_at')
          .limit(sql.lit(1))
          .as('due'),
      (join) => join.onTrue(),
    )
    .select(['v.user_id as userId', sql<boolean>`due.at is not null`.as('isDue')])
    .orderBy('due.at', (order) => order.asc().nullsLast())
    .orderBy('v.user_id');
});

async function visitUsers(query: Query, afterUserId: number): Promise<DueUsers> {
  const [visited] = await query(selectVisited({ afterUserId }));
  const last = Math.max(...visited.map(({ userId }) => userId));
  return {
    userIds: visited.filter(({ isDue }) => isDue).map(({ userId }) => userId),
    continueAfter: visited.length === maxVisited ? last : undefined,
  };
}
