import { expect, test } from 'vitest';
import { downMessage, duration, recoveredMessage } from '../../../src/monitoring/alerts/alert-messages.ts';
import { retryDelaySeconds } from '../../../src/monitoring/alerts/dispatcher.ts';
import { DeliveryFailed } from '../../../src/monitoring/channels/channel.ts';

const outage = {
  name: 'Shop',
  url: 'https://shop.example',
  cause: 'HTTP 503',
  startedAtMs: Date.UTC(2026, 10, 9, 3, 0, 5),
  resolvedAtMs: Date.UTC(2026, 10, 9, 4, 5, 5),
};

test('an alert says what is down, since when and why; the recovery how long it was', () => {
  expect(downMessage(outage)).toEqual({
    subject: 'DOWN: Shop',
    text: 'DOWN: Shop (https://shop.example) since 2026-11-09 03:00:05 UTC: HTTP 503',
  });
  expect(recoveredMessage(outage)).toEqual({
    subject: 'UP: Shop',
    text: 'UP: Shop (https://shop.example) is back after 1 h 5 min, at 2026-11-09 04:05:05 UTC',
  });
});

test.each([
  [0, '0 s'],
  [42_000, '42 s'],
  [60_000, '1 min'],
  [65_000, '1 min 5 s'],
  [3_600_000, '1 h'],
  [90_061_000, '1 d 1 h'],
])('%i ms is %s', (ms, text) => {
  expect(duration(ms)).toBe(text);
});

test('the pause between attempts grows from 1 second to 15 minutes, and is never shorter than asked for', () => {
  const pauses = [1, 2, 3, 8, 11, 50].map((attempt) => retryDelaySeconds(attempt, undefined, 0.5));
  expect(pauses).toEqual([1, 2, 4, 128, 900, 900]);
  expect(retryDelaySeconds(1, undefined, 0)).toBe(0.75);
  expect(retryDelaySeconds(1, undefined, 1)).toBe(1.25);
  expect(retryDelaySeconds(1, new DeliveryFailed('Slow down.', { permanent: false, retryAfterSeconds: 30 }), 0.5)).toBe(30);
});
