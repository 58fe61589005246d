import type { Database } from '../../src/db/database.ts';

/** A database that counts the transactions of an engine or a dispatcher, once they have ended. */
export function countTransactions(database: Database) {
  let count = 0;
  const asEngine: Database['asEngine'] = async (work) => {
    const result = await database.asEngine(work);
    count++;
    return result;
  };
  return { counting: { asEngine } as Database, transactions: () => count };
}
