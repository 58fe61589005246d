import { createHmac } from 'node:crypto';
import { sql } from 'kysely';
import { AlreadyCreated, InvalidRequest, ProblemError, RetryLaterError } from '../errors.ts';
import type { Database } from './database.ts';
import type { IdempotentResponseEntity } from './idempotent-response.entity.ts';
import { lazyTransaction } from './lazy-transaction.ts';
import { prepare, type Query, queryInTransaction } from './statement.ts';
import { tables } from './tables.ts';
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
  canBeRead?: true;
  advice?: string;
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

const db = tables<typeof IdempotentResponseEntity>();
const isStored = sql<boolean>`created_at > app_now() - interval '24 hours'`;

const selectStored = prepare(({ operation, key }: { operation: string; key: string }) =>
  db
    .selectFrom('idempotent_responses')
    .select(['request_hash', 'response'])
    .where('operation', '=', operation)
    .where('idempotency_key', '=', key)
    .where(isStored),
);

const store = prepare((given: { userId: number; operation: string; key: string; hash: Buffer; response: string }) =>
  db
    .insertInto('idempotent_responses')
    .values({
      user_id: given.userId,
      operation: given.operation,
      idempotency_key: given.key,
      request_hash: given.hash,
      response: given.response,
    })
    .onConflict((conflict) =>
      conflict.columns(['user_id', 'operation', 'idempotency_key']).doUpdateSet((row) => ({
        request_hash: row.ref('excluded.request_hash'),
        response: row.ref('excluded.response'),
        created_at: sql`app_now()`,
      })),
    ),
);

const tryLock = prepare(({ name }: { name: string }) =>
  db.selectNoFrom(sql<boolean>`pg_try_advisory_xact_lock(hashtextextended(${name}, 0))`.as('free')),
);

const countStored = prepare(() =>
  db
    .selectFrom('idempotent_responses')
    .select([
      sql<number>`count(*)::int`.as('stored'),
      sql<number>`coalesce(extract(epoch from min(created_at) + interval '24 hours' - app_now()), 0)::float8`.as('seconds'),
    ])
    .where(isStored),
);

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

  const findStored = async (query: Query) => {
    const [[row]] = await query(selectStored({ operation, key }));
    return row as StoredRow<Result> | undefined;
  };

  const stored = await findStored(database.query(userId));
  if (stored) return replay(stored, hashes);

  let concurrent: StoredRow<Result> | undefined;
  const transaction = lazyTransaction(database, userId, async (em) => {
    const query = queryInTransaction(em);
    await lockKey(query, `${userId} ${operation} ${key}`);
    concurrent = await findStored(query);
    if (concurrent) throw new Error('The same request has succeeded in the meantime.');
    await enforceLimit(query);
  });
  try {
    const result = await work(transaction.db);
    const [hash = Buffer.alloc(0)] = hashes;
    await transaction.commit((em) => queryInTransaction(em)(store({ userId, operation, key, hash, response: toStored(result) })));
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

async function lockKey(query: Query, name: string) {
  const [[lock]] = await query(tryLock({ name }));
  if (lock?.free) return;
  throw new ProblemError('request_in_progress', 'A request with this Idempotency-Key is still in progress. Retry in a few seconds.');
}

async function enforceLimit(query: Query) {
  const [[row]] = await query(countStored({}));
  if (!row || row.stored < maxStoredPerUser) return;
  const seconds = Math.max(1, Math.ceil(row.seconds));
  throw new RetryLaterError(
    'rate_limited',
    `A user can send at most ${maxStoredPerUser} requests with an Idempotency-Key in 24 hours. Retry in ${seconds} seconds, or without the header.`,
    seconds,
  );
}
