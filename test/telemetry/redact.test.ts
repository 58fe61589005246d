import { describe, expect, test } from 'vitest';
import { redactCredentials } from '../../src/telemetry/redact.ts';
import { expectWithin, startStopwatch } from '../support/stall.ts';

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

const token = 'k3J9dQ2mZx7Lw0VbT5nRs8YcH1fGp4Ea';

const signature = 'M6_hkMDrKS1GcN2NSppNi1TD4GxRhwDGYTi0ggxbB1o';

describe('hides the signature of a link', () => {
  test.each([
    ['in a path', `/confirm-recipient/5/${signature}`, '/confirm-recipient/5/****'],
    ['that is a part of one', `/confirm-recipient/5/${signature.slice(0, 5)}`, '/confirm-recipient/5/****'],
    ['without an id', `/confirm-recipient/${signature}`, '/confirm-recipient/****'],
    ['between encoded slashes', `/confirm-recipient%2F5%2F${signature}`, '/confirm-recipient%2F5%2F****'],
    ['in another case', `/Confirm-Recipient/5/${signature}`, '/Confirm-Recipient/5/****'],
    ['with something behind it', `/confirm-recipient/5/${signature}/x`, '/confirm-recipient/5/****'],
    ['in a mistyped path', `/confirm-recipent/5/${signature}`, '/confirm-recipent/5/****'],
    ['in a URL in JSON', `{"url":"https://a.example/c/${signature}"}`, '{"url":"https://a.example/c/****"}'],
    ['behind an encoded slash', `/domains/https%3A%2F%2F${signature}`, '/domains/https%3A%2F%2F****'],
    ['after an escape', JSON.stringify({ text: `\n${signature}` }), '{"text":"\\n****"}'],
  ])('%s', (_, text, redacted) => {
    expect(redactCredentials(text)).toBe(redacted);
  });

  test.each([
    ['the file of a stack trace', 'at confirm (/app/src/monitoring/recipients/confirm-recipient.ts:12:3)'],
    ['a long name without digits', 'Content-Security-Policy-Report-Only-And-Even-More-Of-It'],
    ['a long id of one case', `request-${'0123456789abcdef'.repeat(4)}`],
  ])('but not %s', (_, text) => {
    expect(redactCredentials(text)).toBe(text);
  });
});

describe('hides the token of a heartbeat', () => {
  test.each([
    ['in a path', `/api/heartbeats/${token}`, '/api/heartbeats/****'],
    ['of a failure', `/api/heartbeats/${token}/fail`, '/api/heartbeats/****/fail'],
    ['with a mistyped end', `/api/heartbeats/${token}/typo`, '/api/heartbeats/****/typo'],
    ['in a URL', `"url":"https://status.example/api/heartbeats/${token}"}`, '"url":"https://status.example/api/heartbeats/****"}'],
    ['before a query', `/api/heartbeats/${token}?a=b`, '/api/heartbeats/****?a=b'],
    ['without /api', `/heartbeats/${token}`, '/heartbeats/****'],
    ['in another case', `/API/HEARTBEATS/${token}`, '/API/HEARTBEATS/****'],
    ['after an encoded slash', `/api/heartbeats%2F${token}`, '/api/heartbeats%2F****'],
    ['between encoded slashes', `/api%2Fheartbeats%2F${token}%2Ffail`, '/api%2Fheartbeats%2F****'],
    ['after a slash that is encoded twice', `/api/heartbeats%252f${token}`, '/api/heartbeats%252f****'],
    ['that is encoded itself', `/api/heartbeats/${encode(token)}/x`, '/api/heartbeats/****/x'],
    ['twice', `/heartbeats/${token} /heartbeats/${token}`, '/heartbeats/**** /heartbeats/****'],
    ['that is a part of one', `/api/heartbeats/${token.slice(0, 5)}`, '/api/heartbeats/****'],
  ])('%s', (_, text, redacted) => {
    expect(redactCredentials(text)).toBe(redacted);
  });

  test.each([
    ['after two slashes', `/api/heartbeats//${token}`],
    ['after another segment', `/api/heartbeats/fail/${token}`],
    ['after a quotation mark', JSON.stringify({ path: `/api/heartbeats/"${token}"` })],
    ['after the singular', `/api/heartbeat/${token}`],
    ['after the singular, with something behind it', `/api/heartbeat/${token}x`],
    ['after an equals sign', `/api/heartbeat=${token}`],
    ['after an encoded slash, without the word', `/api%2F${token}`],
    ['before another word', `/x/${token}fail`],
    ['after a colon', `/api/heartbeats:${token}`],
    ['after a hyphen', `/hb-${token}`],
    ['after an encoded backslash', `/api/heartbeats%5c${token}`],
    ['after a backslash', JSON.stringify({ path: `/api/heartbeats\\${token}` })],
    ['after a line break', JSON.stringify(`\n${token}`)],
    ['after a control character', JSON.stringify(`\u001f${token}`)],
    ['in a query', `/api/monitors?token=${token}`],
    ['as an id', JSON.stringify({ request_id: token })],
  ])('%s', (_, text) => {
    expect(redactCredentials(text)).not.toContain(token);
  });

  test.each([
    ['that has no digits', '/x/QwErTyUiOpAsDfGhJkLzXcVbNmqWeRtY', '/x/****'],
    ['that is encoded', `/zz/${encode(token)}`, '/zz/****'],
    ['that is encoded twice', `/zz/${encode(token).replaceAll('%', '%25')}`, '/zz/****'],
    ['of which every other character is encoded', `/zz/${[...token].map((one, at) => (at % 2 ? encode(one) : one)).join('')}`, '/zz/****'],
    ['after an escape, which stays valid', `"\\n\\u001f${token}"`, '"\\n\\u001f****"'],
    ['after an encoded slash, which stays valid', `/zz%2F${token}`, '/zz%2F****'],
    ['after an encoded letter beyond ASCII, which stays valid', `/zz%C3%A9${token}`, '/zz%C3%A9****'],
  ])('%s', (_, text, redacted) => {
    expect(redactCredentials(text)).toBe(redacted);
  });
});

describe('leaves alone', () => {
  test.each([
    ['the paths of heartbeats without a token', '/api/heartbeats /api/heartbeats/'],
    ['a word that only begins like it', '/api/heartbeatsx/1'],
    ['the characters that lists show', 'stkp_0123'],
    ['the beginning of every key', 'stkp_'],
    ['a text without a key', '/api/monitors/17'],
    ['percent signs without a key', '100 % of %25 and %zz'],
    ['a word that only begins like a key', 'stkp-0123456789'],
    ['a trace ID', '"trace_id":"4bf92f3577b34da6a3ce929d0e0e4736"'],
    ['a trace ID in upper case', '4BF92F3577B34DA6A3CE929D0E0E4736'],
    ['a span ID and a UUID', '00f067aa0ba902b7 2c9b6e2c-d196-4261-98b9-62bfaf12144b 01ARZ3NDEKTSV4RRFFQ69G5FAV'],
    ['a checksum', `(checksum ${'0123456789abcdef'.repeat(4)})`],
    ['a long domain', `/api/v1/domains/${'shop24'.repeat(10)}.example`],
    ['a long word after an encoded slash', `/api/v1/domains/example.com%2F${'x'.repeat(40)}`],
    [
      'the name of a function',
      'at OpenAPIValidator.getRequestValidatorsForOperation (/srv/node_modules/openapi-backend/validation.js:5:7)',
    ],
    ['a file of the service', 'at receive (/srv/dist/src/monitoring/heartbeats/heartbeats.handlers.js:12:3)'],
    ['31 letters and digits', token.slice(1)],
    ['31 letters and digits that are encoded', encode(token.slice(1))],
    ['the name of a class', 'RequestValidatorsForOperationBuilder'],
  ])('%s', (_, text) => {
    expect(redactCredentials(text)).toBe(text);
  });
});

describe('takes at most 250 ms for 16 KiB of', () => {
  test.each([
    'a',
    'aA',
    `${'a'.repeat(31)}-`,
    '%',
    '%25',
    '%2f',
    '%41',
    '%C3',
    `%${'25'.repeat(250)}41`,
    '/',
    '/heartbeats',
    '/heartbeats/',
    '/heartbeats%2f',
    's',
    'stkp_',
    'stkp_0123',
    '\\',
    '\\u',
    '"',
  ])('%s', (part) => {
    const text = part.repeat(Math.ceil(16_384 / part.length));
    for (const given of [text, `/heartbeats${text}`, `${text}!`]) {
      const elapsed = startStopwatch();
      redactCredentials(given);
      expectWithin(0.25, elapsed());
    }
  });
});
