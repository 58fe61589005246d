import { apiKeyView } from '../accounts/api-key.view.ts';
import { createKey } from '../accounts/keys.ts';
import type { Scope } from '../auth/scopes.ts';
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
