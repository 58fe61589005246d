import { describe, expect, test } from 'vitest';
import { LinkSigner } from '../../src/auth/link-signer.ts';

const [oldKey, newKey] = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)];
const subject = [5, 'ops@example.com'] as const;
const signer = new LinkSigner([oldKey]);
const signature = signer.sign('confirm', ...subject);

test('a signature is 43 characters of base64url and holds for what was signed', () => {
  expect(signature).toMatch(/^[\w-]{43}$/);
  expect(signer.verify(signature, 'confirm', ...subject)).toBe(true);
});

describe('a signature does not hold for', () => {
  test.each<[string, string, (string | number)[]]>([
    ['another purpose', 'unsubscribe', [...subject]],
    ['another id', 'confirm', [6, 'ops@example.com']],
    ['another address', 'confirm', [5, 'ops@example.org']],
    ['the same text in other parts', 'confirm', ['5,ops@example.com']],
    ['less', 'confirm', [5]],
  ])('%s', (_, purpose, other) => {
    expect(signer.verify(signature, purpose, ...other)).toBe(false);
  });
});

test.each([
  ['an empty one', ''],
  ['a part of it', signature.slice(1)],
  ['more than it', `${signature}A`],
  ['characters of several bytes', '監'.repeat(43)],
  ['a changed character', `${signature[0] === 'A' ? 'B' : 'A'}${signature.slice(1)}`],
])('rejects %s', (_, given) => {
  expect(signer.verify(given, 'confirm', ...subject)).toBe(false);
});

test('the newest key signs, and every key verifies until it is removed', () => {
  const rotated = new LinkSigner([newKey, oldKey]);
  expect(rotated.verify(signature, 'confirm', ...subject)).toBe(true);
  const latest = rotated.sign('confirm', ...subject);
  expect(signer.verify(latest, 'confirm', ...subject)).toBe(false);
  const withoutOld = new LinkSigner([newKey]);
  expect(withoutOld.verify(latest, 'confirm', ...subject)).toBe(true);
  expect(withoutOld.verify(signature, 'confirm', ...subject)).toBe(false);
});
