import { expect, test } from 'vitest';
import { downMessage, duration, recoveredMessage } from '../../../src/monitoring/alerts/alert-messages.ts';

const outage = {
  name: 'Shop',
  url: 'https://shop.example',
  cause: 'HTTP 503',
  startedAt: new Date(Date.UTC(2026, 10, 9, 3, 0, 5)),
  resolvedAt: new Date(Date.UTC(2026, 10, 9, 4, 5, 5)),
};

test('a down message contains name, URL, start and cause', () => {
  expect(downMessage(outage)).toEqual({
    subject: 'DOWN: Shop',
    text: 'DOWN: Shop (https://shop.example) since 2026-11-09 03:00:05 UTC: HTTP 503',
  });
});

test('a recovery message contains name, URL, duration and end', () => {
  expect(recoveredMessage(outage)).toEqual({
    subject: 'UP: Shop',
    text: 'UP: Shop (https://shop.example) is back after 1 h 5 min, at 2026-11-09 04:05:05 UTC',
  });
});

test.each([
  [-5000, '0 s'],
  [0, '0 s'],
  [499, '0 s'],
  [500, '1 s'],
  [59_499, '59 s'],
  [42_000, '42 s'],
  [60_000, '1 min'],
  [65_000, '1 min 5 s'],
  [3_599_000, '59 min 59 s'],
  [3_600_000, '1 h'],
  [3_605_000, '1 h'],
  [86_399_000, '23 h 59 min'],
  [90_061_000, '1 d 1 h'],
])('formats %i ms as %s', (ms, text) => {
  expect(duration(ms)).toBe(text);
});
