import { describe, expect, test } from 'vitest';
import type { ProviderType } from '../../../src/monitoring/channels/channel.ts';
import { parseRetryAfter } from '../../../src/monitoring/channels/post.ts';
import { quoteSafely } from '../../../src/monitoring/channels/redact.ts';
import { webhookError } from '../../../src/monitoring/channels/slack.ts';
import { fitOneSegment } from '../../../src/monitoring/channels/sms-text.ts';
import { testMessage } from '../../../src/monitoring/channels/test-message.ts';

test.each<[ProviderType, string]>([
  ['email', '🔔 Test notification '],
  ['slack', '🔔 Test notification '],
  ['telegram', '🔔 Test notification '],
  ['sms', 'Test notification '],
])('the test message for %s begins with %j', (type, beginning) => {
  expect(testMessage(type).text.startsWith(beginning)).toBe(true);
  expect(testMessage(type).id).not.toBe(testMessage(type).id);
});

describe('webhooks', () => {
  const hosts = ['hooks.slack.com', 'chat.example.com'];

  test.each(['https://hooks.slack.com/services/T/B/x', 'https://HOOKS.slack.com/anything', 'https://chat.example.com:8443/hooks/x'])(
    '%s passes',
    (url) => expect(webhookError(url, hosts)).toBeUndefined(),
  );

  test.each([
    'http://hooks.slack.com/services/T/B/x',
    'https://hooks.slack.com.evil.example/services',
    'https://hooks.slack.com@evil.example/services',
    'https://evil.example/hooks.slack.com',
    'https://evil.example\\@hooks.slack.com/',
    'https://sub.hooks.slack.com/',
    'https://127.0.0.1/',
    'https://hooks.slack.com/a b',
    'hooks.slack.com/services',
    '',
  ])('%j is refused', (url) => expect(webhookError(url, hosts)).toBe('must be an https URL on hooks.slack.com or chat.example.com'));

  test('a user name is refused', () =>
    expect(webhookError('https://me@hooks.slack.com/', hosts)).toBe('must not hold a user name or password'));
});

describe('one segment of an SMS', () => {
  const long = 'Your website shop.example.com has been down since 10:00 and does not answer: ';

  test('160 signs of GSM fit as they are, 161 are cut', () => {
    expect(fitOneSegment('ä'.repeat(160))).toBe('ä'.repeat(160));
    expect(fitOneSegment('ä'.repeat(161))).toBe(`${'ä'.repeat(157)}...`);
  });

  test('signs of the extension take two places', () => {
    expect(fitOneSegment('€'.repeat(80))).toBe('€'.repeat(80));
    expect(fitOneSegment('€'.repeat(81))).toBe(`${'€'.repeat(78)}...`);
  });

  test('70 other signs fit as they are', () => {
    expect(fitOneSegment('ж'.repeat(70))).toBe('ж'.repeat(70));
    expect(fitOneSegment('ж'.repeat(71))).toBe(`${'ж'.repeat(69)}…`);
    expect(fitOneSegment('🛒 Shop – “down”')).toBe('🛒 Shop – “down”');
  });

  test('in a longer text signs become plain where that makes room', () => {
    expect(fitOneSegment(`🛒 Acme™ – “Brașov”… ${long}`)).toBe(`Acme - "Brasov"... ${long}`);
    expect(fitOneSegment(`Cafe\u0301 ${long}`)).toBe(`Café ${long}`);
  });

  test('a text that cannot become plain is cut with whole characters', () => {
    const cut = fitOneSegment(`${'ж'.repeat(67)}👩‍👩‍👧‍👦${'ж'.repeat(50)}`);
    expect(cut).toBe(`${'ж'.repeat(67)}…`);
  });
});

describe('what the other side said', () => {
  test('is on one line, without control characters, and cut', () => {
    expect(quoteSafely(' a\r\n\tb\u0000c\u202ed. ', [])).toBe('a b c d');
    expect(quoteSafely('x'.repeat(300), [])).toBe(`${'x'.repeat(199)}…`);
  });

  test('a secret across the cut does not show in part', () => {
    expect(quoteSafely(`${'x'.repeat(190)} secret-secret-secret`, ['secret-secret-secret'])).toBe(`${'x'.repeat(190)} ****`);
  });

  test('pages are left out', () => expect(quoteSafely('\n<!DOCTYPE html><h1>Oops</h1>', [])).toBe(''));
});

test.each([
  [undefined, undefined],
  ['0', 1],
  ['120', 120],
  ['Sun, 15 Nov 2026 10:00:30 GMT', 30],
  ['-5', undefined],
  ['later', undefined],
])('Retry-After %j is %j seconds', (header, seconds) => expect(parseRetryAfter(header, Date.parse('2026-11-15T10:00:00Z'))).toBe(seconds));
