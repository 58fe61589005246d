import { expect, test } from 'vitest';
import { downMessage, recoveredMessage, tlsExpiringMessage } from '../../../src/monitoring/alerts/alert-messages.ts';

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

test('a monitor without a URL has only its name', () => {
  const job = { ...outage, url: null };
  expect(downMessage(job).text).toBe('DOWN: Shop since 2026-11-09 03:00:05 UTC: HTTP 503');
  expect(recoveredMessage(job).text).toBe('UP: Shop is back after 1 h 5 min, at 2026-11-09 04:05:05 UTC');
});

test.each([
  [-3, 'expires in 3 d, at'],
  [0, 'expired at'],
  [2, 'expired at'],
])('a warning %i days after a certificate expires says that it %s this time', (days, text) => {
  const expiresAt = new Date(Date.UTC(2026, 10, 9));
  const now = new Date(expiresAt.getTime() + days * 86_400_000);
  expect(tlsExpiringMessage({ name: 'Shop', url: 'https://shop.example', expiresAt, now })).toEqual({
    subject: 'CERTIFICATE: Shop',
    text: `CERTIFICATE: the TLS certificate of Shop (https://shop.example) ${text} 2026-11-09 00:00:00 UTC`,
  });
});
