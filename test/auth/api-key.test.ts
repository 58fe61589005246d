import { expect, test } from 'vitest';
import { generateKey, hashKey, isWellFormedKey, prefixOf } from '../../src/auth/api-key.ts';

// The checksum of each was computed with another program: crc32 of the 30 characters in base62.
const keys = ['stkp_0123456789ABCDEFGHIJKLMNOPQRST4PMbyp', 'stkp_abcdefghijklmnopqrstuvwxyzEXAM0ja4hn'];
const [key = ''] = keys;

test.each(keys)('%s is a well-formed key', (wellFormed) => expect(isWellFormedKey(wellFormed)).toBe(true));

test.each([
  ['an empty text', ''],
  ['a key with one more character before it', `x${key}`],
  ['a key with one more character after it', `${key}x`],
  ['a key and a line break', `${key}\n`],
  ['a truncated key', key.slice(0, -1)],
  ['a key with another prefix', key.replace('stkp_', 'stkq_')],
  ['a key in upper case', key.toUpperCase()],
  ['a mistyped character', key.replace('9', '8')],
  ['two swapped characters', key.replace('AB', 'BA')],
  ['a mistyped checksum', `${key.slice(0, -1)}q`],
  ['a character outside of base62', key.replace('A', '-')],
])('%s is not a well-formed key', (_, text) => expect(isWellFormedKey(text)).toBe(false));

test('every generated key is well-formed, and different from the others', () => {
  const generated = Array.from({ length: 200 }, generateKey);
  expect(generated.filter((one) => !isWellFormedKey(one))).toEqual([]);
  expect(new Set(generated).size).toBe(200);
});

test('a key is stored as its SHA-256, so that keys of earlier versions stay valid', () => {
  expect(hashKey(key).toString('hex')).toBe('5a4333a286acb212796a25fa6357d9cc4059e4f7ab123aacdb863e0977679754');
});

test('the prefix that lists show has four of the random characters', () => {
  expect(prefixOf(key)).toBe('stkp_0123');
});
