import { Refusal } from '../errors.ts';
import type { Scope } from './scopes.ts';

/** Who is calling. */
export interface Caller {
  userId: number;
  scopes: ReadonlySet<Scope>;
  /** The key used, and when it stops working. */
  key?: { id: number; expiresAtMs: number | null };
  /** The session used instead of a key. */
  session?: { id: number; createdAtMs: number; lastUsedAtMs: number };
}

/** Whoever calls what everybody may call. No row belongs to nobody. */
export const nobody: Caller = { userId: 0, scopes: new Set() };

export function endedAccess(by: 'key' | 'session'): Refusal {
  return by === 'key'
    ? new Refusal('invalid_key', 'The API key is unknown, expired or revoked.')
    : new Refusal('invalid_session', 'The session is unknown or has ended. Sign in again.');
}

/** Whether the caller's user or key was deleted while the request ran: what it writes has nobody left to belong to. */
export function isAccessEnded(error: unknown): boolean {
  const { code, constraint = '' } = error as { code?: string; constraint?: string };
  return code === '23503' && /_user_id(_made_by)?_fkey$/.test(constraint);
}
