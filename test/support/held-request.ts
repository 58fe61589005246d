import type { Database } from '../../src/db/database.ts';

/**
 * Takes the lock that a request with an Idempotency-Key holds while it is in progress: `request` is its method, path and key.
 * The returned function releases it. The embedded database runs one transaction at a time, so there other requests wait.
 */
export async function holdRequest(database: Database, userId: number, request: string): Promise<() => Promise<void>> {
  const [locked, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const transaction = database.asUser(userId, async (em) => {
    await em.execute('select pg_advisory_xact_lock(hashtextextended(?, 0))', [`${userId} ${request}`]);
    locked.resolve();
    await released.promise;
  });
  await Promise.race([locked.promise, transaction]);
  return () => {
    released.resolve();
    return transaction;
  };
}
