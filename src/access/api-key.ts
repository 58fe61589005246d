import { createHash, randomInt } from 'node:crypto';
import { crc32 } from 'node:zlib';

// stkp_ + 30 random characters + 6 of checksum, all base62: secret scanners know the prefix, and a mistyped or cut key
// is told from a real one without asking the database.

const digits = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const form = /^stkp_([0-9A-Za-z]{30})([0-9A-Za-z]{6})$/;

export function generateKey(): string {
  const random = Array.from({ length: 30 }, () => digits[randomInt(digits.length)]).join('');
  return `stkp_${random}${checksum(random)}`;
}

export function isWellFormedKey(key: string): boolean {
  const [, random = '', sum] = form.exec(key) ?? [];
  return sum !== undefined && checksum(random) === sum;
}

/** What is stored. A key has 178 random bits, so a plain hash cannot be turned back by guessing. */
export function hashKey(key: string): Buffer {
  return createHash('sha256').update(key).digest();
}

/** What a list shows of a key, enough to recognise it by. */
export function prefixOf(key: string): string {
  return key.slice(0, 'stkp_'.length + 4);
}

function checksum(random: string): string {
  let rest = crc32(random);
  let sum = '';
  for (let place = 0; place < 6; place++) {
    sum = digits[rest % digits.length] + sum;
    rest = Math.floor(rest / digits.length);
  }
  return sum;
}
