import { describe, expect, test } from 'vitest';
import { redactCredentials } from '../../src/telemetry/redact.ts';

const key = 'stkp_0123456789ABCDEFGHIJKLMNOPQRST4PMbyp';
const mask = 'stkp_0123****';

/** Percent-encodes every character, also those that need no encoding. */
const encode = (text: string) => [...text].map((character) => `%${character.charCodeAt(0).toString(16)}`).join('');

describe('keeps the first characters, which lists show as well, and hides the rest of', () => {
  test.each([
    ['a key', key, mask],
    ['a key in a path', `/api/keys/${key}/x`, `/api/keys/${mask}/x`],
    ['two keys', `${key} ${key}`, `${mask} ${mask}`],
    ['a part of a key', key.slice(0, 20), mask],
    ['one character more than lists show', key.slice(0, 10), mask],
    ['a key in upper case', key.toUpperCase(), mask.toUpperCase()],
    ['a key with an encoded underscore', key.replace('_', '%5F'), mask.replace('_', '%5F')],
    ['a key with an underscore that is encoded twice', key.replace('_', '%255f'), mask.replace('_', '%255f')],
    ['a key with an underscore that is encoded three times', key.replace('_', '%25255f'), mask.replace('_', '%25255f')],
    ['a key that is encoded as a whole', encode(key), `${encode('stkp_0123')}****`],
    ['a key of which only the prefix is encoded', key.replace('stkp_', encode('stkp_')), mask.replace('stkp_', encode('stkp_'))],
    ['a key of which only the end is encoded', `${key.slice(0, 9)}${encode(key.slice(9))}`, mask],
    ['a key in upper case that is encoded', encode(key.toUpperCase()), `${encode('STKP_0123')}****`],
  ])('%s', (_, text, redacted) => {
    expect(redactCredentials(text)).toBe(redacted);
  });
});

describe('leaves alone', () => {
  test.each([
    ['the characters that lists show', 'stkp_0123'],
    ['the beginning of every key', 'stkp_'],
    ['a text without a key', '/api/monitors/17'],
    ['percent signs without a key', '100 % of %25 and %zz'],
    ['a word that only begins like a key', 'stkp-0123456789'],
  ])('%s', (_, text) => {
    expect(redactCredentials(text)).toBe(text);
  });
});
