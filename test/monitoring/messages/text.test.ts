import { expect, test } from 'vitest';
import { joinText, plainText, utcText } from '../../../src/monitoring/messages/text.ts';

const now = new Date('2026-11-15T12:00:00Z');
const [from, to] = [new Date('2026-11-15T01:41:07Z'), new Date('2026-11-15T02:04:18Z')];

test('a time in UTC has the day, a second one of the same day has not, and UTC comes once', () => {
  expect(utcText(['From ', from, ' to ', to, '.'], { now })).toBe('From Sun 15 Nov, 01:41 to 02:04 UTC.');
});

test('times of different days each have their day', () => {
  expect(utcText([from, ' to ', new Date('2026-11-16T02:04:18Z')], { now })).toBe('Sun 15 Nov, 01:41 to Mon 16 Nov, 02:04 UTC');
});

test('a day of another year has the year', () => {
  expect(utcText([new Date('2027-02-03T12:59:00Z')], { now })).toBe('Wed 3 Feb 2027, 12:59 UTC');
});

test('times have seconds if they are asked for', () => {
  expect(utcText([from], { now, withSeconds: true })).toBe('Sun 15 Nov, 01:41:07 UTC');
});

test('only the text is encoded, not the times', () => {
  expect(joinText(['<', from, '>'], () => '<time>', encodeURIComponent)).toBe('%3C<time>%3E');
});

test.each([
  ['control characters and line breaks', 'a\r\n\tb\u0000c\u0085d', 'a b c d'],
  ['characters that change the direction of writing', '\u202eabc\u2066\u2069\u200e\u200f\u061c', 'abc'],
  ['private characters', 'a\ue000b', 'ab'],
  ['half a character', 'a\ud83db', 'ab'],
  ['spaces around it', '  a  ', 'a'],
])('a plain text has no %s', (_, text, plain) => {
  expect(plainText(text)).toBe(plain);
});

test.each(['👩‍👩‍👧', 'नमस्‍ते', 'محمد', 'Łódź'])('a plain text keeps %s', (text) => {
  expect(plainText(text)).toBe(text);
});
