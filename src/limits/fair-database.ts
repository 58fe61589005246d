import type { Database } from '../db/database.ts';
import { FairSlots } from './fair-slots.ts';

/** Longer than the longest wait behind others, and no longer than a request waits for a connection. */
const maxWaitMs = 5000;
const maxWaiting = 256;
/** Statements of several requests share a connection, and transactions do not. */
const queriesPerConnection = 8;
/** The rows of large lists wait in memory, so one user can read only some at a time. */
const maxQueriesPerUser = 32;
/** The engine and authentication need connections as well. */
const reservedConnections = 2;

/** The same database, with its connections shared fairly: a burst of one user's requests delays only that user. */
export function shareFairly(database: Database): Database {
  const { concurrency } = database;
  const slotsFor = (slots: number) => new FairSlots({ slots, slotsPerOwner: Math.min(slots, maxQueriesPerUser), maxWaiting, maxWaitMs });
  const transactions = slotsFor(Math.max(1, concurrency - reservedConnections));
  const queries = concurrency === 1 ? transactions : slotsFor(concurrency * queriesPerConnection);
  return {
    concurrency,
    asUser: (userId, work) => transactions.run(userId, () => database.asUser(userId, work)),
    query: (userId) => {
      const query = database.query(userId);
      return (...statements) => queries.run(userId, () => query(...statements));
    },
    asAuthenticator: (work) => database.asAuthenticator(work),
    asEngine: (work) => database.asEngine(work),
    listen: (channel, listener) => database.listen(channel, listener),
    connections: () => database.connections(),
    isReady: () => database.isReady(),
    missingMigrations: () => database.missingMigrations(),
    close: () => database.close(),
  };
}
