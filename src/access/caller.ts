/** Who is calling. */
export interface Caller {
  userId: number;
  /** The key used; absent for a session. */
  keyId?: number;
  scopes: ReadonlySet<string>;
}

/** Whoever calls what everybody may call. No row belongs to nobody. */
export const nobody: Caller = { userId: 0, scopes: new Set() };
