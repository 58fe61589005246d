import { ApiKeyEntity } from '../accounts/api-key.entity.ts';
import { apiKeyView } from '../accounts/api-key.view.ts';
import { createKey } from '../accounts/keys.ts';
import { type KeyFilter, type ListedKey, listKeys } from '../accounts/operator-queries.ts';
import { hashKey, isWellFormedKey, prefixOf } from '../auth/api-key.ts';
import type { Scope } from '../auth/scopes.ts';
import { OperatorError } from '../errors.ts';
import type { Command } from './command.ts';
import { requireUser } from './users.ts';

interface NewKeyInput {
  user: string;
  name: string;
  scopes: Scope[];
  /** An RFC 3339 time. */
  expiresAt?: string;
}

/** The output contains the key itself, which is not stored. */
export const createKeyCommand: Command<NewKeyInput, ReturnType<typeof apiKeyView> & { key: string }> = async (context, input) => {
  const { name, scopes } = input;
  const userId = await requireUser(context, input.user);
  const expiresAt = input.expiresAt === undefined ? null : new Date(input.expiresAt);
  const { key, row } = await context.database.asUser(userId, (em) => createKey(em, { userId, name, scopes, expiresAt }));
  return { ...apiKeyView(row), key };
};

/** Returns a page of keys, of one user or of all. The next page begins after the last id. */
export const listKeysCommand: Command<{ after: number; user?: string }, ListedKey[]> = async (context, { after, user }) =>
  listKeys(context.database, after, { userId: user === undefined ? undefined : await requireUser(context, user) });

interface RevokedKey extends Pick<ListedKey, 'id' | 'prefix' | 'user' | 'name'> {
  /** The number of keys that were revoked: this one and those created with it, directly or indirectly. */
  revoked: number;
}

/** Revokes a key, found by its id, its prefix or the key itself. */
export const revokeKeyCommand: Command<{ key: string }, RevokedKey> = async ({ database }, { key: text }) => {
  const [key, ...others] = await listKeys(database, 0, filterFor(text));
  if (!key) throw new OperatorError(`There is no key ${describe(text)}.`);
  if (others.length > 0) {
    const found = [key, ...others].map(({ id, user }) => `${id} (${user})`).slice(0, maxListed);
    throw new OperatorError(`${others.length + 1} keys have the prefix ${text}. Revoke one by its id: ${found.join(', ')}.`);
  }
  const revoked = await database.asUser(key.user_id, async (em) => {
    const before = await em.count(ApiKeyEntity);
    // The foreign key deletes the keys created with it.
    await em.nativeDelete(ApiKeyEntity, { id: key.id });
    return before - (await em.count(ApiKeyEntity));
  });
  return { id: key.id, prefix: key.prefix, user: key.user, name: key.name, revoked };
};

/** How many keys with the same prefix are listed. */
const maxListed = 20;

function filterFor(text: string): KeyFilter {
  if (isWellFormedKey(text)) return { hash: hashKey(text).toString('hex') };
  return /^\d{1,15}$/.test(text) ? { id: Number(text) } : { prefix: text };
}

/** A whole key is a secret, so a message contains only its prefix. */
function describe(text: string): string {
  if (isWellFormedKey(text)) return `that begins with ${prefixOf(text)} and equals the given one`;
  return /^\d{1,15}$/.test(text) ? `with the id ${text}` : `with the prefix ${text}`;
}
