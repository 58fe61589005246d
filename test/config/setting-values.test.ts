import { resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { z } from 'zod';
import * as value from '../../src/config/setting-values.ts';

/** Returns the messages for a value, of which there is at most one. */
function messagesFor(schema: z.ZodType, text: string): string[] {
  return schema.safeParse(text).error?.issues.map(({ message }) => message) ?? [];
}

/** Tests which texts a schema accepts, how it reads them, and which it rejects with the message. */
function expectValues<Output>(
  name: string,
  schema: () => z.ZodType<Output>,
  { reads, rejects, message }: { reads: [string, Output][]; rejects: string[]; message: string },
) {
  describe(name, () => {
    test.each(reads)('%j is read as %j', (text, output) => expect(schema().parse(text)).toEqual(output));
    test.each(rejects)(`%j is rejected: ${message}`, (text) => expect(messagesFor(schema(), text)).toEqual([message]));
  });
}

const unchanged = (...texts: string[]) => texts.map((text): [string, string] => [text, text]);

expectValues('a whole number', () => value.whole(5, 100), {
  reads: [
    ['5', 5],
    ['42', 42],
    ['100', 100],
    ['007', 7],
  ],
  rejects: ['', '4', '101', '-5', '+5', '5.0', '1e1', '0x10', ' 5', '5 ', '5s', 'x5', '0000000010'],
  message: 'must be a whole number from 5 to 100',
});

test('a whole number can have up to nine digits', () => {
  expect(value.whole(0, 999_999_999).parse('999999999')).toBe(999_999_999);
});

test('a directory is read as an absolute path', () => {
  expect(value.directory.parse('/var/lib/../data/')).toBe('/var/data');
  expect(value.directory.parse('data')).toBe(resolve('data'));
});

expectValues('a token', () => value.token(4, 6), {
  reads: unchanged('abcd', '!~{}+"'),
  rejects: ['', 'abc', 'abcdefg', 'ab cd', 'abcd ', 'abcä', 'abc\u007f', 'abcd\n'],
  message: 'must have 4 to 6 printable ASCII characters and no spaces',
});

const key = 'stkp_0123456789ABCDEFGHIJKLMNOPQRST4PMbyp';
expectValues('an API key', () => value.apiKey, {
  reads: unchanged(key),
  rejects: ['', key.slice(0, -1), `${key}x`],
  message: 'must be a well-formed API key ("sitekeeper key generate" prints one)',
});

expectValues('the URL of a database', () => value.postgresUrl, {
  reads: unchanged('postgres://db/sitekeeper'),
  rejects: ['mysql://db/sitekeeper', 'db'],
  message: 'must be a postgres:// URL',
});

describe('the URL of Redis', () => {
  const loginMessage = 'must be a redis:// or rediss:// URL with its user name and password percent-encoded';
  expectValues('itself', () => value.redisUrl, {
    reads: unchanged('redis://127.0.0.1', 'rediss://me:p%40ss@redis.example.com:6380/1'),
    rejects: ['', 'redis.example.com', 'http://127.0.0.1', 'myredis://127.0.0.1', 'redissentinel://127.0.0.1'],
    message: 'must be a redis:// or rediss:// URL',
  });
  expectValues('its login', () => value.redisUrl, {
    reads: unchanged('redis://m%C3%A9@127.0.0.1'),
    rejects: ['redis://:p%ss@127.0.0.1', 'redis://m%e@127.0.0.1'],
    message: loginMessage,
  });
});

expectValues('an HTTP URL', () => value.httpUrl, {
  reads: [
    ['http://127.0.0.1:4318', 'http://127.0.0.1:4318'],
    ['https://me:secret@example.com/a//?b=c', 'https://me:secret@example.com/a//?b=c'],
    ['https://example.com/a//', 'https://example.com/a'],
  ],
  rejects: ['', 'example.com', 'ftp://example.com', 'xhttp://example.com', 'httpsx://example.com'],
  message: 'must be an http or https URL',
});

expectValues('the base URL of a service', () => value.serviceUrl, {
  reads: [['https://example.com/inner/', 'https://example.com/inner']],
  rejects: ['https://me@example.com', 'https://:secret@example.com', 'https://example.com?a=b', 'https://example.com#a'],
  message: 'must not contain a user name, password, query or fragment',
});

describe('the URL of a mail server', () => {
  expectValues('itself', () => value.smtpUrl, {
    reads: unchanged('smtp://127.0.0.1:25', 'smtps://me:p%40ss@mail.example.com'),
    rejects: ['', 'mail.example.com', 'smtp:mail', 'smtp://', 'http://mail.example.com', 'xsmtp://mail', 'smtpsx://mail'],
    message: 'must be an smtp:// or smtps:// URL',
  });
  expectValues('its login', () => value.smtpUrl, {
    reads: unchanged('smtp://me@mail.example.com'),
    rejects: ['smtp://me:p%ss@mail.example.com'],
    message: 'must be an smtp:// or smtps:// URL with its user name and password percent-encoded',
  });
});

expectValues('one of several words', () => value.oneOf('open', 'closed'), {
  reads: [['open', 'open' as const]],
  rejects: ['', 'Open', 'ajar'],
  message: 'must be one of open, closed',
});

expectValues('a password', () => value.password, {
  reads: unchanged('x'.repeat(8), 'x'.repeat(128)),
  rejects: ['', 'x'.repeat(7), 'x'.repeat(129)],
  message: 'must have 8 to 128 characters',
});

expectValues('an e-mail address', () => value.email, {
  reads: unchanged('a@example.com', `a@${'b.'.repeat(124)}com`),
  rejects: ['', 'a', 'a@', 'a b@example.com', 'A <a@example.com>'],
  message: 'must be an e-mail address',
});

test('an e-mail address can have 254 characters, but not 255', () => {
  const longest = `ab${`@${'b.'.repeat(124)}com`}`;
  expect([longest.length, messagesFor(value.email, longest)]).toEqual([254, []]);
  expect(messagesFor(value.email, `a${longest}`)).toEqual(['must have at most 254 characters']);
});

expectValues('a sender of e-mails', () => value.mailbox, {
  reads: [
    ['alerts@example.com', { name: '', address: 'alerts@example.com' }],
    ['Sitekeeper <alerts@example.com>', { name: 'Sitekeeper', address: 'alerts@example.com' }],
    ['"Keeper, Site" <alerts@example.com>', { name: 'Keeper, Site', address: 'alerts@example.com' }],
  ],
  rejects: [
    '',
    'Sitekeeper',
    'Sitekeeper <alerts>',
    'a@example.com, b@example.com',
    'Team: a@example.com;',
    'Team: a@example.com, b@example.com;',
    'A\tB <a@example.com>',
    'A <a@example.com>\r\nBcc: b@example.com',
  ],
  message: 'must be one e-mail address, such as Sitekeeper <alerts@example.com>',
});

expectValues('an account of Twilio', () => value.twilioAccount, {
  reads: unchanged(`AC${'0'.repeat(32)}`, `AC${'aF'.repeat(16)}`),
  rejects: ['', `AC${'0'.repeat(31)}`, `AC${'0'.repeat(33)}`, `xAC${'0'.repeat(32)}`, `AC${'g'.repeat(32)}`, `SK${'0'.repeat(32)}`],
  message: 'must be AC and 32 hexadecimal digits',
});

expectValues('a sender of SMS', () => value.smsSender, {
  reads: unchanged(
    '+15005550006',
    '+12',
    `+1${'0'.repeat(14)}`,
    '123',
    '12345678',
    'S',
    'Sitekeeper',
    'A1 &+_-b',
    '1 A',
    '12345678901'.replace('9', 'a'),
  ),
  rejects: [
    '',
    '+1',
    '+0500',
    '+1x',
    'x+15005550006',
    '+15005550006x',
    `+1${'0'.repeat(15)}`,
    '12',
    '123456789',
    '12-345',
    '1 2',
    ' A',
    '-A',
    'A.B',
    'Twelve chars',
    'ü',
  ],
  message: 'must be a number in E.164 format, such as +15005550006, a short code or a sender ID',
});

expectValues('a list of addresses', () => value.addressRanges, {
  reads: [
    ['', []],
    [' , ,', []],
    ['10.0.0.7', ['10.0.0.7']],
    ['::ffff:192.0.2.7,::FFFF:192.0.2.7/120', ['::ffff:192.0.2.7', '::FFFF:192.0.2.7/120']],
    [' 10.0.0.0/8 ,, ::1,fd00::/128,192.0.2.7/32,::/0 ', ['10.0.0.0/8', '::1', 'fd00::/128', '192.0.2.7/32', '::/0']],
  ],
  rejects: [
    'example.com',
    '10.0.0.7,x',
    '10.0.0',
    '10.0.0.0/33',
    '::/129',
    '10.0.0.0/',
    '10.0.0.0/-1',
    '10.0.0.0/x8',
    '10.0.0.0/8x',
    '10.0.0.0/ 8',
    '10.0.0.0/0x8',
    '10.0.0.0/0008',
    '10.0.0.0/8/8',
    'fe80::1%eth0',
    '::192.0.2.0/96',
    '64:ff9b::192.0.2.1',
    '1::ffff:192.0.2.1',
  ],
  message: 'must be a list of IP addresses or CIDR ranges, such as 10.0.0.0/8, separated by commas',
});

expectValues<value.Proxies>('proxies', () => value.proxies, {
  reads: [
    ['', { addresses: [], hops: 1 }],
    ['1', { addresses: 'any', hops: 1 }],
    ['10', { addresses: 'any', hops: 10 }],
    ['loopback,linklocal, uniquelocal', { addresses: ['loopback', 'linklocal', 'uniquelocal'], hops: 1 }],
    ['10.0.0.7, 2, fd00::/8', { addresses: ['10.0.0.7', 'fd00::/8'], hops: 2 }],
    ['10.0.0.0/08', { addresses: ['10.0.0.0/08'], hops: 1 }],
  ],
  rejects: [
    '0',
    '11',
    '100',
    '01',
    '1,2',
    '-1',
    'true',
    'proxy.example.com',
    'loopback,x',
    '10.0.0.0/33',
    '0.0.0.0/0',
    '::/00',
    'loopback,::/0',
  ],
  message:
    'must be a list of IP addresses, CIDR ranges or the names loopback, linklocal, uniquelocal, separated by commas, with at most one number of proxies from 1 to 10',
});

expectValues('origins', () => value.origins, {
  reads: [
    ['*', ['*']],
    ['', []],
    ['https://a.example, http://localhost:5173', ['https://a.example', 'http://localhost:5173']],
  ],
  rejects: [
    '*,https://a.example',
    'https://a.example,*',
    '*,*',
    'https://a.example/',
    'https://A.example',
    'a.example',
    'null',
    'https://a.example,x',
  ],
  message: 'must be either * or a list of origins, such as https://app.example.com, separated by commas',
});

const secretKey = `${'aZ09+/'.repeat(7)}A=`;
expectValues('secret keys', () => value.secretKeys, {
  reads: [
    [secretKey, [secretKey]],
    [`${secretKey}, ${'A'.repeat(43)}=`, [secretKey, `${'A'.repeat(43)}=`]],
  ],
  rejects: [
    '',
    ',',
    'short',
    `x${secretKey}`,
    `${secretKey}=`,
    secretKey.slice(1),
    `${'A'.repeat(42)}-=`,
    'A'.repeat(44),
    `${secretKey},short`,
  ],
  message: 'must be 32 random bytes in base64 (openssl rand -base64 32); to rotate keys, append the old ones, separated by commas',
});

expectValues('a fraction', () => value.fraction, {
  reads: [
    ['0', 0],
    ['1', 1],
    ['0.25', 0.25],
    ['.5', 0.5],
    ['0.', 0],
    ['1.', 1],
    ['1.00', 1],
  ],
  rejects: ['', '.', '2', '10', '1.1', '1.01', '2.0', '-0.5', '0.5x', 'x0.5', '1e-1', '50%', '0.x', '.x'],
  message: 'must be a number from 0 to 1',
});

expectValues<value.SamplerName>('a sampler', () => value.sampler, {
  reads: [
    ['always_on', { root: 'always_on', followsParent: false }],
    ['always_off', { root: 'always_off', followsParent: false }],
    ['traceidratio', { root: 'traceidratio', followsParent: false }],
    ['parentbased_always_on', { root: 'always_on', followsParent: true }],
    ['parentbased_always_off', { root: 'always_off', followsParent: true }],
    ['parentbased_traceidratio', { root: 'traceidratio', followsParent: true }],
  ],
  rejects: ['', 'always', 'parentbased_', 'jaeger_remote'],
  message: 'must be one of always_on, always_off, traceidratio, parentbased_always_on, parentbased_always_off, parentbased_traceidratio',
});

expectValues<Record<string, string>>('pairs', () => value.pairs, {
  reads: [
    ['', {}],
    ['key=value', { key: 'value' }],
    ['key = a value , other=', { key: 'a value', other: '' }],
    ['a%20key=a%2Cb%3D', { 'a key': 'a,b=' }],
    ['token=YQ==', { token: 'YQ==' }],
    ['text=a\nb', { text: 'a\nb' }],
  ],
  rejects: ['key', '=value', ' =value', 'a key=value', 'key=100%', 'key%=value', 'key=value,other'],
  message: 'must be a list such as key=value,other=value, with percent-encoded values',
});

expectValues('host names', () => value.hostNames, {
  reads: [
    ['', []],
    ['Chat.Example.com, bücher.example,127.0.0.1', ['chat.example.com', 'xn--bcher-kva.example', '127.0.0.1']],
  ],
  rejects: [
    'https://chat.example.com',
    'chat.example.com/x',
    'chat.example.com\\x',
    'chat.example.com:443',
    'chat.example.com?x',
    'chat.example.com#x',
    'me@chat.example.com',
    '[::1]',
    'chat example.com',
    'chat%.example.com',
    'chat.example.com,a/b',
  ],
  message: 'must be a list of host names, such as chat.example.com, separated by commas',
});
