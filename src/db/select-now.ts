import { sql } from 'kysely';
import { prepare } from './statement.ts';
import { tables } from './tables.ts';

/** Reads the clock of the database, app_now(), in milliseconds. In a transaction it stands still. */
export const selectNow = prepare(() => tables().selectNoFrom(sql<number>`(extract(epoch from app_now()) * 1000)::float8`.as('ms')));
