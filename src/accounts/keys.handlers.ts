import type { operations } from '../../generated/types/monitoring.ts';
import type { Caller } from '../auth/caller.ts';
import type { Scope } from '../auth/scopes.ts';
import { preparePage } from '../db/rows.ts';
import { selectFrom } from '../db/tables.ts';
import { futureTimeError } from '../db/times.ts';
import type { UserDatabase } from '../db/user-database.ts';
import { NotFound, ProblemError } from '../errors.ts';
import type { Handlers, Rules } from '../http/operations.ts';
import { pageMeta } from '../http/paging.ts';
import { ApiKeyEntity } from './api-key.entity.ts';
import { apiKeyView } from './api-key.view.ts';
import { createKey, descendsFrom } from './keys.ts';

type KeyOperations = Pick<operations, 'listKeys' | 'createKey' | 'deleteKey'>;

const selectKeys = preparePage(() => selectFrom(ApiKeyEntity).orderBy('id', 'desc'));

export const keyHandlers: Handlers<KeyOperations, UserDatabase> = {
  async listKeys({ query: { page, pageSize }, url }, { db }) {
    const [keys, counted] = await db.query(...selectKeys({ page, pageSize }));
    return { body: { data: keys.map(apiKeyView), ...pageMeta(url, { page, pageSize, counted }) } };
  },

  async createKey({ body }, { caller, db }) {
    const expiresAt = body.expires_at === undefined ? ownExpiry(caller) : new Date(body.expires_at);
    rejectPrivilegeEscalation(caller, body.scopes, expiresAt);
    const { userId } = caller;
    const { key, row } = await db.transaction((em) =>
      createKey(em, { userId, name: body.name, scopes: body.scopes, expiresAt, createdBy: caller.key?.id ?? null }),
    );
    return { body: { data: { ...apiKeyView(row), key } }, created: { name: 'API key', id: row.id }, containsSecret: true };
  },

  async deleteKey({ path }, { caller, db }) {
    await db.transaction(async (em) => {
      if (!(await em.findOne(ApiKeyEntity, path.id))) throw new NotFound('API key', path.id);
      if (caller.key && !(await descendsFrom(em, path.id, caller.key.id))) {
        throw new ProblemError(
          'not_your_key',
          'A key can delete only itself and the keys created with it. Sign in to delete any of your keys.',
        );
      }
      // The foreign key deletes the keys created with it.
      await em.nativeDelete(ApiKeyEntity, { id: path.id });
    });
    return { body: { id: path.id, object: 'key', deleted: true }, revokesCredentials: true };
  },
};

export function keyRules(now: () => number): Rules<KeyOperations> {
  return {
    createKey({ expires_at }) {
      const error = expires_at === undefined ? undefined : futureTimeError(new Date(expires_at), now());
      return { errors: error ? [{ in: 'body', pointer: '/expires_at', ...error }] : [] };
    },
  };
}

function ownExpiry({ key }: Caller): Date | null {
  return key?.expiresAtMs == null ? null : new Date(key.expiresAtMs);
}

/** A key cannot create a key with more scopes or a later expiry than its own. */
function rejectPrivilegeEscalation(caller: Caller, scopes: Scope[], expiresAt: Date | null) {
  const missing = scopes.filter((scope) => !caller.scopes.has(scope)).map((scope) => `"${scope}"`);
  if (missing.length > 0) {
    const [noun, pronoun] = missing.length === 1 ? ['scope', 'it'] : ['scopes', 'them'];
    throw new ProblemError(
      'scope_not_held',
      `The calling key does not have the ${noun} ${missing.join(', ')}, so it cannot grant ${pronoun}.`,
    );
  }
  const own = ownExpiry(caller);
  if (own && (!expiresAt || expiresAt > own)) {
    throw new ProblemError(
      'expiry_beyond_own',
      `The calling key expires at ${own.toISOString()}. A key that it creates can expire no later.`,
    );
  }
}
