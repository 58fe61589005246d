// The compiler checks this file; it never runs. A map of handlers must contain every operation of the contract and no other.
import type { operations } from '../../generated/types/websites.ts';
import type { UserDatabase } from '../../src/db/user-database.ts';
import type { Handlers } from '../../src/http/operations.ts';
import { memoryLimiters } from '../../src/limits/limiters.ts';
import { websiteHandlers } from '../../src/websites/websites.handlers.ts';

const complete: Handlers<operations, UserDatabase> = websiteHandlers({ maxWebsites: 1, limiters: memoryLimiters() });

const { listWebsites, ...others } = complete;
// @ts-expect-error listWebsites is missing.
export const missing: Handlers<operations, UserDatabase> = { ...others };

// @ts-expect-error The contract has no such operation.
export const unknown: Handlers<operations, UserDatabase> = { ...complete, renameWebsite: listWebsites };

export const renamed: Handlers<operations, UserDatabase> = {
  ...complete,
  // @ts-expect-error The contract calls the field has_password.
  showWebsite: async () => ({ body: { data: { id: 1, hasPassword: false } } }),
};
