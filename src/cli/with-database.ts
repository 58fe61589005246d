import { findUserId } from '../accounts/users.ts';
import { readConfig } from '../config/config.ts';
import type { Database } from '../db/database.ts';
import { OperatorError } from '../errors.ts';
import { openDatabase } from '../runtime/open-database.ts';
import { createLog } from '../telemetry/log.ts';

/** Opens the database for one command. Only one process can use the embedded database, so the service must be stopped first. */
export async function withDatabase(work: (database: Database, secretKeys: Buffer[]) => Promise<void>): Promise<void> {
  const { database, secretKeys } = await openDatabase(readConfig(), createLog({ logLevel: 'warn' }, 'command'));
  try {
    await work(database, secretKeys);
  } finally {
    await database.close();
  }
}

/** Opens the database and finds a user. Throws OperatorError if there is none with this address. */
export function withUser(email: string, work: (database: Database, userId: number) => Promise<void>): Promise<void> {
  return withDatabase(async (database) => {
    const userId = await findUserId(database, email);
    if (userId === undefined) throw new OperatorError(`There is no user with the address ${email}.`);
    await work(database, userId);
  });
}
