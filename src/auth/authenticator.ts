import { hash as digest } from 'node:crypto';
import { sql } from 'kysely';
import { LRUCache } from 'lru-cache';
import type { Logger } from 'pino';
import type { Database } from '../db/database.ts';
import { prepare } from '../db/statement.ts';
import { DatabaseOutage, ProblemError } from '../errors.ts';
import { FairSlots } from '../limits/fair-slots.ts';
import { isWellFormedKey } from './api-key.ts';
import { type Caller, revokedCredential } from './caller.ts';
import { allScopes, type Scope } from './scopes.ts';
import { sessionExpiresAtMs } from './session.ts';

export interface Credentials {
  /** Every Authorization header as sent. */
  authorization: string[];
  /** The value of the session cookie. */
  sessionToken?: string | undefined;
}

interface CachedCaller {
  caller: Caller;
  lastUsedAtMs: number | null;
}

const selectKey = prepare(
  ({ hash }: { hash: string }) =>
    sql<{
      id: number;
      user_id: number;
      scopes: Scope[];
      expires_at_ms: number | null;
      last_used_at_ms: number | null;
    }>`select * from auth_find_api_key(decode(${hash}, 'hex'))`,
);
const selectSession = prepare(
  ({ hash }: { hash: string }) =>
    sql<{
      id: number;
      user_id: number;
      created_at_ms: number;
      last_used_at_ms: number;
    }>`select * from auth_find_session(decode(${hash}, 'hex'))`,
);
const setLastUsed = {
  api_keys: prepare(({ id }: { id: number }) => sql`update api_keys set last_used_at = app_now() where id = ${id}`),
  sessions: prepare(({ id }: { id: number }) => sql`update sessions set last_used_at = app_now() where id = ${id}`),
};

/** How long a credential is cached. It bounds the delay of a revocation whose notification is lost. */
const cacheMs = 4000;
/** How long an unknown credential is remembered. It bounds the delay until a new one works in every process. */
const unknownMs = 2000;
/** For this long after its last use, a credential is looked up without counting toward the limit of the address. */
const familiarMs = 3_600_000;
const lastUsedIntervalMs = 60_000;

/**
 * Authenticates requests. Callers are cached for a few seconds, so that a busy key costs no query. A revoked key or
 * session is dropped at once, because the database notifies every process.
 */
export class Authenticator {
  readonly #database: Database;
  readonly #log: Logger;
  readonly #now: () => number;
  /** Keyed by the hash of the key or token, in hex. */
  readonly #cache = new LRUCache<string, CachedCaller>({ max: 10_000, ttl: cacheMs });
  /** Recently revoked hashes. A query that was already running must not put them back into the cache. */
  readonly #revoked = new LRUCache<string, true>({ max: 10_000, ttl: 2 * cacheMs });
  readonly #lastUsedWrites = new LRUCache<string, number>({ max: 10_000 });
  readonly #unknown = new LRUCache<string, true>({ max: 10_000, ttl: unknownMs });
  readonly #familiar = new LRUCache<string, true>({ max: 10_000, ttl: familiarMs });
  /** Concurrent requests with the same credential share one lookup. */
  readonly #running = new Map<string, Promise<CachedCaller | undefined>>();
  /** Familiar credentials do not wait behind a flood of invented ones, and neither take all connections. */
  readonly #lookups = new FairSlots({ slots: 4, maxWaiting: 1000, maxWaitMs: 5000 });

  private constructor(database: Database, log: Logger, now: () => number) {
    this.#database = database;
    this.#log = log;
    this.#now = now;
  }

  static async create(database: Database, log: Logger, now = () => database.now()): Promise<Authenticator> {
    const authenticator = new Authenticator(database, log, now);
    await database.listen('credential_revoked', {
      onNotification: (hash) => authenticator.forget(hash),
      onReconnect: () => authenticator.#cache.clear(),
    });
    return authenticator;
  }

  /**
   * `beforeLookup` is called before the database is asked about a credential that has not been valid lately. If it throws,
   * the database is not asked.
   */
  async authenticate(
    credentials: Credentials,
    { acceptsKeys, beforeLookup = async () => {} }: { acceptsKeys: boolean; beforeLookup?: () => Promise<void> },
  ): Promise<Caller> {
    const { key, sessionToken } = selectCredential(credentials, { acceptsKeys });
    return key !== undefined ? this.#byKey(key, beforeLookup) : this.#bySession(sessionToken, beforeLookup);
  }

  forget(hash: string) {
    this.#revoked.set(hash, true);
    this.#cache.delete(hash);
  }

  forgetUser(userId: number) {
    for (const [hash, { caller }] of this.#cache.entries()) if (caller.userId === userId) this.#cache.delete(hash);
  }

  async #byKey(key: string, beforeLookup: () => Promise<void>): Promise<Caller> {
    if (!isWellFormedKey(key)) throw malformedKey();
    const hash = hexHash(key);
    const cached = await this.#find(hash, beforeLookup, () => this.#findKey(hash));
    const expiresAtMs = cached?.caller.key?.expiresAtMs ?? null;
    if (!cached || (expiresAtMs !== null && expiresAtMs <= this.#now())) throw revokedCredential('key');
    this.#updateLastUsed(hash, cached, 'api_keys', cached.caller.key?.id);
    return cached.caller;
  }

  async #bySession(token: string, beforeLookup: () => Promise<void>): Promise<Caller> {
    const hash = hexHash(token);
    const cached = await this.#find(hash, beforeLookup, () => this.#findSession(hash));
    if (!cached?.caller.session || sessionExpiresAtMs(cached.caller.session) <= this.#now()) throw revokedCredential('session');
    this.#updateLastUsed(hash, cached, 'sessions', cached.caller.session.id);
    return cached.caller;
  }

  /** Returns what is cached. It is renewed before it expires, so that a busy caller never waits for the database. */
  async #find(
    hash: string,
    beforeLookup: () => Promise<void>,
    find: () => Promise<CachedCaller | undefined>,
  ): Promise<CachedCaller | undefined> {
    const cached = this.#cache.get(hash);
    if (!cached) return this.#lookUp(hash, beforeLookup, find);
    if (this.#cache.getRemainingTTL(hash) < cacheMs / 2 && !this.#running.has(hash)) {
      this.#lookUp(hash, async () => {}, find).then(
        (found) => !found && this.#cache.delete(hash),
        (error: unknown) => this.#warn(error, 'Renewing a cached key or session failed; it is looked up again'),
      );
    }
    return cached;
  }

  /** Asks the database, unless it has just answered that there is no such credential. */
  async #lookUp(
    hash: string,
    beforeLookup: () => Promise<void>,
    find: () => Promise<CachedCaller | undefined>,
  ): Promise<CachedCaller | undefined> {
    if (this.#unknown.has(hash)) return undefined;
    const isFamiliar = this.#familiar.has(hash);
    const lookUp = async () => {
      if (!isFamiliar) await beforeLookup();
      return this.#lookups.run(isFamiliar ? 'familiar' : 'unknown', find);
    };
    const running = this.#running.get(hash) ?? lookUp();
    this.#running.set(hash, running);
    const found = await running.finally(() => this.#running.delete(hash));
    if (found) this.#familiar.set(hash, true);
    else {
      this.#familiar.delete(hash);
      this.#unknown.set(hash, true);
    }
    return found;
  }

  async #findKey(hash: string): Promise<CachedCaller | undefined> {
    const [[row]] = await this.#database.query()(selectKey({ hash }));
    if (!row) return undefined;
    const caller = { userId: row.user_id, scopes: new Set(row.scopes), key: { id: row.id, expiresAtMs: row.expires_at_ms } };
    return this.#remember(hash, { caller, lastUsedAtMs: row.last_used_at_ms });
  }

  async #findSession(hash: string): Promise<CachedCaller | undefined> {
    const [[row]] = await this.#database.query()(selectSession({ hash }));
    if (!row) return undefined;
    const session = { id: row.id, createdAtMs: row.created_at_ms, lastUsedAtMs: row.last_used_at_ms };
    return this.#remember(hash, {
      caller: { userId: row.user_id, scopes: new Set(allScopes), session },
      lastUsedAtMs: row.last_used_at_ms,
    });
  }

  #remember(hash: string, cached: CachedCaller): CachedCaller | undefined {
    if (this.#revoked.has(hash)) return undefined;
    this.#cache.set(hash, cached);
    return cached;
  }

  /** Writes last_used_at at most once a minute. The response does not wait for it. */
  #updateLastUsed(hash: string, cached: CachedCaller, table: 'api_keys' | 'sessions', id: number | undefined) {
    const now = this.#now();
    const lastWrite = Math.max(cached.lastUsedAtMs ?? 0, this.#lastUsedWrites.get(hash) ?? 0);
    if (now - lastWrite < lastUsedIntervalMs || id === undefined) return;
    this.#lastUsedWrites.set(hash, now);
    this.#database
      .query(cached.caller.userId)(setLastUsed[table]({ id }))
      .catch((error: unknown) => this.#warn(error, 'Updating last_used_at of a key or session failed'));
  }

  #warn(error: unknown, message: string) {
    if (!(error instanceof DatabaseOutage)) this.#log.warn({ err: error }, message);
  }
}

/** A key takes precedence over a session. If the key is invalid, the request is rejected even when the session is valid. */
export function selectCredential(
  { authorization, sessionToken }: Credentials,
  { acceptsKeys }: { acceptsKeys: boolean },
): { key: string; sessionToken?: never } | { key?: never; sessionToken: string } {
  if (authorization.length > 0 && acceptsKeys) {
    const [, key] = /^Bearer +(\S+) *$/i.exec(authorization.length === 1 ? (authorization[0] ?? '') : '') ?? [];
    if (key === undefined) throw malformedKey();
    return { key };
  }
  if (sessionToken !== undefined && authorization.length === 0) return { sessionToken };
  throw new ProblemError(
    'unauthenticated',
    acceptsKeys
      ? 'Send an API key in the header "Authorization: Bearer <API_KEY>", or sign in.'
      : 'This operation requires a session. Sign in with POST /api/session and send no API key.',
  );
}

function malformedKey(): ProblemError {
  return new ProblemError('invalid_key', 'The Authorization header does not contain a well-formed API key.');
}

function hexHash(secret: string): string {
  return digest('sha256', secret, 'hex');
}
