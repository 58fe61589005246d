import { randomBytes } from 'node:crypto';

const day = 24 * 3600 * 1000;

/** A session expires after 7 days without use, and after 30 days in any case. */
export function sessionExpiresAtMs(session: { createdAtMs: number; lastUsedAtMs: number }): number {
  return Math.min(session.lastUsedAtMs + 7 * day, session.createdAtMs + 30 * day);
}

export const sessionMaxAgeSeconds = (30 * day) / 1000;

export function newSessionToken(): string {
  return randomBytes(32).toString('base64url');
}
