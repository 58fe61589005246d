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

test('decrypts an empty secret', () => {
  const cipher = new SecretCipher([newerKey]);
  expect(cipher.decrypt(cipher.encrypt('', location), location)).toBe('');
});

test('decrypts what an earlier version has stored', () => {
  const stored = 'v1.01e58bbd.zNp8n93unQ1ihwJO-vw99vFK7L6wEkj5qO39uW6aAKmA4zAdjIy-a8w';
  expect(new SecretCipher([Buffer.alloc(32, 7)]).decrypt(stored, location)).toBe('123456:töken');
});

test('stores which version and which key encrypted a secret', () => {
  expect(new SecretCipher([Buffer.alloc(32, 7)]).encrypt('secret', location)).toMatch(/^v1\.01e58bbd\.[\w-]+$/);
});

test('knows the ids of its keys, and which of them encrypts', () => {
  const cipher = new SecretCipher([newerKey, olderKey]);
  const ids = [newerKey, olderKey].map((key) => new SecretCipher([key]).newestKey);
  expect(cipher.newestKey).toBe(ids[0]);
  expect(ids.map((id) => cipher.hasKey(id))).toEqual([true, true]);
  expect(cipher.hasKey(new SecretCipher([randomBytes(32)]).newestKey)).toBe(false);
});

test('requires a key', () => expect(() => new SecretCipher([])).toThrow(new Error('There is no secret key.')));

test('cannot decrypt a secret that was changed', () => {
  const cipher = new SecretCipher([newerKey]);
  const encrypted = cipher.encrypt('secret', location);
  const start = encrypted.lastIndexOf('.') + 1;
  for (const index of [start, start + 20, encrypted.length - 2]) {
    const other = encrypted[index] === 'A' ? 'B' : 'A';
    expect(() => cipher.decrypt(encrypted.slice(0, index) + other + encrypted.slice(index + 1), location)).toThrow();
  }
  expect(() => cipher.decrypt(encrypted.slice(0, -8), location)).toThrow();
});

test.each<[string, (encrypted: string) => string]>([
  ['an empty text', () => ''],
  ['a text without dots', () => 'plain'],
  ['only a version', () => 'v1'],
  ['a version and a key', (encrypted) => encrypted.slice(0, encrypted.lastIndexOf('.'))],
  ['another version', (encrypted) => encrypted.replace('v1', 'v2')],
  ['a secret without a version', (encrypted) => encrypted.replace('v1', '')],
  ['less than an initialization vector and a tag', (encrypted) => encrypted.slice(0, -2)],
])('rejects %s as something that is not an encrypted secret', (_, change) => {
  const cipher = new SecretCipher([newerKey]);
  const text = change(cipher.encrypt('', location));
  expect(() => cipher.decrypt(text, location)).toThrow(new Error('This is not an encrypted secret.'));
});
