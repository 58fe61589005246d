import { createHmac } from 'node:crypto';
import { AlreadyCreated, InvalidRequest, ProblemError } from '../errors.ts';
import type { Database } from './database.ts';
import { type UserDatabase, userDatabaseIn } from './user-database.ts';

interface IdempotentRequest {
  userId: number;
  operation: string;
  /** The Idempotency-Key. */
  key: string;
  /** Everything in which two requests to the same operation can differ. */
  content: string;
}

/** Stored instead of a result that contains a secret. */
interface CreatedReference {
  createdId: number;
}

/**
 * Runs `work` once: the same key and content within 24 hours return the first result again. The result is stored in the
 * transaction of `work`, so that it exists if and only if what it describes was written.
 */
export function runIdempotent<Result extends { createdId?: number }>(
  database: Database,
  { userId, operation, key, content }: IdempotentRequest,
  secretKeys: Buffer[],
  work: (db: UserDatabase) => Promise<Result>,
): Promise<Result> {
  return database.asUser(userId, async (em) => {
    const [lock] = await em.execute<{ free: boolean }[]>('select pg_try_advisory_xact_lock(hashtextextended(?, 0)) as free', [
      `${userId} ${operation} ${key}`,
    ]);
    if (!lock?.free) {
      throw new ProblemError('request_in_progress', 'A request with this Idempotency-Key is still in progress. Retry in a few seconds.');
    }
    // The request may contain secrets, so only a keyed hash of it is stored.
    const hashes = secretKeys.map((secret) => createHmac('sha256', secret).update(content).digest());
    const [stored] = await em.execute<{ request_hash: Uint8Array; response: Result | CreatedReference }[]>(
      `select request_hash, response from idempotent_responses
        where operation = ? and idempotency_key = ? and created_at > now() - interval '24 hours'`,
      [operation, key],
    );
    if (stored) {
      if (!hashes.some((hash) => hash.equals(stored.request_hash))) throw new InvalidRequest([reused], 'idempotency_key_reused');
      if ('createdId' in stored.response && stored.response.createdId !== undefined) throw new AlreadyCreated(stored.response.createdId);
      return stored.response as Result;
    }
    const result = await work(userDatabaseIn(em));
    const response: Result | CreatedReference = result.createdId === undefined ? result : { createdId: result.createdId };
    await em.execute(
      `insert into idempotent_responses (user_id, operation, idempotency_key, request_hash, response) values (?, ?, ?, ?, ?)
       on conflict (user_id, operation, idempotency_key) do update
         set request_hash = excluded.request_hash, response = excluded.response, created_at = now()`,
      [userId, operation, key, hashes[0], JSON.stringify(response)],
      'run',
    );
    return result;
  });
}

const reused = { in: 'header', name: 'Idempotency-Key', code: 'reused', message: 'was already used with a different request' } as const;
