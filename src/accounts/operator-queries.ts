// What operator commands read and change across users. The functions are in the database, and only the engine's role can execute
// them: code that serves requests cannot.
import { sql } from 'kysely';
import type { Scope } from '../auth/scopes.ts';
import type { Database } from '../db/database.ts';
import { prepare, type Query } from '../db/statement.ts';

export interface ListedUser {
  id: number;
  email: string;
  created_at: string;
  suspended_at: string | null;
  websites: number;
  monitors: number;
  providers: number;
  keys: number;
}

export interface ListedKey {
  id: number;
  user_id: number;
  user: string;
  name: string;
  scopes: Scope[];
  prefix: string;
  /** The key that created this one. */
  created_by: number | null;
  created_at: string;
  last_used_at: string | null;
  expires_at: string | null;
}

/** Which keys are listed. */
export interface KeyFilter {
  userId?: number | undefined;
  id?: number | undefined;
  prefix?: string | undefined;
  /** The hash of the whole key, in hex. */
  hash?: string | undefined;
}

const batchSize = 500;

const selectUserId = prepare(({ email }: { email: string }) => sql<{ id: number }>`select id from operator_find_user(${email})`);

type UserRow = Pick<ListedUser, 'id' | 'email' | 'websites' | 'monitors' | 'providers' | 'keys'> & {
  created_at_ms: number;
  suspended_at_ms: number | null;
};
const selectUsers = prepare(
  ({ after }: { after: number }) => sql<UserRow>`select * from operator_list_users(${after}, ${sql.lit(batchSize)})`,
);

type KeyRow = Pick<ListedKey, 'id' | 'user_id' | 'name' | 'scopes' | 'prefix' | 'created_by'> & {
  email: string;
  created_at_ms: number;
  last_used_at_ms: number | null;
  expires_at_ms: number | null;
};
const selectKeys = prepare(
  (given: { after: number } & KeyFilter) => sql<KeyRow>`select * from operator_list_keys(
    ${given.after}, ${sql.lit(batchSize)}, ${given.userId}, ${given.id}, ${given.prefix}, decode(${given.hash}, 'hex'))`,
);

const updateSuspended = prepare(
  (given: { userId: number; suspended: boolean }) =>
    sql<{ changed: boolean }>`select operator_set_suspended(${given.userId}, ${given.suspended}) as changed`,
);

/** Finds a user by the address, also one who is suspended. */
export async function findUserId(database: Database, email: string): Promise<number | undefined> {
  const [[user]] = await database.engineTransaction((query) => query(selectUserId({ email })));
  return user?.id;
}

/** Returns the users after this id, up to 500. */
export async function listUsers(database: Database, after: number): Promise<ListedUser[]> {
  const [rows] = await database.engineTransaction((query) => query(selectUsers({ after })));
  return rows.map(({ created_at_ms, suspended_at_ms, ...user }) => ({
    ...user,
    created_at: toTime(created_at_ms),
    suspended_at: suspended_at_ms === null ? null : toTime(suspended_at_ms),
  }));
}

/** Returns the keys after this id, up to 500. */
export async function listKeys(database: Database, after: number, filter: KeyFilter): Promise<ListedKey[]> {
  const [rows] = await database.engineTransaction((query) => query(selectKeys({ after, ...filter })));
  return rows.map(({ email, created_at_ms, last_used_at_ms, expires_at_ms, ...key }) => ({
    ...key,
    user: email,
    created_at: toTime(created_at_ms),
    last_used_at: last_used_at_ms === null ? null : toTime(last_used_at_ms),
    expires_at: expires_at_ms === null ? null : toTime(expires_at_ms),
  }));
}

/** Suspends or resumes a user in a transaction of the engine. Returns whether that changes anything. */
export async function setSuspended(query: Query, userId: number, suspended: boolean): Promise<boolean> {
  const [[row]] = await query(updateSuspended({ userId, suspended }));
  return row?.changed === true;
}

function toTime(ms: number): string {
  return new Date(ms).toISOString();
}
