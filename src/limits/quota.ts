import type { SqlEntityManager } from '@mikro-orm/sql';

/** Serializes creations per user and kind, so that two concurrent requests cannot both use the last slot of a quota. */
export async function lockQuota(em: SqlEntityManager, userId: number, kind: string): Promise<void> {
  await em.execute('select pg_advisory_xact_lock(hashtextextended(?, 0))', [`quota of ${kind} for ${userId}`]);
}
