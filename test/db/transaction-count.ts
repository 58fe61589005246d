import type { Database } from '../../src/db/database.ts';

/** Wraps a database and counts the transactions that work for a user. */
export function countTransactions(database: Database) {
  let [begun, open] = [0, 0];
  const wrapped: Database = {
    async asUser(userId, work) {
      begun++;
      open++;
      try {
        return await database.asUser(userId, work);
      } finally {
        open--;
      }
    },
    query: (userId) => database.query(userId),
    asAuthenticator: (work) => database.asAuthenticator(work),
    asEngine: (work) => database.asEngine(work),
    engineTransaction: (work) => database.engineTransaction(work),
    listen: (channel, listener) => database.listen(channel, listener),
    now: () => database.now(),
    connections: () => database.connections(),
    isReady: () => database.isReady(),
    missingMigrations: () => database.missingMigrations(),
    concurrency: database.concurrency,
    close: () => database.close(),
  };
  return { database: wrapped, begun: () => begun, open: () => open };
}
