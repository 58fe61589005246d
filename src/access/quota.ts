import type { SqlEntityManager } from '@mikro-orm/sql';

/** One creation at a time for each user and kind, so that two at once cannot both take the last place. */
export async function lockQuota(em: SqlEntityManager, userId: number, kind: string): Promise<void> {
  await em.execute('select pg_advisory_xact_lock(hashtextextended(?, 0))', [`quota of ${kind} for ${userId}`]);
}
