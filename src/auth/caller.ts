import { ProblemError } from '../errors.ts';
import type { Scope } from './scopes.ts';

/** The authenticated user, and the credential that the request carried. */
export interface Caller {
  userId: number;
  scopes: ReadonlySet<Scope>;
  key?: { id: number; expiresAtMs: number | null };
  session?: { id: number; createdAtMs: number; lastUsedAtMs: number };
}

/** The caller of a public operation. No row belongs to user 0. */
export const anonymous: Caller = { userId: 0, scopes: new Set() };

export function revokedCredential(kind: 'key' | 'session'): ProblemError {
  return kind === 'key'
    ? new ProblemError('invalid_key', 'The API key is unknown, expired or revoked.')
    : new ProblemError('invalid_session', 'The session is unknown or has expired. Sign in again.');
}

/** Whether a write failed because the caller's user or key was deleted during the request. */
export function isCallerDeleted(error: unknown): boolean {
  const { code, constraint = '' } = error as { code?: string; constraint?: string };
  return code === '23503' && /_user_id(_created_by)?_fkey$/.test(constraint);
}
