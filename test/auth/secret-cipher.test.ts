import { randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { SecretCipher } from '../../src/auth/secret-cipher.ts';

const place = { userId: 1, table: 'providers', row: 7, field: 'token' };
const [older, newer] = [randomBytes(32), randomBytes(32)];

test('a secret can be read again, is nowhere to be seen, and is sealed differently each time', () => {
  const cipher = new SecretCipher([newer]);
  const sealed = cipher.encrypt('123456:töken', place);
  expect(sealed).not.toContain('123456');
  expect(cipher.encrypt('123456:töken', place)).not.toBe(sealed);
  expect(cipher.decrypt(sealed, place)).toBe('123456:töken');
});

test('with a new key in front, what the old one sealed stays readable; without the old one it does not', () => {
  const sealed = new SecretCipher([older]).encrypt('secret', place);
  expect(new SecretCipher([newer, older]).decrypt(sealed, place)).toBe('secret');
  expect(new SecretCipher([newer, older]).encrypt('secret', place).split('.')[1]).not.toBe(sealed.split('.')[1]);
  expect(() => new SecretCipher([newer]).decrypt(sealed, place)).toThrow(/not in SECRET_KEY/);
});

test.each([
  ['user', { ...place, userId: 2 }],
  ['table', { ...place, table: 'websites' }],
  ['row', { ...place, row: 8 }],
  ['field', { ...place, field: 'webhook_url' }],
])('a secret moved to another %s cannot be read', (_, elsewhere) => {
  const cipher = new SecretCipher([newer]);
  expect(() => cipher.decrypt(cipher.encrypt('secret', place), elsewhere)).toThrow();
});

test('a secret that was tampered with, cut or made up cannot be read', () => {
  const cipher = new SecretCipher([newer]);
  const sealed = cipher.encrypt('secret', place);
  const flipped = sealed.slice(0, -2) + (sealed.at(-2) === 'A' ? 'B' : 'A') + sealed.at(-1);
  for (const bad of [flipped, sealed.slice(0, -8), '', 'v1', 'v2.x.y', 'plain']) expect(() => cipher.decrypt(bad, place)).toThrow();
});
