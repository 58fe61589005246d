import type { OutgoingHttpHeaders, ServerResponse } from 'node:http';
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { SecretCipher } from '../../../src/auth/secret-cipher.ts';
import { httpCheck } from '../../../src/monitoring/checks/http/http.check.ts';
import { httpOptions } from '../../../src/monitoring/checks/http/http.options.ts';
import { LocalFailure } from '../../../src/monitoring/checks/local-failure.ts';
import { parseRanges } from '../../../src/net/addresses.ts';
import { Pinger } from '../../../src/net/ping.ts';
import * as turns from '../../../src/net/turns.ts';
import { type Authority, createAuthority } from '../../support/certificates.ts';
import { checkHttp, httpSettings, plainTarget } from '../../support/checks.ts';
import { testCipher } from '../../support/cipher.ts';
import { startHttp2Server } from '../../support/http2-server.ts';
import { scripts, startWebServer, type WebServer } from '../../support/web-server.ts';

let target: WebServer;
const net = { allow: parseRanges(['127.0.0.1']) };
const up = { up: true, responseTimeMs: expect.any(Number) };
/** A response that arrived, but is not as expected. */
const down = (cause: string, statusCode = 200) => ({ up: false, cause, statusCode, responseTimeMs: expect.any(Number) });

beforeAll(async () => {
  target = await startWebServer();
});
afterAll(() => target.close());

/** Checks a target that responds with this. */
async function checkResponse(options: object, body: string | Buffer = 'ok', headers: OutgoingHttpHeaders = {}, status = 200) {
  target.script = (_, response) => void response.writeHead(status, headers).end(body);
  return checkHttp(target.url, net, options);
}

describe('the request', () => {
  test.each(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])('has the method %s', async (method) => {
    expect(await checkResponse({ method })).toEqual(up);
    expect(target.requests.at(-1)).toMatchObject({ method, body: '' });
  });

  test('has the headers, both secret and plain ones', async () => {
    const headers = [
      { name: 'Authorization', value: 'Bearer abcdefgh12345' },
      { name: 'X-Plain', value: 'a, b', secret: false },
      { name: 'User-Agent', value: 'own' },
      { name: 'Accept', value: 'text/html', secret: true },
    ];
    expect(await checkResponse({ headers })).toEqual(up);
    const sent = { authorization: 'Bearer abcdefgh12345', 'x-plain': 'a, b', 'user-agent': 'own', accept: 'text/html' };
    expect(target.requests.at(-1)?.headers).toMatchObject(sent);
  });

  test('has no secret headers after a redirect to another origin', async () => {
    const other = await startWebServer();
    onTestFinished(() => other.close());
    target.script = scripts.redirect(`${other.url}/end`);
    const headers = [
      { name: 'X-Key', value: 'long secret value' },
      { name: 'User-Agent', value: 'another secret value', secret: true },
      { name: 'X-Plain', value: 'plain', secret: false },
    ];
    expect(await checkHttp(target.url, net, { headers })).toEqual(up);
    const sent = { 'x-key': 'long secret value', 'user-agent': 'another secret value', 'x-plain': 'plain' };
    expect(target.requests.at(-1)?.headers).toMatchObject(sent);
    expect(other.requests).toMatchObject([{ path: '/end', headers: { 'x-plain': 'plain' } }]);
    expect(JSON.stringify(other.requests)).not.toContain('secret value');
  });

  test('has a header whose name is also a property of every object', async () => {
    const headers = [{ name: '__proto__', value: 'own' }];
    let received: string[] = [];
    target.script = (_, response) => {
      received = response.req.rawHeaders;
      response.end();
    };
    expect(await checkHttp(target.url, net, { headers })).toEqual(up);
    expect(received).toContain('__proto__');
  });

  test.each(['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])(
    'has a body with its length in bytes, with the method %s',
    async (method) => {
      const headers = [{ name: 'Content-Type', value: 'text/plain; charset=utf-8' }];
      expect(await checkResponse({ method, headers, body: 'grüße' })).toEqual(up);
      expect(target.requests.at(-1)).toMatchObject({
        method,
        body: 'grüße',
        headers: { 'content-length': '7', 'content-type': 'text/plain; charset=utf-8' },
      });
    },
  );

  test.each(['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])(
    'has an empty body with the length 0, with the method %s',
    async (method) => {
      expect(await checkResponse({ method, body: '' })).toEqual(up);
      expect(target.requests.at(-1)).toMatchObject({ method, body: '', headers: { 'content-length': '0' } });
    },
  );

  test('has no body and no length if the body is null', async () => {
    expect(await checkResponse({ body: null })).toEqual(up);
    expect(target.requests.at(-1)?.headers).not.toHaveProperty('content-length');
  });

  test('asks for a body that is not compressed', async () => {
    await checkResponse({ body_contains: 'ok' });
    expect(target.requests.at(-1)?.headers['accept-encoding']).toBe('identity');
  });

  test('is not sent if a secret header cannot be decrypted, which is a failure of this service', async () => {
    const change = { monitor: plainTarget, stored: {}, isSameOrigin: false, cipher: new SecretCipher([Buffer.alloc(32, 2)]) };
    const settings = httpOptions.merge({ headers: [{ name: 'X-Key', value: 'long secret value' }] }, change);
    const { connections } = target;
    const result = await httpCheck.run(
      { ...plainTarget, url: target.url, settings },
      { net, pinger: new Pinger(async () => undefined), cipher: testCipher },
    );
    expect(result).toBeInstanceOf(LocalFailure);
    expect(result).toMatchObject({ message: 'a secret header cannot be decrypted with the keys of this service' });
    expect(target.connections).toBe(connections);
  });
});

describe('expected_status', () => {
  test.each([
    [404, ['404']],
    [500, ['5xx']],
    [400, ['400-404']],
    [404, ['400-404']],
    [402, ['400-404']],
    [503, ['200', '300-399', '503']],
    [299, ['2xx']],
    [999, ['9xx']],
    [404, ['404-404']],
  ])('the status %i is up with %j', async (status, expected_status) => {
    expect(await checkResponse({ expected_status }, '', {}, status)).toEqual(up);
  });

  test.each([
    [200, ['404'], 'HTTP 200, expected 404'],
    [200, ['201-299'], 'HTTP 200, expected 201-299'],
    [405, ['400-404'], 'HTTP 405, expected 400-404'],
    [399, ['400-404'], 'HTTP 399, expected 400-404'],
    [300, ['2xx'], 'HTTP 300, expected 2xx'],
    [404, ['2xx'], 'HTTP 404'],
    [404, ['2xx', '301'], 'HTTP 404, expected 2xx or 301'],
    [502, ['200', '300-399', '503'], 'HTTP 502, expected 200, 300-399 or 503'],
  ])('the status %i is down with %j: %s', async (status, expected_status, cause) => {
    expect(await checkResponse({ expected_status }, '', {}, status)).toEqual(down(cause, status));
  });

  test('a status that is not expected is reported, not a body that is not as expected', async () => {
    expect(await checkResponse({ body_contains: 'welcome' }, 'error', {}, 503)).toEqual(down('HTTP 503', 503));
  });

  test('a status and a body that are both expected are up', async () => {
    expect(await checkResponse({ expected_status: ['404'], body_contains: 'lost' }, 'you are lost', {}, 404)).toEqual(up);
  });
});

describe('follow_redirects', () => {
  test('false with 301 expected is up, and requests nothing else', async () => {
    const before = target.requests.length;
    const options = { follow_redirects: false, expected_status: ['301'] };
    expect(await checkResponse(options, 'moved', { location: '/next' }, 301)).toEqual(up);
    expect(target.requests).toHaveLength(before + 1);
  });

  test('false with the default status is down at a redirect', async () => {
    expect(await checkResponse({ follow_redirects: false }, '', { location: '/next' }, 302)).toEqual(down('HTTP 302, expected 2xx', 302));
  });

  test('false searches the body of the redirect', async () => {
    const options = { follow_redirects: false, expected_status: ['3xx'], body_contains: 'moved' };
    expect(await checkResponse(options, 'has moved', { location: '/next' }, 308)).toEqual(up);
  });

  test('true searches the body after the redirects', async () => {
    target.script = ({ path }, response) => {
      if (path === '/end') response.end('the end');
      else response.writeHead(302, { location: '/end' }).end('moved');
    };
    expect(await checkHttp(target.url, net, { body_contains: 'the end', body_not_contains: 'moved' })).toEqual(up);
  });
});

const piece = 64 * 1024;
const mebibyte = 1024 * 1024;

describe('body_contains', () => {
  test('is up if the body contains the text', async () => {
    expect(await checkResponse({ body_contains: 'wel"come' }, 'you are wel"come here')).toEqual(up);
  });

  test('is down with the text if the body does not contain it, also in another case', async () => {
    const result = await checkResponse({ body_contains: 'say "hi"' }, 'Say "Hi"');
    expect(result).toEqual(down('the body does not contain "say \\"hi\\""'));
  });

  test('is down with an empty body', async () => {
    expect(await checkResponse({ body_contains: 'x' }, '')).toEqual(down('the body does not contain "x"'));
  });

  test.each([-5, -3, -1, 0, 1])('finds a text that begins %i bytes from the border of two pieces', async (offset) => {
    const body = `${'x'.repeat(piece + offset)}needle${'x'.repeat(piece)}`;
    expect(await checkResponse({ body_contains: 'needle' }, body)).toEqual(up);
  });

  test('finds a single character at the end of a piece, and at the start of the next', async () => {
    for (const offset of [-1, 0]) {
      const body = `${'x'.repeat(piece + offset)}y${'x'.repeat(10)}`;
      expect(await checkResponse({ body_contains: 'y' }, body)).toEqual(up);
    }
  });

  test.each([-3, -2, -1])('finds a character of four bytes that begins %i bytes before the border', async (offset) => {
    const body = `${'x'.repeat(piece + offset)}🐘${'x'.repeat(10)}`;
    expect(await checkResponse({ body_contains: 'x🐘x' }, body)).toEqual(up);
  });

  test('finds a long text of characters of several bytes across the border', async () => {
    const text = 'äö€🐘'.repeat(50);
    const body = `${'x'.repeat(piece - 301)}${text}${'x'.repeat(10)}`;
    expect(await checkResponse({ body_contains: text }, body)).toEqual(up);
  });

  test('does not find a text that only parts of the body have, in two pieces', async () => {
    const body = `nee${'x'.repeat(piece)}dle`;
    expect(await checkResponse({ body_contains: 'needle' }, body)).toMatchObject({ up: false });
  });

  test.each([
    ['at the end of the first MiB', mebibyte - 6, true],
    ['one byte too late', mebibyte - 5, false],
    ['after the first MiB', mebibyte, false],
  ])('a text %s is found or not', async (_, start, isFound) => {
    const body = `${'x'.repeat(start)}needle`;
    const result = await checkResponse({ body_contains: 'needle' }, body);
    expect(result).toEqual(isFound ? up : down('the first MiB of the body does not contain "needle"'));
  });

  test.each([
    ['text/html; charset=iso-8859-1', 'latin1'],
    ['text/html;Charset="ISO-8859-1"', 'latin1'],
    ['text/html; charset=utf-16le', 'utf16le'],
    ['text/html; charset=unknown-1', 'utf8'],
    ['text/html; charset=', 'utf8'],
    ['text/html', 'utf8'],
  ] as const)('decodes a body of the type %s', async (type, encoding) => {
    const body = Buffer.from('Grüße aus Köln', encoding);
    expect(await checkResponse({ body_contains: 'Grüße aus Köln' }, body, { 'content-type': type })).toEqual(up);
  });

  test('finds a character of UTF-16 that is across the border of two pieces', async () => {
    const body = Buffer.from(`${'x'.repeat(piece / 2 - 1)}🐘${'x'.repeat(10)}`, 'utf16le');
    expect(await checkResponse({ body_contains: 'x🐘x' }, body, { 'content-type': 'text/html; charset=utf-16le' })).toEqual(up);
  });

  test('decodes a body without a type as UTF-8', async () => {
    expect(await checkResponse({ body_contains: 'ü' }, 'ü')).toEqual(up);
  });

  test('finds a text around bytes that are not valid', async () => {
    expect(await checkResponse({ body_contains: 'end' }, Buffer.from([0xff, 0xc3, ...Buffer.from('end')]))).toEqual(up);
  });
});

describe('body_not_contains', () => {
  test('is up if the body does not contain the text', async () => {
    expect(await checkResponse({ body_not_contains: 'error' }, 'fine')).toEqual(up);
  });

  test('is up with an empty body', async () => {
    expect(await checkResponse({ body_not_contains: 'error' }, '')).toEqual(up);
  });

  test('is down with the text if the body contains it', async () => {
    expect(await checkResponse({ body_not_contains: 'error' }, 'an error occurred')).toEqual(down('the body contains "error"'));
  });

  test('is down if the text is across the border of two pieces', async () => {
    const body = `${'x'.repeat(piece - 2)}error${'x'.repeat(piece)}`;
    expect(await checkResponse({ body_not_contains: 'error' }, body)).toEqual(down('the body contains "error"'));
  });

  test.each([
    ['down', 'is at the end of', mebibyte - 5],
    ['up', 'comes after', mebibyte],
  ])('is %s if the text %s the first MiB', async (status, _, start) => {
    const result = await checkResponse({ body_not_contains: 'error' }, `${'x'.repeat(start)}error`);
    expect(result).toEqual(status === 'up' ? up : down('the body contains "error"'));
  });

  test.each([
    ['found first', 'good, then bad', 'the body contains "bad"'],
    ['found last', `bad${'x'.repeat(piece)}good`, 'the body contains "bad"'],
    ['missing', 'bad', 'the body does not contain "good"'],
  ])('applies beside body_contains, whose text is %s', async (_, body, cause) => {
    expect(await checkResponse({ body_contains: 'good', body_not_contains: 'bad' }, body)).toEqual(down(cause));
  });
});

test.each([
  ['body_contains', { body_contains: 'a much longer text', body_not_contains: 'x1' }, up],
  ['body_not_contains', { body_contains: 'y', body_not_contains: 'a much longer text' }, down('the body contains "a much longer text"')],
])('the longer of two texts, %s, is found across the border of two pieces', async (_, options, expected) => {
  const body = `${'y'.repeat(64 * 1024 - 10)}a much longer text${'y'.repeat(64 * 1024)}`;
  expect(await checkResponse(options, body)).toEqual(expected);
});

describe('json', () => {
  const document = {
    status: 'ok',
    count: 3,
    ready: true,
    broken: false,
    nothing: null,
    checks: [{ state: 'up' }, { state: 'down' }],
    'a/b': 1,
    'a~b': 2,
    '~1': 3,
    '': { '': 'empty' },
    'ü 🐘': 'unicode',
    '0': 'zero',
  };

  test.each([
    ['/status', 'ok'],
    ['/count', 3],
    ['/ready', true],
    ['/broken', false],
    ['/nothing', null],
    ['/checks/0/state', 'up'],
    ['/checks/1/state', 'down'],
    ['/a~1b', 1],
    ['/a~0b', 2],
    ['/~01', 3],
    ['//', 'empty'],
    ['/ü 🐘', 'unicode'],
    ['/0', 'zero'],
  ])('finds the value at %s', async (pointer, equals) => {
    expect(await checkResponse({ json: { pointer, equals } }, JSON.stringify(document))).toEqual(up);
  });

  test.each([
    ['/status', 'OK', '"OK"'],
    ['/status', true, 'true'],
    ['/count', '3', '"3"'],
    ['/count', 4, '4'],
    ['/ready', 'true', '"true"'],
    ['/ready', 1, '1'],
    ['/nothing', false, 'false'],
    ['/nothing', 'null', '"null"'],
    ['/checks', '[object Object]', '"[object Object]"'],
    ['/checks/0', null, 'null'],
  ])('is down if the value at %s is not %j', async (pointer, equals, shown) => {
    const result = await checkResponse({ json: { pointer, equals } }, JSON.stringify(document));
    expect(result).toEqual(down(`the JSON value at ${pointer} is not ${shown}`));
  });

  test.each([
    '/missing',
    '/constructor',
    '/__proto__',
    '/toString',
    '/checks/length',
    '/checks/2',
    '/checks/-',
    '/checks/-1',
    '/checks/00',
    '/checks/01',
    '/checks/0x0',
    '/checks/1e0',
    '/checks/ 0',
    '/checks/',
    '/checks/99999999999999999999',
    '/checks/map',
    '/status/length',
    '/status/0',
    '/count/toFixed',
    '/nothing/x',
    '/a/b',
    '/status/',
  ])('is down if there is nothing at %s, even if null is expected', async (pointer) => {
    const result = await checkResponse({ json: { pointer, equals: null } }, JSON.stringify(document));
    expect(result).toEqual(down(`the JSON value at ${pointer} does not exist`));
  });

  test.each([
    ['"ok"', 'ok'],
    ['3', 3],
    [' null\n', null],
    ['false', false],
  ])('compares the whole document %j with an empty pointer', async (body, equals) => {
    expect(await checkResponse({ json: { pointer: '', equals } }, body)).toEqual(up);
    expect(await checkResponse({ json: { pointer: '', equals: 'other' } }, body)).toEqual(down('the JSON document is not "other"'));
  });

  test('finds own properties with the names of inherited ones', async () => {
    const body = '{"__proto__": {"constructor": 1}, "hasOwnProperty": 2}';
    expect(await checkResponse({ json: { pointer: '/__proto__/constructor', equals: 1 } }, body)).toEqual(up);
    expect(await checkResponse({ json: { pointer: '/hasOwnProperty', equals: 2 } }, body)).toEqual(up);
  });

  test.each([
    ['empty', ''],
    ['HTML', '<html>secret text</html>'],
    ['cut off', '{"status": "ok"'],
    ['two documents', '{} {}'],
  ])('is down if the body is %s', async (_, body) => {
    expect(await checkResponse({ json: { pointer: '/status', equals: 'ok' } }, body)).toEqual(down('the body is not valid JSON'));
  });

  test('accepts a byte order mark', async () => {
    expect(await checkResponse({ json: { pointer: '/status', equals: 'ok' } }, '\uFEFF{"status": "ok"}')).toEqual(up);
  });

  test('does not need the content type of JSON', async () => {
    const json = { pointer: '/status', equals: 'ok' };
    expect(await checkResponse({ json }, '{"status": "ok"}', { 'content-type': 'text/plain' })).toEqual(up);
  });

  const padded = (bytes: number) => JSON.stringify({ status: 'ok', padding: '' }).padEnd(bytes);

  test('parses a body of 128 KiB, and not a longer one', async () => {
    const json = { pointer: '/status', equals: 'ok' };
    expect(await checkResponse({ json }, padded(128 * 1024))).toEqual(up);
    const cause = 'the body is longer than 128 KiB, and is not parsed as JSON';
    expect(await checkResponse({ json }, padded(128 * 1024 + 1))).toEqual(down(cause));
    expect(await checkResponse({ json, body_contains: 'ok' }, padded(2 * mebibyte))).toEqual(down(cause));
  });

  test('a document of many levels is no problem', async () => {
    const levels = 60_000;
    const body = '['.repeat(levels) + ']'.repeat(levels);
    expect(await checkResponse({ json: { pointer: '/0/0/0/1', equals: 1 } }, body)).toEqual(
      down('the JSON value at /0/0/0/1 does not exist'),
    );
  });

  test('applies beside the texts', async () => {
    const options = { body_contains: 'status', json: { pointer: '/status', equals: 'ok' } };
    expect(await checkResponse(options, '{"status": "ok"}')).toEqual(up);
    expect(await checkResponse(options, '{"status": "bad"}')).toEqual(down('the JSON value at /status is not "ok"'));
  });
});

describe('a compressed body', () => {
  const compressed = down('the body is compressed, although that was not asked for, and cannot be searched');

  test.each([
    ['body_contains', { body_contains: 'ok' }],
    ['body_not_contains', { body_not_contains: 'ok' }],
    ['json', { json: { pointer: '', equals: 1 } }],
  ])('is down with %s', async (_, options) => {
    expect(await checkResponse(options, 'ok', { 'content-encoding': 'gzip' })).toEqual(compressed);
  });

  test('is up if nothing is searched', async () => {
    expect(await checkResponse({}, 'ok', { 'content-encoding': 'gzip' })).toEqual(up);
  });

  test.each(['identity', 'Identity', ''])('is not what the encoding "%s" means', async (encoding) => {
    expect(await checkResponse({ body_contains: 'ok' }, 'ok', { 'content-encoding': encoding })).toEqual(up);
  });
});

describe('a body whose pieces are so small that it is not read to its end', () => {
  const cut = down('the body was sent in pieces that are too small, and was not read to its end');
  beforeAll(() => {
    const chunks = `${'1\r\ny\r\n'.repeat(10_000)}4\r\nearl\r\n${'1\r\ny\r\n'.repeat(100_000)}4\r\nlate\r\n0\r\n\r\n`;
    target.script = (_, response) => void response.socket?.end(`HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${chunks}`);
  });

  test.each([
    ['contains a text at its beginning', { body_contains: 'earl' }, up],
    ['may contain a text', { body_contains: 'late' }, cut],
    ['contains a text at its beginning that it must not contain', { body_not_contains: 'earl' }, down('the body contains "earl"')],
    ['may contain a text that it must not contain', { body_not_contains: 'late' }, cut],
    ['contains a text at its beginning, and may contain another', { body_contains: 'earl', body_not_contains: 'late' }, cut],
    ['is expected to be JSON', { json: { pointer: '', equals: 1 } }, cut],
    ['is not searched', {}, up],
  ])('%s', async (_, options, expected) => {
    expect(await checkHttp(target.url, net, options)).toEqual(expected);
  });
});

test('over TLS, a body in small records is searched as well', async () => {
  const authority = await createAuthority();
  const server = await startWebServer({ certificate: await authority.issue('127.0.0.1') });
  onTestFinished(() => server.close());
  server.script = (_, { socket }) => {
    socket?.write('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nearly\r\n');
    // What is written after the chunk before has left becomes a record of its own.
    const more = (error?: Error | null) => error || socket?.write('14\r\nxxxxxxxxxxxxxxxxxxxx\r\n', more);
    more();
  };
  expect(await checkHttp(server.url, net, { verify_tls: false, body_contains: 'early' })).toMatchObject({ up: true });
});

describe('verify_tls', () => {
  let unknown: Authority;
  beforeAll(async () => {
    unknown = await createAuthority();
  });

  async function startHttps(certificate: { key: string; cert: string }): Promise<string> {
    const server = await startWebServer({ certificate });
    onTestFinished(() => server.close());
    return server.url;
  }

  async function startHttp2(certificate: { key: string; cert: string }): Promise<string> {
    const server = await startHttp2Server('127.0.0.1', certificate);
    onTestFinished(() => server.close());
    return `https://127.0.0.1:${server.port}`;
  }

  const past = { from: new Date('2025-01-31T00:00:00Z'), to: new Date('2026-01-31T12:00:00Z') };

  test.each([
    ['self-signed', async () => unknown, 'TLS certificate is self-signed'],
    ['of an unknown authority', () => unknown.issue('127.0.0.1'), 'TLS certificate signed by an unknown authority'],
    ['for another name', () => unknown.issue('other.example'), 'TLS certificate signed by an unknown authority'],
    ['expired', () => unknown.issue('127.0.0.1', past), 'TLS certificate expired on 2026-01-31'],
  ])('false accepts a certificate that is %s, and true does not', async (_, issue, cause) => {
    const url = await startHttps(await issue());
    expect(await checkHttp(url, net, { verify_tls: false })).toMatchObject(up);
    for (const options of [{ verify_tls: true }, {}]) expect(await checkHttp(url, net, options)).toMatchObject({ up: false, cause });
  });

  test('false accepts a self-signed certificate over HTTP/2, and true does not', async () => {
    const url = await startHttp2(unknown);
    expect(await checkHttp(url, net, { verify_tls: false })).toMatchObject(up);
    expect(await checkHttp(url, net)).toMatchObject({ up: false, cause: 'TLS certificate is self-signed' });
  });

  test('false still reports when the certificate expires, also over HTTP/2', async () => {
    const to = new Date('2099-01-31T12:00:00Z');
    const certificate = await unknown.issue('127.0.0.1', { ...past, to });
    for (const url of [await startHttps(certificate), await startHttp2(certificate)]) {
      expect(await checkHttp(url, net, { verify_tls: false })).toEqual({ ...up, certificate: { expiresAt: to, warningDays: 14 } });
    }
  });

  test.each([7, 365, null])('false reports tls_warning_days %s with the certificate', async (tls_warning_days) => {
    const url = await startHttps(unknown);
    const result = await checkHttp(url, net, { verify_tls: false, tls_warning_days });
    expect(result).toMatchObject({ certificate: { warningDays: tls_warning_days } });
  });

  test('applies to the targets of redirects', async () => {
    target.script = scripts.redirect(await startHttps(unknown));
    expect(await checkHttp(target.url, net, { verify_tls: false })).toMatchObject(up);
    expect(await checkHttp(target.url, net)).toMatchObject({ up: false, cause: 'TLS certificate is self-signed' });
  });

  test('of one check does not affect another on the same server', async () => {
    const url = await startHttps(unknown);
    const results = await Promise.all([checkHttp(url, net, { verify_tls: false }), checkHttp(url, net), checkHttp(url, net)]);
    expect(results.map((result) => 'up' in result && result.up)).toEqual([true, false, false]);
  });
});

describe('a server that speaks only HTTP/2', () => {
  async function start(headers: object, body: string) {
    const server = await startHttp2Server('127.0.0.1');
    onTestFinished(() => server.close());
    server.script = (stream) => {
      stream.respond({ ':status': 200, ...headers });
      stream.end(body);
    };
    return { server, url: `http://127.0.0.1:${server.port}` };
  }

  test('can be searched up to the first MiB', async () => {
    const { url } = await start({}, `${'x'.repeat(mebibyte - 6)}needle${'x'.repeat(mebibyte)}late`);
    expect(await checkHttp(url, net, { body_contains: 'needle', body_not_contains: 'late' })).toEqual(up);
  });

  test('gets the method, the headers and no body', async () => {
    const { server, url } = await start({}, 'ok');
    expect(await checkHttp(url, net, { method: 'DELETE', headers: [{ name: 'X-Key', value: 'long secret value' }] })).toEqual(up);
    expect(server.requests.at(-1)).toMatchObject({ headers: { ':method': 'DELETE', 'x-key': 'long secret value' }, body: '' });
  });

  test('responds to HEAD with the length of the body that GET would have', async () => {
    const { url } = await start({ 'content-length': 5 }, 'hello');
    expect(await checkHttp(url, net, { method: 'HEAD' })).toEqual(up);
  });

  test('responds with 304 and the length of the body that it does not send', async () => {
    const { server, url } = await start({}, '');
    server.script = (stream) => stream.respond({ ':status': 304, 'content-length': 5 }, { endStream: true });
    expect(await checkHttp(url, net, { expected_status: ['304'] })).toEqual(up);
  });
});

describe('the work for a body counts as that of the user of the monitor', () => {
  /** Checks a URL for the user 7. Returns whose turns the work waited for. */
  async function turnsOf(url: string, options: object) {
    const spy = vi.spyOn(turns, 'inTurn');
    onTestFinished(() => spy.mockRestore());
    const checked = { ...plainTarget, userId: 7, url, settings: httpSettings(options) };
    expect(await httpCheck.run(checked, { net, pinger: new Pinger(async () => undefined), cipher: testCipher })).toEqual(up);
    return [...new Set(spy.mock.calls.map(([kind, userId]) => `${kind} ${userId}`))].sort();
  }

  const body = JSON.stringify({ status: 'ok', padding: 'x'.repeat(8 * 1024) });

  test.each([
    ['text', { body_contains: 'ok' }],
    ['JSON', { json: { pointer: '/status', equals: 'ok' } }],
  ])('that is chunked, and searched for %s', async (_, options) => {
    target.script = (__, response) => {
      response.write(body);
      response.end();
    };
    expect(await turnsOf(target.url, options)).toEqual(['parsing 7', 'searching 7']);
  });

  test('that is sent over HTTP/2', async () => {
    const server = await startHttp2Server('127.0.0.1');
    onTestFinished(() => server.close());
    expect(await turnsOf(`http://127.0.0.1:${server.port}`, { body_contains: 'ok' })).toEqual(['parsing 7', 'searching 7']);
  });
});

describe('timeout_seconds', () => {
  test('ends a check of a server that hangs', async () => {
    target.script = scripts.hang();
    expect(await checkHttp(target.url, net, {}, 1)).toEqual({
      up: false,
      cause: 'timed out after 1 s waiting for the response',
      statusCode: null,
      reply: 'earlier',
    });
  });

  test('ends a check whose body stalls', async () => {
    target.script = scripts.stall();
    expect(await checkHttp(target.url, net, { body_contains: 'so far' }, 1)).toMatchObject({
      up: false,
      cause: 'timed out after 1 s while reading the body',
    });
  });
});

describe('a stream of events', () => {
  const events = (end: (response: ServerResponse) => void) => {
    target.script = (_, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' }).write('data: hello\n\n');
      end(response);
    };
  };

  test('is up with its head if nothing is searched', async () => {
    events(() => {});
    expect(await checkHttp(target.url, net, { expected_status: ['200'] })).toEqual(up);
  });

  test('that ends is searched', async () => {
    events((response) => response.end('data: bye\n\n'));
    expect(await checkHttp(target.url, net, { body_contains: 'bye' })).toEqual(up);
    expect(await checkHttp(target.url, net, { body_not_contains: 'hello' })).toEqual(down('the body contains "hello"'));
  });

  test('that does not end is down with a timeout if something is searched', async () => {
    events(() => {});
    expect(await checkHttp(target.url, net, { body_not_contains: 'x' }, 1)).toMatchObject({
      up: false,
      cause: 'timed out after 1 s while reading the body',
      reply: 'earlier',
    });
  });
});

const secret = 'Bearer very-secret-token';
const bodyText = 'private-response-text';

test.each<[string, object, (response: ServerResponse) => void]>([
  ['a status that is not expected', { expected_status: ['404'] }, (response) => response.end(bodyText)],
  ['a text that is missing', { body_contains: 'x-x' }, (response) => response.end(bodyText)],
  ['a text that must be missing', { body_not_contains: 'private' }, (response) => response.end(bodyText)],
  ['a body that is no JSON', { json: { pointer: '', equals: 1 } }, (response) => response.end(bodyText)],
  ['another JSON value', { json: { pointer: '/0', equals: 1 } }, (response) => response.end(`["${bodyText}"]`)],
  ['a compressed body', { body_contains: 'x' }, (response) => response.writeHead(200, { 'content-encoding': bodyText }).end(bodyText)],
  ['a redirect to an invalid target', {}, (response) => response.writeHead(302, { location: `ftp://${bodyText}/` }).end()],
  ['a response that is no HTTP', {}, (response) => void response.socket?.end(bodyText)],
])('the cause of %s contains neither a secret header nor the response', async (_, options, respond) => {
  target.script = (__, response) => respond(response);
  const result = await checkHttp(target.url, net, { ...options, headers: [{ name: 'Authorization', value: secret }] });
  expect(target.requests.at(-1)?.headers.authorization).toBe(secret);
  expect(result).toMatchObject({ up: false, cause: expect.any(String) });
  expect(JSON.stringify(result)).not.toMatch(/very-secret|token|private-response/);
});

describe('describe', () => {
  const describeCheck = (options: object) =>
    httpCheck.describe({
      intervalSeconds: 60,
      url: 'https://shop.example/',
      timeoutSeconds: 5,
      settings: httpOptions.merge({ ...options }, { monitor: plainTarget, stored: {}, isSameOrigin: false, cipher: testCipher }),
    });

  test('says what a check with the default options does', () => {
    expect(describeCheck({})).toBe('Send GET to https://shop.example/, follow up to 5 redirects, and expect status 2xx within 5 s.');
  });

  test('says everything that is expected', () => {
    const options = {
      method: 'POST',
      follow_redirects: false,
      expected_status: ['200', '301'],
      body_contains: 'a "b"',
      body_not_contains: 'c',
      json: { pointer: '', equals: null },
    };
    expect(describeCheck(options)).toBe(
      'Send POST to https://shop.example/, follow no redirects, and expect status 200 or 301, a body with "a \\"b\\"", ' +
        'a body without "c" and null at the root of its JSON within 5 s.',
    );
  });

  test('mentions headers and a body, but not what they are', () => {
    const headers = [{ name: 'X-Key', value: 'long secret value' }];
    const sent = 'to https://shop.example/, follow up to 5 redirects, and expect status 2xx within 5 s.';
    expect(describeCheck({ headers })).toBe(`Send GET with 1 header ${sent}`);
    expect(describeCheck({ body: 'password=1', method: 'POST' })).toBe(`Send POST with a body ${sent}`);
    const two = [...headers, { name: 'Accept', value: 'text/html' }];
    expect(describeCheck({ headers: two, body: 'x', verify_tls: false })).toBe(
      `Send GET with 2 headers and a body ${sent} Accept any certificate.`,
    );
  });
});
