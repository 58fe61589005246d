import type { SqlEntityManager } from '@mikro-orm/sql';
import type { Database, Work } from './database.ts';
import { type UserDatabase, userDatabaseIn } from './user-database.ts';

export interface LazyTransaction {
  db: UserDatabase;
  /** Runs the last statements and commits. */
  commit(last: Work<unknown>): Promise<void>;
  /** Rolls back if the transaction has begun. */
  rollback(): Promise<void>;
}

/** A transaction that begins, with `first`, when its database is first used. Until then it holds no connection. */
export function lazyTransaction(database: Database, userId: number, first: Work<void>): LazyTransaction {
  const last = Promise.withResolvers<Work<unknown>>();
  last.promise.catch(() => {}); // It is not awaited if the transaction fails first.
  let begun: Promise<SqlEntityManager> | undefined;
  let ended: Promise<unknown> = Promise.resolve();

  function begin(): Promise<SqlEntityManager> {
    begun ??= new Promise((resolve, reject) => {
      ended = database.asUser(userId, async (em) => {
        await first(em);
        resolve(em);
        await (await last.promise)(em);
      });
      ended.catch(reject);
    });
    return begun;
  }

  return {
    db: {
      query: async (...statements) => userDatabaseIn(await begin()).query(...statements),
      transaction: async (work) => work(await begin()),
    },
    async commit(work) {
      await begin();
      last.resolve(work);
      await ended;
    },
    async rollback() {
      last.reject(new Error('The transaction is rolled back.'));
      if (begun) await ended.catch(() => {});
    },
  };
}
