import { createHmac } from 'node:crypto';
import type { SqlEntityManager } from '@mikro-orm/sql';
import { AlreadyCreated, InvalidRequest, ProblemError, RetryLaterError } from '../errors.ts';
import type { Database } from './database.ts';
import { lazyTransaction } from './lazy-transaction.ts';
import { sql } from './statement.ts';
import type { UserDatabase } from './user-database.ts';

interface IdempotentRequest {
  userId: number;
  method: string;
  path: string;
  /** The Idempotency-Key. */
  key: string;
  /** Everything else in which two requests can differ. */
  content: string;
}

interface Created {
  name: string;
  id: number;
}

interface IdempotentResult {
  created?: Created;
  containsSecret?: true;
  replayed?: true;
}

/** `reference` is stored instead of a result that contains a secret or is too large. */
type StoredResponse<Result> = { result: Result } | { reference: Created; containsSecret: boolean };

interface StoredRow<Result> {
  request_hash: Uint8Array;
  response: StoredResponse<Result>;
}

const maxStoredBytes = 8192;
const maxStoredPerUser = 10_000;
const selectText = `select request_hash, response from idempotent_responses
  where operation = $1 and idempotency_key = $2 and created_at > now() - interval '24 hours'`;

/**
 * Runs `work` once: the same request with the same key within 24 hours gets the first result again. The result is stored in
 * the transaction of `work`, so that it exists if and only if what it describes was written. The transaction begins when
 * `work` first uses the database: hashing a password before that must not hold a connection.
 */
export async function runIdempotent<Result extends IdempotentResult>(
  database: Database,
  request: IdempotentRequest,
  secretKeys: Buffer[],
  work: (db: UserDatabase) => Promise<Result>,
): Promise<Result> {
  const { userId, key } = request;
  const operation = `${request.method} ${request.path}`;
  // The request may contain secrets, so only a keyed hash of it is stored.
  const hashes = secretKeys.map((secret) => createHmac('sha256', secret).update(request.content).digest());

  const [[stored]] = await database.query(userId)(sql<StoredRow<Result>>(selectText, [operation, key]));
  if (stored) return replay(stored, hashes);

  let concurrent: StoredRow<Result> | undefined;
  const transaction = lazyTransaction(database, userId, async (em) => {
    await lockKey(em, `${userId} ${operation} ${key}`);
    [concurrent] = await em.execute<StoredRow<Result>[]>(selectText.replace(/\$\d/g, '?'), [operation, key]);
    if (concurrent) throw new Error('The same request has succeeded in the meantime.');
    await enforceLimit(em);
  });
  try {
    const result = await work(transaction.db);
    await transaction.commit((em) =>
      em.execute(
        `insert into idempotent_responses (user_id, operation, idempotency_key, request_hash, response) values (?, ?, ?, ?, ?)
         on conflict (user_id, operation, idempotency_key) do update
           set request_hash = excluded.request_hash, response = excluded.response, created_at = now()`,
        [userId, operation, key, hashes[0], toStored(result)],
        'run',
      ),
    );
    return result;
  } catch (error) {
    await transaction.rollback();
    if (concurrent) return replay(concurrent, hashes);
    throw error;
  }
}

function replay<Result extends IdempotentResult>({ request_hash, response }: StoredRow<Result>, hashes: Buffer[]): Result {
  if (!hashes.some((hash) => hash.equals(request_hash))) throw new InvalidRequest([reused], 'idempotency_key_reused');
  if ('reference' in response) throw new AlreadyCreated(response.reference, response);
  return { ...response.result, replayed: true };
}

const reused = { in: 'header', name: 'Idempotency-Key', code: 'reused', message: 'was already used with a different request' } as const;

function toStored(result: IdempotentResult): string {
  const { created, containsSecret = false } = result;
  const text = JSON.stringify({ result } satisfies StoredResponse<IdempotentResult>);
  if (!containsSecret && Buffer.byteLength(text) <= maxStoredBytes) return text;
  if (!created) throw new Error('A result that cannot be stored must name the resource that was created.');
  return JSON.stringify({ reference: created, containsSecret } satisfies StoredResponse<IdempotentResult>);
}

async function lockKey(em: SqlEntityManager, name: string) {
  const [lock] = await em.execute<{ free: boolean }[]>('select pg_try_advisory_xact_lock(hashtextextended(?, 0)) as free', [name]);
  if (lock?.free) return;
  throw new ProblemError('request_in_progress', 'A request with this Idempotency-Key is still in progress. Retry in a few seconds.');
}

async function enforceLimit(em: SqlEntityManager) {
  const [row] = await em.execute<{ stored: number; seconds: number }[]>(
    `select count(*)::int as stored, coalesce(extract(epoch from min(created_at) + interval '24 hours' - now()), 0)::float8 as seconds
       from idempotent_responses where created_at > now() - interval '24 hours'`,
  );
  if (!row || row.stored < maxStoredPerUser) return;
  const seconds = Math.max(1, Math.ceil(row.seconds));
  throw new RetryLaterError(
    'rate_limited',
    `A user can send at most ${maxStoredPerUser} requests with an Idempotency-Key in 24 hours. Retry in ${seconds} seconds, or without the header.`,
    seconds,
  );
}
