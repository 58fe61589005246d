import type { Database } from '../db/database.ts';
import { Refusal } from '../errors.ts';
import { hashKey, isWellFormedKey } from './api-key.ts';
import type { Caller } from './caller.ts';

interface Credentials {
  /** Every Authorization header as sent. */
  authorization: string[];
  /** Whether the operation takes keys at all, or only a session. */
  takesKeys: boolean;
}

interface FoundKey {
  id: number;
  user_id: number;
  scopes: string[];
  /** A number, because the drivers return times in different forms. */
  expires_at_ms: number | null;
}

/** Who the credentials belong to; refuses with unauthenticated or invalid_key. */
export async function authenticate({ authorization, takesKeys }: Credentials, database: Database, now = Date.now()): Promise<Caller> {
  if (!takesKeys) throw new Refusal('unauthenticated', 'This works only for a signed-in user. Sign in with POST /api/session.');
  if (authorization.length === 0) {
    throw new Refusal('unauthenticated', 'Send an API key in the header "Authorization: Bearer <API_KEY>", or sign in.');
  }
  const [, key = ''] = /^Bearer +(\S+) *$/i.exec(authorization.length === 1 ? (authorization[0] ?? '') : '') ?? [];
  if (!isWellFormedKey(key)) throw new Refusal('invalid_key', 'The Authorization header does not hold one well-formed API key.');
  const [found] = await database.atTheDoor((em) => em.execute<FoundKey[]>('select * from door_find_api_key(?)', [hashKey(key)]));
  if (!found || (found.expires_at_ms !== null && found.expires_at_ms <= now)) {
    throw new Refusal('invalid_key', 'The API key is unknown, expired or revoked.');
  }
  return { userId: found.user_id, keyId: found.id, scopes: new Set(found.scopes) };
}
