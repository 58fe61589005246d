import { hash as digest } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { Logger } from 'pino';
import type { Database } from '../db/database.ts';
import { Refusal } from '../errors.ts';
import { isWellFormedKey } from './api-key.ts';
import { type Caller, endedAccess } from './caller.ts';
import { allScopes, type Scope } from './scopes.ts';
import { sessionEndsAtMs } from './session.ts';

export interface Credentials {
  /** Every Authorization header as sent. */
  authorization: string[];
  /** The value of the session cookie. */
  sessionToken?: string | undefined;
}

interface Known {
  caller: Caller;
  lastUsedAtMs: number | null;
}

/** How long a key is believed without asking again, should the notice of its end get lost. */
const believedMs = 4000;
const useNotedMs = 60_000;

/**
 * Finds out who is calling. What was found is remembered for a few seconds, so that a busy key costs no round trip; a
 * key or session that ends is forgotten at once, because the database tells every process.
 */
export class Authenticator {
  readonly #database: Database;
  readonly #log: Logger;
  readonly #now: () => number;
  /** By the hash of the key or token, in hex. */
  readonly #known = new LRUCache<string, Known>({ max: 10_000, ttl: believedMs });
  /** What ended just now: a look-up that was under way meanwhile must not bring it back. */
  readonly #ended = new LRUCache<string, true>({ max: 10_000, ttl: 2 * believedMs });
  readonly #usesNoted = new LRUCache<string, number>({ max: 10_000 });

  private constructor(database: Database, log: Logger, now: () => number) {
    this.#database = database;
    this.#log = log;
    this.#now = now;
  }

  static async create(database: Database, log: Logger, now = Date.now): Promise<Authenticator> {
    const authenticator = new Authenticator(database, log, now);
    await database.listen('access_ended', {
      onNotice: (hash) => authenticator.forget(hash),
      onGap: () => authenticator.#known.clear(),
    });
    return authenticator;
  }

  async identify(credentials: Credentials, takes: { keys: boolean }): Promise<Caller> {
    const { key, sessionToken } = credentialThatCounts(credentials, takes);
    return key !== undefined ? this.#byKey(key) : this.#bySession(sessionToken);
  }

  forget(hash: string) {
    this.#ended.set(hash, true);
    this.#known.delete(hash);
  }

  forgetUser(userId: number) {
    for (const [hash, { caller }] of this.#known.entries()) if (caller.userId === userId) this.#known.delete(hash);
  }

  async #byKey(key: string): Promise<Caller> {
    if (!isWellFormedKey(key)) throw notOneKey();
    const hash = hexHash(key);
    const known = this.#known.get(hash) ?? (await this.#findKey(hash));
    const expiresAtMs = known?.caller.key?.expiresAtMs ?? null;
    if (!known || (expiresAtMs !== null && expiresAtMs <= this.#now())) {
      throw endedAccess('key');
    }
    this.#noteUse(hash, known, 'api_keys', known.caller.key?.id);
    return known.caller;
  }

  async #bySession(token: string): Promise<Caller> {
    const hash = hexHash(token);
    const known = this.#known.get(hash) ?? (await this.#findSession(hash));
    if (!known?.caller.session || sessionEndsAtMs(known.caller.session) <= this.#now()) {
      throw endedAccess('session');
    }
    this.#noteUse(hash, known, 'sessions', known.caller.session.id);
    return known.caller;
  }

  async #findKey(hash: string): Promise<Known | undefined> {
    const [row] = await this.#database.atTheDoor((em) =>
      // Times as numbers, because the drivers return them in different forms.
      em.execute<{ id: number; user_id: number; scopes: Scope[]; expires_at_ms: number | null; last_used_at_ms: number | null }[]>(
        'select * from door_find_api_key(?)',
        [Buffer.from(hash, 'hex')],
      ),
    );
    if (!row) return undefined;
    const caller = { userId: row.user_id, scopes: new Set(row.scopes), key: { id: row.id, expiresAtMs: row.expires_at_ms } };
    return this.#remember(hash, { caller, lastUsedAtMs: row.last_used_at_ms });
  }

  async #findSession(hash: string): Promise<Known | undefined> {
    const [row] = await this.#database.atTheDoor((em) =>
      em.execute<{ id: number; user_id: number; created_at_ms: number; last_used_at_ms: number }[]>('select * from door_find_session(?)', [
        Buffer.from(hash, 'hex'),
      ]),
    );
    if (!row) return undefined;
    const session = { id: row.id, createdAtMs: row.created_at_ms, lastUsedAtMs: row.last_used_at_ms };
    return this.#remember(hash, {
      caller: { userId: row.user_id, scopes: new Set(allScopes), session },
      lastUsedAtMs: row.last_used_at_ms,
    });
  }

  #remember(hash: string, known: Known): Known | undefined {
    if (this.#ended.has(hash)) return undefined;
    this.#known.set(hash, known);
    return known;
  }

  /** Written at most once a minute, beside the request: an answer does not wait for it. */
  #noteUse(hash: string, known: Known, table: 'api_keys' | 'sessions', id: number | undefined) {
    const now = this.#now();
    const noted = Math.max(known.lastUsedAtMs ?? 0, this.#usesNoted.get(hash) ?? 0);
    if (now - noted < useNotedMs || id === undefined) return;
    this.#usesNoted.set(hash, now);
    this.#database
      .asUser(known.caller.userId, (em) => em.execute(`update ${table} set last_used_at = now() where id = ?`, [id], 'run'))
      .catch((error: unknown) => this.#log.warn({ err: error }, 'the last use of a key or session could not be written'));
  }
}

/** The key counts where both are sent; one that does not work is refused, whatever stands beside it. */
export function credentialThatCounts(
  { authorization, sessionToken }: Credentials,
  takes: { keys: boolean },
): { key: string; sessionToken?: never } | { key?: never; sessionToken: string } {
  if (authorization.length > 0 && takes.keys) {
    const [, key] = /^Bearer +(\S+) *$/i.exec(authorization.length === 1 ? (authorization[0] ?? '') : '') ?? [];
    if (key === undefined) throw notOneKey();
    return { key };
  }
  if (sessionToken !== undefined && authorization.length === 0) return { sessionToken };
  throw new Refusal(
    'unauthenticated',
    takes.keys
      ? 'Send an API key in the header "Authorization: Bearer <API_KEY>", or sign in.'
      : 'This works only for a signed-in user, without an API key. Sign in with POST /api/session.',
  );
}

function notOneKey(): Refusal {
  return new Refusal('invalid_key', 'The Authorization header does not hold one well-formed API key.');
}

function hexHash(secret: string): string {
  return digest('sha256', secret, 'hex');
}
