import { describe, expect, test } from 'vitest';
import { quoteSafely, secretsOfWebhook, truncate } from '../../../src/monitoring/channels/redact.ts';

describe('a quoted response', () => {
  test.each([
    ['is one line', ' a\r\n\tb\n\n', 'a b'],
    ['has no control characters', 'a\u0000b', 'a b'],
    ['has no invisible characters, which could reverse the text', 'a\u202eb', 'a b'],
    ['has no characters for private use', 'a\ue000b', 'a b'],
    ['has no halves of characters', 'a\ud800b', 'a b'],
    ['has one space instead of several of these', 'a \u0000\u202e b', 'a b'],
    ['loses its final full stop, because a sentence goes on after it', 'Not found.', 'Not found'],
    ['keeps other full stops', 'api.example.com failed. Try again', 'api.example.com failed. Try again'],
    ['keeps < behind other text', 'expected a < b', 'expected a < b'],
    ['is empty if it is an HTML page', '<!DOCTYPE html><h1>Oops</h1>', ''],
    ['is empty if it is an HTML page after empty lines', '\n \n<html>', ''],
    ['can have 200 characters', 'x'.repeat(200), 'x'.repeat(200)],
    ['is truncated if it has 201 characters', 'x'.repeat(201), `${'x'.repeat(199)}…`],
  ])('%s', (_, text, quote) => {
    expect(quoteSafely(text, [])).toBe(quote);
  });

  test.each([
    ['a secret, each time', 'abc and abc', ['abc'], '**** and ****'],
    ['a secret in another case', 'ABC', ['abc'], '****'],
    ['a secret that is percent-encoded', 'token a%2Fb%3Ac', ['a/b:c'], 'token ****'],
    ['a secret in base64', 'token YS9iOmM=', ['a/b:c'], 'token ****'],
    ['several secrets', 'abc and xyz', ['abc', 'xyz'], '**** and ****'],
    ['a secret that contains another, as a whole', 'token abcdef', ['abc', 'abcdef'], 'token ****'],
    ['a secret that contains a later one, as a whole', 'token abcdef', ['abcdef', 'abc'], 'token ****'],
    ['a secret with the characters of a pattern', 'token a.b*c(d', ['a.b*c(d'], 'token ****'],
    ['secrets that overlap', 'token abcdefgh.', ['abcd', 'cdefgh'], 'token ****'],
    ['secrets that follow each other', 'abcxyz', ['abc', 'xyz'], '********'],
  ])('does not contain %s', (_, text, secrets, quote) => {
    expect(quoteSafely(text, secrets)).toBe(quote);
  });

  test.each([
    ['an empty secret', 'no token', ['']],
    ['a secret with a dot that does not match other characters', 'axb', ['a.b']],
  ])('is not changed by %s', (_, text, secrets) => {
    expect(quoteSafely(text, secrets)).toBe(text);
  });

  test('is redacted before it is truncated, so that no part of a secret remains', () => {
    expect(quoteSafely(`${'x'.repeat(190)} secret-secret-secret`, ['secret-secret-secret'])).toBe(`${'x'.repeat(190)} ****`);
  });

  describe('is from the first 4,096 characters', () => {
    const secret = 'secret-secret-secret';

    test.each([
      ['a text that begins later is empty', 4096, 'late', ''],
      ['a text that begins before is cut', 4092, 'early', 'earl'],
      ['a secret that begins before is redacted as a whole', 4095, `${secret} and more`, '****'],
      ['a secret that begins before and ends with the cut', 4076, `${secret} and more`, '****'],
      ['a secret that begins later does not appear', 4096, `${secret} and more`, ''],
    ])('%s', (_, length, text, quote) => {
      expect(quoteSafely(`${' '.repeat(length)}${text}`, [secret, 'sec'])).toBe(quote);
    });

    test('and a secret that is longer than these is redacted as a whole', () => {
      const longest = 'abcdefghi/'.repeat(500);
      expect(quoteSafely(`${' '.repeat(4000)}see ${longest} and more`, [longest])).toBe('see ****');
      expect(quoteSafely(`${' '.repeat(4000)}see ${encodeURIComponent(longest)} and more`, [longest])).toBe('see ****');
    });
  });
});

describe('a truncated text', () => {
  const bytes = (text: string) => Buffer.byteLength(text);

  test.each([
    ['is the same if it fits exactly', 'abcdef', 6, '…', 'abcdef'],
    ['ends with the mark, which counts', 'abcdefg', 6, '...', 'abc...'],
    ['has no spaces before the mark', '  ab  cdef', 7, '…', '  ab…'],
    ['never contains a part of a visible character', 'ab👩‍👩‍👧‍👦cd', 10, '…', 'ab…'],
  ])('%s', (_, text, limit, mark, truncated) => {
    expect(truncate(text, limit, mark)).toBe(truncated);
  });

  test.each([
    ['äöü', 6, 'äöü'],
    ['äöüß', 6, 'äö..'],
    ['äöüß', 7, 'äö..'],
  ])('fits a limit in bytes: %s in %d', (text, limit, truncated) => {
    expect(truncate(text, limit, '..', bytes)).toBe(truncated);
  });
});

describe('the secrets of a webhook are its path and query, and the parts of them that are longer than words', () => {
  test.each([
    [
      'https://hooks.slack.com/services/T00000000/B00000000/abcdefghijkl',
      ['/services/T00000000/B00000000/abcdefghijkl', 'T00000000', 'B00000000', 'abcdefghijkl'],
    ],
    ['https://chat.example.com/hooks/12345678', ['/hooks/12345678']],
    [
      'https://chat.example.com/hook?token=123456789&channel=abcdefghi',
      ['/hook?token=123456789&channel=abcdefghi', '123456789', 'abcdefghi'],
    ],
    ['https://chat.example.com/?t=1', ['/?t=1']],
    ['https://chat.example.com/', []],
  ])('%s', (url, secrets) => {
    expect(secretsOfWebhook(url)).toEqual(secrets);
  });
});
