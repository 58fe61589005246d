import { createHash, randomInt } from 'node:crypto';
import type { components } from '../../../../generated/types/monitoring.ts';
import type { SecretCipher } from '../../../auth/secret-cipher.ts';
import type { CheckOptions, CheckTarget, StoredOptions } from '../check.ts';

type Sent = components['schemas']['HeartbeatOptionsUpdate'];
type Owner = Pick<CheckTarget, 'id' | 'userId'>;

/** The options as they are stored. The token is found by its hash, and encrypted because its owner can read it again. */
interface Stored {
  grace_seconds?: number;
  token?: { hash: string; encrypted: string };
}

const defaults = { grace_seconds: 60 };

/** Adds the defaults to stored options. */
export function withDefaults(stored: StoredOptions): Stored & typeof defaults {
  return { ...defaults, ...stored };
}

export const heartbeatOptions: CheckOptions = {
  errors: () => [],

  keepStatus: ['grace_seconds'],

  /** A monitor keeps its token until its type changes. */
  merge(sent: Sent, { monitor, stored, cipher }) {
    const { grace_seconds, token = newToken(monitor, cipher) } = { ...withDefaults(stored), ...sent };
    return { token, ...(grace_seconds !== defaults.grace_seconds && { grace_seconds }) };
  },

  view: (stored) => ({ grace_seconds: withDefaults(stored).grace_seconds }),
  unlisted: [],
};

const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const tokenLength = 32;

function newToken(monitor: Owner, cipher: SecretCipher) {
  const token = Array.from({ length: tokenLength }, () => alphabet[randomInt(alphabet.length)]).join('');
  return { hash: hashToken(token), encrypted: cipher.encrypt(token, locationOf(monitor)) };
}

/** A token has 190 random bits, so an unsalted hash cannot be reversed by guessing. */
export function hashToken(token: string): string {
  return createHash('sha256').update(token).digest('hex');
}

/** Returns the token of a monitor. */
export function tokenOf(monitor: Owner & { settings: StoredOptions }, cipher: SecretCipher): string {
  return cipher.decrypt(withDefaults(monitor.settings).token?.encrypted ?? '', locationOf(monitor));
}

function locationOf({ userId, id }: Owner) {
  return { userId, table: 'monitors', row: id, field: 'token' };
}
