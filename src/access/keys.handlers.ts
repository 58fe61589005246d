import type { operations } from '../../generated/types/monitoring.ts';
import { selectPage } from '../db/statement.ts';
import { NotFound, Refusal } from '../errors.ts';
import type { Handlers, Rules } from '../http/operations.ts';
import { pageOf } from '../paging.ts';
import { ApiKeyEntity } from './api-key.entity.ts';
import { apiKeyView } from './api-key.view.ts';
import type { Caller } from './caller.ts';
import { createKey, descendsFrom, expiryFault } from './keys.ts';
import type { Scope } from './scopes.ts';

type KeyOperations = Pick<operations, 'listKeys' | 'createKey' | 'deleteKey'>;

export const keyHandlers: Handlers<KeyOperations> = {
  async listKeys({ query: { page, pageSize }, url }, { ask }) {
    const [keys, counted] = await ask(...selectPage(ApiKeyEntity, { orderBy: 'id desc', page, pageSize }));
    return { body: { data: keys.map(apiKeyView), ...pageOf(url, { page, pageSize, counted }) } };
  },

  async createKey({ body }, { caller, asUser }) {
    const expiresAt = body.expires_at === undefined ? ownExpiry(caller) : new Date(body.expires_at);
    refuseMoreThanHeld(caller, body.scopes, expiresAt);
    const { userId } = caller;
    const { key, row } = await asUser((em) =>
      createKey(em, { userId, name: body.name, scopes: body.scopes, expiresAt, madeBy: caller.key?.id ?? null }),
    );
    return { body: { data: { ...apiKeyView(row), key } }, createdId: row.id };
  },

  async deleteKey({ path }, { caller, asUser }) {
    await asUser(async (em) => {
      if (!(await em.findOne(ApiKeyEntity, path.id))) throw new NotFound();
      if (caller.key && !(await descendsFrom(em, path.id, caller.key.id))) {
        throw new Refusal(
          'not_your_key',
          'A key can delete itself and the keys that were made with it. Sign in to delete any key of yours.',
        );
      }
      // The foreign key takes along what it made.
      await em.nativeDelete(ApiKeyEntity, { id: path.id });
    });
    return { body: { id: path.id, object: 'key', deleted: true }, endsAccess: true };
  },
};

export const keyRules: Rules<KeyOperations> = {
  createKey({ expires_at }) {
    const fault = expires_at === undefined ? undefined : expiryFault(new Date(expires_at));
    return fault ? [{ in: 'body', pointer: '/expires_at', ...fault }] : [];
  },
};

function ownExpiry({ key }: Caller): Date | null {
  return key?.expiresAtMs == null ? null : new Date(key.expiresAtMs);
}

/** No key makes itself a stronger or longer-lived one. */
function refuseMoreThanHeld(caller: Caller, scopes: Scope[], expiresAt: Date | null) {
  const notHeld = scopes.filter((scope) => !caller.scopes.has(scope));
  if (notHeld.length > 0) {
    throw new Refusal(
      'scope_not_held',
      `The calling key does not hold ${notHeld.map((scope) => `"${scope}"`).join(', ')} and cannot hand out more than it holds.`,
    );
  }
  const own = ownExpiry(caller);
  if (own && (!expiresAt || expiresAt > own)) {
    throw new Refusal('expiry_beyond_own', `The calling key ends at ${own.toISOString()}, and what it makes can end no later.`);
  }
}
