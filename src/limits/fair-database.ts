import type { Database } from '../db/database.ts';
import { onlyRead } from '../db/statement.ts';
import { FairSlots } from './fair-slots.ts';

/** Longer than the longest wait behind others, and no longer than a request waits for a connection. */
const maxWaitMs = 5000;
const maxWaiting = 256;
/**
 * Statements of several requests share a connection, and each waits for those before it. The rows of large lists wait in memory.
 * So only as many run at a time as keep the database busy.
 */
const maxQueries = 32;
/** Slow searches of one user leave this many connections for others, beside the one in reserve for reads. */
const leftForOthers = 1;
/** The part of the connections that the engine can use at a time. */
const engineShare = 0.3;

/**
 * The same database, with its connections shared fairly: a burst of one user's requests delays only that user. Transactions of
 * users and of the engine leave a connection for statements, because most requests need only one.
 */
export function shareFairly(database: Database): Database {
  const { concurrency } = database;
  const engineConnections = Math.max(1, Math.floor(concurrency * engineShare));
  const transactions = new FairSlots({ slots: Math.max(1, concurrency - engineConnections - 1), maxWaiting, maxWaitMs });
  const slotsForQueries = () =>
    new FairSlots({ slots: maxQueries, slotsPerOwner: Math.max(1, concurrency - leftForOthers), maxWaiting, maxWaitMs });
  // Writes can wait for locks. Reads do not, and must not wait behind them.
  const [reads, writes] = concurrency === 1 ? [transactions, transactions] : [slotsForQueries(), slotsForQueries()];
  const engine = new FairSlots({ slots: engineConnections, maxWaiting: Number.POSITIVE_INFINITY, maxWaitMs });
  return {
    concurrency,
    asUser: (userId, work) => transactions.run(userId, () => database.asUser(userId, work)),
    query: (userId) => {
      const query = database.query(userId);
      return (...statements) => (onlyRead(statements) ? reads : writes).run(userId ?? 'authenticator', () => query(...statements));
    },
    asAuthenticator: (work) => database.asAuthenticator(work),
    asEngine: (work) => engine.run('engine', () => database.asEngine(work)),
    engineTransaction: (work) => engine.run('engine', () => database.engineTransaction(work)),
    listen: (channel, listener) => database.listen(channel, listener),
    now: () => database.now(),
    connections: () => {
      const connections = database.connections();
      const waiting = [...new Set([transactions, reads, writes, engine])].reduce((sum, slots) => sum + slots.waiting, connections.waiting);
      return { ...connections, waiting };
    },
    isReady: () => database.isReady(),
    missingMigrations: () => database.missingMigrations(),
    close: () => database.close(),
  };
}
