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
