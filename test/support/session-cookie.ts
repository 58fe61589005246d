import { expect } from 'vitest';

const maxAgeMs = 30 * 24 * 3600 * 1000;

/** Expects exactly one cookie, which looks as described and has just been set for 30 days. */
export function expectCookie(headers: Headers, format: RegExp) {
  const [cookie = '', ...others] = headers.getSetCookie();
  expect(others).toEqual([]);
  expect(cookie).toMatch(format);
  const [, expires = ''] = /expires=([^;]+)/.exec(cookie) ?? [];
  const ageMs = Date.now() + maxAgeMs - Date.parse(expires);
  expect(ageMs).toBeGreaterThanOrEqual(0);
  expect(ageMs).toBeLessThan(60_000);
}
