import { createHash, randomInt } from 'node:crypto';
import { crc32 } from 'node:zlib';

// A key is `stkp_`, 30 random base62 characters and a 6-character checksum. Secret scanners recognize the prefix, and the
// checksum exposes a mistyped or truncated key without a query.

const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const format = /^stkp_([0-9A-Za-z]{30})([0-9A-Za-z]{6})$/;

export function generateKey(): string {
  const random = Array.from({ length: 30 }, () => alphabet[randomInt(alphabet.length)]).join('');
  return `stkp_${random}${checksum(random)}`;
}

export function isWellFormedKey(key: string): boolean {
  const [, random = '', sum] = format.exec(key) ?? [];
  return checksum(random) === sum;
}

/** Only the hash is stored. A key has 178 random bits, so an unsalted hash cannot be reversed by guessing. */
export function hashKey(key: string): Buffer {
  return createHash('sha256').update(key).digest();
}

/** Lists show only the prefix, which is enough to recognize a key. */
export function prefixOf(key: string): string {
  return key.slice(0, 'stkp_'.length + 4);
}

function checksum(random: string): string {
  let rest = crc32(random);
  let sum = '';
  for (let position = 0; position < 6; position++) {
    sum = alphabet[rest % alphabet.length] + sum;
    rest = Math.floor(rest / alphabet.length);
  }
  return sum;
}
