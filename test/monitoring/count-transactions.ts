import type { Database } from '../../src/db/database.ts';

/** A database that counts the transactions of an engine or a dispatcher, once they have ended. */
export function countTransactions(database: Database) {
  let count = 0;
  const engineTransaction: Database['engineTransaction'] = async (work) => {
    const result = await database.engineTransaction(work);
    count++;
    return result;
  };
  return { counting: { engineTransaction } as Database, transactions: () => count };
}
