import { describe, expect, test } from 'vitest';
import { SecretCipher } from '../../../src/auth/secret-cipher.ts';
import { InvalidRequest, type ValidationError } from '../../../src/errors.ts';
import type { OptionsChange, StoredOptions } from '../../../src/monitoring/checks/check.ts';
import { type HttpOptions, httpOptions } from '../../../src/monitoring/checks/http/http.options.ts';
import { decryptHeaders, type StoredHeader } from '../../../src/monitoring/checks/http/request-headers.ts';
import { LocalFailure } from '../../../src/monitoring/checks/local-failure.ts';
import { testCipher } from '../../support/cipher.ts';

const monitor = { id: 7, userId: 3 };
const merge = (sent: object, change: Partial<OptionsChange> = {}) =>
  httpOptions.merge({ ...sent }, { monitor, stored: {}, isSameOrigin: true, cipher: testCipher, ...change });

const headersIn = (stored: StoredOptions) => (stored as unknown as HttpOptions).headers;
const shownHeaders = (stored: StoredOptions) => (httpOptions.view(stored) as { headers: object[] }).headers;
const sentHeaders = (stored: StoredOptions, owner = monitor, cipher = testCipher) => decryptHeaders(headersIn(stored), owner, cipher);

const secretValue = 'Bearer abcdefgh12345';
const withSecret = merge({ headers: [{ name: 'Authorization', value: secretValue }] });
const mask = '****2345';

function errorsOf(action: () => unknown): ValidationError[] {
  try {
    action();
  } catch (error) {
    expect(error).toBeInstanceOf(InvalidRequest);
    return (error as InvalidRequest).errors;
  }
  throw new Error('Nothing was rejected.');
}

const unknownMask = (index = 0) => [expect.objectContaining({ in: 'body', pointer: `/http/headers/${index}/value`, code: 'unknown_mask' })];

describe('a secret header', () => {
  test('is shown with the last four characters', () => {
    expect(shownHeaders(withSecret)).toEqual([{ name: 'Authorization', value: mask, secret: true }]);
  });

  test.each([
    ['a', '****'],
    ['nineteen characters', '****'],
    ['with 20 characters..', '****rs..'],
  ])('with the value %s is shown as %s', (value, shown) => {
    expect(shownHeaders(merge({ headers: [{ name: 'X-Key', value }] }))).toEqual([{ name: 'X-Key', value: shown, secret: true }]);
  });

  test('is stored without its value', () => {
    expect(JSON.stringify(withSecret)).not.toContain('abcdefgh');
    expect(JSON.stringify(withSecret)).not.toContain(Buffer.from(secretValue).toString('base64url').slice(0, 12));
  });

  test('is encrypted differently each time', () => {
    expect(merge({ headers: [{ name: 'Authorization', value: secretValue }] })).not.toEqual(withSecret);
  });

  test('can be decrypted with its monitor, its user and its name', () => {
    expect(sentHeaders(withSecret)).toEqual({ headers: { Authorization: secretValue }, secretNames: ['Authorization'] });
  });

  test.each([
    ['another monitor', { ...monitor, id: 8 }],
    ['another user', { ...monitor, userId: 4 }],
  ])('cannot be decrypted for %s', (_, owner) => {
    expect(sentHeaders(withSecret, owner)).toBeInstanceOf(LocalFailure);
  });

  test('cannot be decrypted as another header', () => {
    const moved = { headers: headersIn(withSecret).map(({ value }) => ({ name: 'X-Echo', value })) };
    expect(sentHeaders(moved)).toBeInstanceOf(LocalFailure);
  });

  test('cannot be decrypted with another key, and the error does not contain the stored text', () => {
    const result = sentHeaders(withSecret, monitor, new SecretCipher([Buffer.alloc(32, 9)]));
    expect(result).toBeInstanceOf(LocalFailure);
    expect(String(result)).not.toContain('v1.');
  });

  test('that is sent again with its name in another case has the new name and the stored value', () => {
    const stored = merge({ headers: [{ name: 'AUTHORIZATION', value: secretValue }] }, { stored: withSecret });
    expect(headersIn(stored)).toEqual(headersIn(withSecret).map(({ value }) => ({ name: 'AUTHORIZATION', value })));
  });

  test('whose key is lost can be sent again', () => {
    const headers = [{ name: 'X-Key', value: 'long secret value' }];
    const stored = merge({ headers }, { cipher: new SecretCipher([Buffer.alloc(32, 9)]) });
    expect(sentHeaders(merge({ headers }, { stored }))).toMatchObject({ headers: { 'X-Key': 'long secret value' } });
  });

  test('is the default, except for headers that are usually no secrets', () => {
    const names = ['Accept', 'accept-language', 'CONTENT-TYPE', 'User-Agent', 'Authorization', 'Cookie', 'X-Anything'];
    const shown = shownHeaders(merge({ headers: names.map((name) => ({ name, value: 'some long value' })) }));
    expect(shown.map((header) => (header as { secret: boolean }).secret)).toEqual([false, false, false, false, true, true, true]);
  });

  test.each([
    ['Accept', true],
    ['X-Key', false],
  ])('can be chosen: %s with secret %s', (name, secret) => {
    const value = secret ? '****alue' : 'some very long value';
    expect(shownHeaders(merge({ headers: [{ name, value: 'some very long value', secret }] }))).toEqual([{ name, value, secret }]);
  });
});

test('verify_tls cannot be turned off with stored secrets, but with their values', () => {
  const change = { stored: withSecret, isSameOrigin: true };
  expect(() => merge({ verify_tls: false }, change)).toThrow('verify_tls is turned off');
  const sent = merge({ verify_tls: false, headers: [{ name: 'Authorization', value: secretValue }] }, change);
  expect(merge({ method: 'POST' }, { stored: sent, isSameOrigin: true })).toMatchObject({ verify_tls: false, method: 'POST' });
  expect(merge({ verify_tls: true }, { stored: sent, isSameOrigin: true })).not.toHaveProperty('verify_tls');
});

describe('a mask', () => {
  const send = (header: object, change: Partial<OptionsChange> = {}) => merge({ headers: [header] }, { stored: withSecret, ...change });

  test('keeps the stored value', () => {
    expect(send({ name: 'Authorization', value: mask })).toEqual(withSecret);
    expect(send({ name: 'Authorization', value: mask, secret: true })).toEqual(withSecret);
  });

  test('keeps the value if the name is written in another case, and the value is still sent', () => {
    const stored = send({ name: 'AUTHORIZATION', value: mask });
    expect(sentHeaders(stored)).toEqual({ headers: { AUTHORIZATION: secretValue }, secretNames: ['AUTHORIZATION'] });
  });

  test('keeps a short value', () => {
    const stored = merge({ headers: [{ name: 'X-Key', value: 'short' }] });
    const kept = merge({ headers: [{ name: 'X-Key', value: '****' }] }, { stored });
    expect(sentHeaders(kept)).toMatchObject({ headers: { 'X-Key': 'short' } });
  });

  test('keeps each of several values, in another order and beside new ones', () => {
    const stored = merge({
      headers: [
        { name: 'X-One', value: 'first long value 1111' },
        { name: 'X-Two', value: 'second long value 2222' },
      ],
    });
    const headers = [
      { name: 'X-Two', value: '****2222' },
      { name: 'X-New', value: 'third' },
      { name: 'X-One', value: '****1111' },
    ];
    expect(sentHeaders(merge({ headers }, { stored }))).toMatchObject({
      headers: { 'X-One': 'first long value 1111', 'X-Two': 'second long value 2222', 'X-New': 'third' },
    });
  });

  test.each([
    ['of another value', { name: 'Authorization', value: '****9999' }],
    ['without the last characters', { name: 'Authorization', value: '****' }],
    ['of another header', { name: 'X-Echo', value: mask }],
    ['with secret false', { name: 'Authorization', value: mask, secret: false }],
  ])('%s is rejected', (_, header) => {
    expect(errorsOf(() => send(header))).toEqual(unknownMask());
  });

  test('is rejected if the origin changes', () => {
    expect(errorsOf(() => send({ name: 'Authorization', value: mask }, { isSameOrigin: false }))).toEqual(unknownMask());
  });

  test.each(['****', '****abcd'])('%s of a new monitor is rejected', (value) => {
    expect(errorsOf(() => merge({ headers: [{ name: 'X-Key', value }] }, { isSameOrigin: false }))).toEqual(unknownMask());
  });

  test('of a header that is stored as a plain one is rejected', () => {
    const stored = merge({ headers: [{ name: 'Accept', value: 'text/html' }] });
    expect(errorsOf(() => merge({ headers: [{ name: 'Accept', value: '****html' }] }, { stored }))).toEqual(unknownMask());
  });

  test('is rejected with the index of its header', () => {
    const headers = [
      { name: 'X-One', value: 'new' },
      { name: 'X-Two', value: mask },
    ];
    expect(errorsOf(() => merge({ headers }, { stored: withSecret }))).toEqual(unknownMask(1));
  });

  test.each(['***abcd', '****abcde', 'x****abcd', '*****abcd'])('is not what the value %s is', (value) => {
    expect(sentHeaders(send({ name: 'Authorization', value }))).toMatchObject({ headers: { Authorization: value } });
  });
});

describe('a change without headers', () => {
  const plain = merge({ headers: [{ name: 'Accept', value: 'text/html' }] });

  test('keeps them on the same origin', () => {
    expect(merge({ method: 'POST' }, { stored: withSecret })).toEqual({ ...withSecret, method: 'POST' });
  });

  test('is rejected if there is a secret and the origin changes', () => {
    expect(errorsOf(() => merge({}, { stored: withSecret, isSameOrigin: false }))).toEqual([
      expect.objectContaining({ in: 'body', pointer: '/http/headers', code: 'secrets_needed' }),
    ]);
  });

  test('keeps plain headers on another origin', () => {
    expect(merge({}, { stored: plain, isSameOrigin: false })).toEqual(plain);
  });
});

describe('sent headers replace the stored ones', () => {
  test('as a whole', () => {
    const stored = merge({ headers: [{ name: 'X-Plain', value: 'new', secret: false }] }, { stored: withSecret });
    expect(stored).toEqual({ headers: [{ name: 'X-Plain', value: 'new' }] });
  });

  test('with the full value of a secret also on another origin', () => {
    const headers = [{ name: 'Authorization', value: 'Bearer for the other origin' }];
    const stored = merge({ headers }, { stored: withSecret, isSameOrigin: false });
    expect(sentHeaders(stored)).toMatchObject({ headers: { Authorization: 'Bearer for the other origin' } });
  });

  test('with an empty list on another origin', () => {
    expect(merge({ headers: [] }, { stored: withSecret, isSameOrigin: false })).toEqual({});
  });

  test('with a plain value under the name of a secret', () => {
    const stored = merge({ headers: [{ name: 'Authorization', value: 'none', secret: false }] }, { stored: withSecret });
    expect(sentHeaders(stored)).toEqual({ headers: { Authorization: 'none' }, secretNames: [] });
  });
});

describe('names', () => {
  test.each([
    'Accept-Encoding',
    'Connection',
    'Content-Length',
    'Expect',
    'Host',
    'HTTP2-Settings',
    'Keep-Alive',
    'Proxy-Authenticate',
    'Proxy-Authorization',
    'Proxy-Connection',
    'TE',
    'Trailer',
    'Transfer-Encoding',
    'Upgrade',
  ])('%s cannot be set, in any case', (name) => {
    for (const spelling of [name, name.toLowerCase(), name.toUpperCase()]) {
      const headers = [
        { name: 'Accept', value: 'x' },
        { name: spelling, value: 'x' },
      ];
      expect(httpOptions.errors({ headers })).toEqual([
        { in: 'body', pointer: '/http/headers/1/name', code: 'not_allowed', message: 'cannot be set' },
      ]);
    }
  });

  test('cannot be repeated, also in another case', () => {
    const headers = ['X-Key', 'Accept', 'x-key', 'X-KEY'].map((name) => ({ name, value: 'x' }));
    expect(httpOptions.errors({ headers })).toEqual(
      [2, 3].map((index) => ({ in: 'body', pointer: `/http/headers/${index}/name`, code: 'repeated', message: 'must not be repeated' })),
    );
  });

  test.each(['Authorization', 'Cookie', 'Content-Type', 'User-Agent', 'Origin', 'Referer', 'X-Forwarded-Host'])('%s can be set', (name) => {
    expect(httpOptions.errors({ headers: [{ name, value: 'x' }] })).toEqual([]);
  });
});

describe('options', () => {
  const defaults = {
    method: 'GET',
    headers: [],
    body: null,
    expected_status: ['2xx'],
    body_contains: null,
    body_not_contains: null,
    json: null,
    follow_redirects: true,
    verify_tls: true,
    tls_warning_days: 14,
  };

  test('with their default values are not stored', () => {
    expect(merge(defaults)).toEqual({});
  });

  test('that are not stored are shown with their default values', () => {
    expect(httpOptions.view({})).toEqual(defaults);
  });

  test('that get their default values again are removed', () => {
    const stored = merge({ method: 'POST', body: 'x', expected_status: ['404'], json: { pointer: '', equals: null }, verify_tls: false });
    expect(Object.keys(stored).sort()).toEqual(['body', 'expected_status', 'json', 'method', 'verify_tls']);
    expect(merge(defaults, { stored })).toEqual({});
  });

  test('that are absent keep their value, and those that are null lose it', () => {
    const stored = merge({ body_contains: 'a', body_not_contains: 'b', expected_status: ['404'] });
    expect(merge({ body_contains: null }, { stored })).toEqual({ body_not_contains: 'b', expected_status: ['404'] });
  });

  test('stay as they are if what is shown is sent back', () => {
    const stored = merge({ method: 'POST', headers: [{ name: 'X-Key', value: 'long secret value' }], json: { pointer: '/a', equals: 1 } });
    expect(merge(httpOptions.view(stored), { stored })).toEqual(stored);
  });

  test('are not changed in place', () => {
    const stored = Object.freeze({ headers: Object.freeze([{ name: 'Accept', value: 'x' }]) as unknown as StoredHeader[] });
    expect(merge({ headers: [], method: 'PUT' }, { stored })).toEqual({ method: 'PUT' });
  });

  test('reject a range that begins with the higher status', () => {
    expect(httpOptions.errors({ expected_status: ['2xx', '404-400', '404', '300-300'] })).toEqual([
      { in: 'body', pointer: '/http/expected_status/1', code: 'range', message: 'must begin with the lower status' },
    ]);
  });
});

describe('HEAD', () => {
  const conditions = { body_contains: 'x', body_not_contains: 'y', json: { pointer: '', equals: 1 } };
  const noBody = (names: string[]) => names.map((name) => expect.objectContaining({ pointer: `/http/${name}`, code: 'no_body' }));

  test('is rejected together with conditions for the body', () => {
    expect(httpOptions.errors({ method: 'HEAD', ...conditions })).toEqual(noBody(Object.keys(conditions)));
    expect(httpOptions.errors({ method: 'GET', ...conditions })).toEqual([]);
  });

  test.each(Object.entries(conditions))('is rejected if %s is stored', (name, value) => {
    expect(errorsOf(() => merge({ method: 'HEAD' }, { stored: { [name]: value } }))).toEqual(noBody([name]));
  });

  test.each(Object.entries(conditions))('if it is stored, %s is rejected', (name, value) => {
    expect(errorsOf(() => merge({ [name]: value }, { stored: { method: 'HEAD' } }))).toEqual(noBody([name]));
  });

  test('is accepted if the conditions are removed with it', () => {
    expect(merge({ method: 'HEAD', body_contains: null }, { stored: { body_contains: 'x' } })).toEqual({ method: 'HEAD' });
  });

  test('can be replaced together with new conditions', () => {
    const stored = { method: 'HEAD' };
    expect(merge({ method: 'GET', body_contains: 'x' }, { stored })).toEqual({ body_contains: 'x' });
  });
});
