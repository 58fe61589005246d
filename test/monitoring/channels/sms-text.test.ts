import { expect, test } from 'vitest';
import { fitOneSegment } from '../../../src/monitoring/channels/sms/sms-text.ts';

const longText = 'Your website shop.example.com has been down since 10:00 and does not respond: ';

test('keeps 160 characters of the GSM alphabet and truncates 161', () => {
  expect(fitOneSegment('ä'.repeat(160))).toBe('ä'.repeat(160));
  expect(fitOneSegment('ä'.repeat(161))).toBe(`${'ä'.repeat(157)}...`);
});

test('counts characters of the extended alphabet twice', () => {
  expect(fitOneSegment('€'.repeat(80))).toBe('€'.repeat(80));
  expect(fitOneSegment('€'.repeat(81))).toBe(`${'€'.repeat(78)}...`);
});

test('keeps 70 other characters and truncates 71', () => {
  expect(fitOneSegment('ж'.repeat(70))).toBe('ж'.repeat(70));
  expect(fitOneSegment('ж'.repeat(71))).toBe(`${'ж'.repeat(69)}…`);
  expect(fitOneSegment('🛒 Shop – “down”')).toBe('🛒 Shop – “down”');
});

test('simplifies characters outside the GSM alphabet if the text is too long otherwise', () => {
  expect(fitOneSegment(`🛒 Acme™ – “Brașov”… ${longText}`)).toBe(`Acme - "Brasov"... ${longText}`);
  expect(fitOneSegment(`Cafe\u0301 ${longText}`)).toBe(`Café ${longText}`);
});

test('never splits a character that consists of several code points', () => {
  const truncated = fitOneSegment(`${'ж'.repeat(67)}👩‍👩‍👧‍👦${'ж'.repeat(50)}`);
  expect(truncated).toBe(`${'ж'.repeat(67)}…`);
});
