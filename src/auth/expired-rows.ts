import { sql } from 'kysely';
import type { BatchJob } from '../db/batch-jobs.ts';
import type { Database } from '../db/database.ts';
import { prepare, queryInTransaction } from '../db/statement.ts';
import { tables } from '../db/tables.ts';

const batchSize = sql.lit(500);

const deleteExpired = prepare(() => tables().selectNoFrom(sql<number>`auth_delete_expired(${batchSize})::int`.as('deleted')));

/** Deletes expired keys, sessions and idempotent responses of all users. */
export function expiredRows(database: Database): BatchJob {
  return {
    name: 'Deleting expired keys, sessions and responses',
    async runBatch() {
      const [[row]] = await database.asAuthenticator((em) => queryInTransaction(em)(deleteExpired({})));
      return row?.deleted ?? 0;
    },
  };
}
