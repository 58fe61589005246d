import type { Database, Work } from './database.ts';
import { type Query, queryInTransaction } from './statement.ts';

/** The database as one user sees it: row-level security hides the rows of everybody else. */
export interface UserDatabase {
  /** Runs statements in one round trip and one transaction. It is the fast path for frequent reads and writes. */
  query: Query;
  transaction<T>(work: Work<T>): Promise<T>;
}

export function userDatabase(database: Database, userId: number): UserDatabase {
  return { query: database.query(userId), transaction: (work) => database.asUser(userId, work) };
}

/** The same inside a transaction that is already open, so that what it writes is committed together. */
export function userDatabaseIn(em: Parameters<Work<unknown>>[0]): UserDatabase {
  return { query: queryInTransaction(em), transaction: (work) => work(em) };
}
