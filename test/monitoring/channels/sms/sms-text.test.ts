import { describe, expect, test } from 'vitest';
import { fitOneSegment } from '../../../../src/monitoring/channels/sms/sms-text.ts';

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
});

test('keeps up to 70 characters as they are, even if they could be simplified', () => {
  expect(fitOneSegment('🛒 Shop –  “down”')).toBe('🛒 Shop –  “down”');
  expect(fitOneSegment('–'.repeat(70))).toBe('–'.repeat(70));
  expect(fitOneSegment('–'.repeat(71))).toBe('-'.repeat(71));
});

test('keeps the spaces of a text that needs no other change', () => {
  expect(fitOneSegment(`  Two  spaces: ${longText}`)).toBe(`  Two  spaces: ${longText}`);
});

describe('a text that is too long otherwise is simplified', () => {
  test.each([
    ['a dropped emoji and other characters outside the GSM alphabet', '🛒 Acme™ – “Brașov”…', 'Acme - "Brasov"...'],
    ['double quotes', '“a” „b”', '"a" "b"'],
    ['single quotes', '‘a’', "'a'"],
    ['dashes', 'a – b — c', 'a - b - c'],
    ['an ellipsis', 'a…', 'a...'],
    ['a bullet', '• a', '- a'],
    ['an arrow', 'a → b', 'a -> b'],
    ['a letter with an accent that the alphabet lacks', 'ș', 's'],
    ['a letter and an accent that the alphabet has as one letter', 'Cafe\u0301', 'Café'],
    ['a ligature', 'ﬁx', 'fix'],
    ['a space instead of the two around an emoji', 'a 🛒 b', 'a b'],
    ['an emoji with a skin tone', 'a 👍🏽', 'a'],
    ['a flag', 'a 🇩🇪 b', 'a b'],
    ['an emoji of several people', 'a 👩‍👩‍👧‍👦 b', 'a b'],
    ['an invisible character', 'a\u200bb', 'ab'],
  ])('%s: %s', (_, text, simplified) => {
    expect(fitOneSegment(`${text} ${longText}`)).toBe(`${simplified} ${longText}`);
  });
});

test('keeps every character of the GSM alphabet', () => {
  const alphabet = '@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞÆæßÉ !"#¤%&\'()*+,-./09:;<=>?¡AZÄÖÑÜ§¿azäöñüà^{}\\[~]|€';
  expect(fitOneSegment(alphabet)).toBe(alphabet);
  expect(fitOneSegment(`…${alphabet}`)).toBe(`...${alphabet}`);
});

test('never splits a character that consists of several code points', () => {
  const truncated = fitOneSegment(`${'ж'.repeat(67)}👩‍👩‍👧‍👦${'ж'.repeat(50)}`);
  expect(truncated).toBe(`${'ж'.repeat(67)}…`);
});
