import { expect, test } from 'vitest';
import { newSessionToken, sessionExpiresAtMs, sessionMaxAgeSeconds } from '../../src/auth/session.ts';

const day = 86_400_000;

test.each([
  ['after 7 days, if it is never used', 0, 7],
  ['7 days after the last use', 10, 17],
  ['7 days after the last use, which is also 30 days after it was created', 23, 30],
  ['30 days after it was created, if it is used later than that minus 7 days', 24, 30],
  ['30 days after it was created, if it is used until then', 30, 30],
])('a session expires %s', (_, lastUsedDay, expiryDay) => {
  const createdAtMs = 1_000_000;
  expect(sessionExpiresAtMs({ createdAtMs, lastUsedAtMs: createdAtMs + lastUsedDay * day })).toBe(createdAtMs + expiryDay * day);
});

test('the cookie of a session lasts 30 days', () => expect(sessionMaxAgeSeconds).toBe(2_592_000));

test('every token has 32 random bytes in the characters that a cookie can contain', () => {
  const tokens = Array.from({ length: 100 }, newSessionToken);
  expect(tokens.filter((token) => !/^[A-Za-z0-9_-]{43}$/.test(token))).toEqual([]);
  expect(new Set(tokens).size).toBe(100);
});
