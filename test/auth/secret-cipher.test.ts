import { randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { SecretCipher } from '../../src/auth/secret-cipher.ts';

const location = { userId: 1, table: 'providers', row: 7, field: 'token' };
const [olderKey, newerKey] = [randomBytes(32), randomBytes(32)];

test('decrypts what it encrypted, and encrypts the same secret differently each time', () => {
  const cipher = new SecretCipher([newerKey]);
  const encrypted = cipher.encrypt('123456:töken', location);
  expect(encrypted).not.toContain('123456');
  expect(cipher.encrypt('123456:töken', location)).not.toBe(encrypted);
  expect(cipher.decrypt(encrypted, location)).toBe('123456:töken');
});

test('encrypts with the first key, and decrypts with any key that is still listed', () => {
  const encrypted = new SecretCipher([olderKey]).encrypt('secret', location);
  const cipher = new SecretCipher([newerKey, olderKey]);
  const keyId = (text: string) => text.split('.')[1];
  expect(cipher.decrypt(encrypted, location)).toBe('secret');
  expect(keyId(cipher.encrypt('secret', location))).not.toBe(keyId(encrypted));
  expect(() => new SecretCipher([newerKey]).decrypt(encrypted, location)).toThrow(
    `The secret was encrypted with the key ${keyId(encrypted)}, which is not in SECRET_KEY.`,
  );
});

test.each([
  ['user', { ...location, userId: 2 }],
  ['table', { ...location, table: 'websites' }],
  ['row', { ...location, row: 8 }],
  ['field', { ...location, field: 'webhook_url' }],
])('cannot decrypt a secret that was moved to another %s', (_, otherLocation) => {
  const cipher = new SecretCipher([newerKey]);
  expect(() => cipher.decrypt(cipher.encrypt('secret', location), otherLocation)).toThrow();
});

test('cannot decrypt a secret that was changed, truncated or invented', () => {
  const cipher = new SecretCipher([newerKey]);
  const encrypted = cipher.encrypt('secret', location);
  const changed = encrypted.slice(0, -2) + (encrypted.at(-2) === 'A' ? 'B' : 'A') + encrypted.at(-1);
  for (const invalid of [changed, encrypted.slice(0, -8), '', 'v1', 'v2.x.y', 'plain']) {
    expect(() => cipher.decrypt(invalid, location)).toThrow();
  }
});
