import { createHmac } from 'node:crypto';
import type { SqlEntityManager } from '@mikro-orm/sql';
import { AlreadyCreated, Invalid, Refusal } from '../errors.ts';

/** A request that its sender may repeat. */
export interface Repeatable {
  userId: number;
  operation: string;
  /** The Idempotency-Key. */
  key: string;
  /** All that makes it this request and no other. */
  content: string;
}

/** What is kept instead of an answer that must not be stored. */
interface SecretAnswer {
  createdId: number;
}

/**
 * Does the work once: the same key and content within 24 hours gets the first answer again. `em` is in a transaction, so
 * that the answer is kept if and only if what it tells of is.
 */
export async function answerOnce<Answer extends { createdId?: number }>(
  em: SqlEntityManager,
  { userId, operation, key, content }: Repeatable,
  secretKeys: Buffer[],
  work: () => Promise<Answer>,
): Promise<Answer> {
  const [lock] = await em.execute<{ free: boolean }[]>('select pg_try_advisory_xact_lock(hashtextextended(?, 0)) as free', [
    `${userId} ${operation} ${key}`,
  ]);
  if (!lock?.free) {
    throw new Refusal('request_in_progress', 'A request with the same Idempotency-Key is still running. Repeat this one in a moment.');
  }
  // Only a keyed hash of the request is kept: it may hold secrets.
  const hashes = secretKeys.map((secret) => createHmac('sha256', secret).update(content).digest());
  const [kept] = await em.execute<{ request_hash: Uint8Array; answer: Answer | SecretAnswer }[]>(
    `select request_hash, answer from kept_answers
      where operation = ? and idempotency_key = ? and created_at > now() - interval '24 hours'`,
    [operation, key],
  );
  if (kept) {
    if (!hashes.some((hash) => hash.equals(kept.request_hash))) throw new Invalid([reused], 'idempotency_key_reused');
    if ('createdId' in kept.answer && kept.answer.createdId !== undefined) throw new AlreadyCreated(kept.answer.createdId);
    return kept.answer as Answer;
  }
  const answer = await work();
  const keep: Answer | SecretAnswer = answer.createdId === undefined ? answer : { createdId: answer.createdId };
  await em.execute(
    `insert into kept_answers (user_id, operation, idempotency_key, request_hash, answer) values (?, ?, ?, ?, ?)
     on conflict (user_id, operation, idempotency_key) do update
       set request_hash = excluded.request_hash, answer = excluded.answer, created_at = now()`,
    [userId, operation, key, hashes[0], JSON.stringify(keep)],
    'run',
  );
  return answer;
}

const reused = { in: 'header', name: 'Idempotency-Key', code: 'reused', message: 'was used with another body' } as const;
