import type { Database } from '../../src/db/database.ts';
import { queryInTransaction } from '../../src/db/statement.ts';
import { wakeDispatcher, wakeEngine } from '../../src/monitoring/wake.ts';

/** Wakes the engines and dispatchers of all processes, after a test has scheduled monitors or queued alerts by itself. */
export async function wakeAll(database: Pick<Database, 'asEngine'>): Promise<void> {
  await database.asEngine((em) => queryInTransaction(em)(wakeEngine({}), wakeDispatcher({})));
}
