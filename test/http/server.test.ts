// What the HTTP server rejects before a request reaches the application. No application is needed for that.
import type { RequestListener } from 'node:http';
import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { generateKey } from '../../src/auth/api-key.ts';
import { type HttpServer, listen } from '../../src/http/server.ts';
import { expectRawProblem, type RawResponse, rawExchange } from '../support/raw-http.ts';

let server: HttpServer;

beforeAll(async () => {
  server = await listen({ host: '127.0.0.1', port: 0 });
  server.setHandler(respondAfterBody);
});
afterAll(() => server.close());

const respondAfterBody: RequestListener = (request, response) =>
  request
    .on('error', () => {})
    .on('end', () => response.end('ok'))
    .resume();

const host = 'Host: x\r\nConnection: close\r\n';
const repeatedHost = 'The Host header must not be given more than once.';
const invalidUrl = 'The URL in the first line of the request is not valid.';
const invalidHost = 'The Host header is not a host name with an optional port.';
const headers = (count: number) => Array.from({ length: count }, (_, index) => `h${index}: 1\r\n`).join('');

function expectProblem(response: RawResponse, status: number, code: string, title: string, detail: string) {
  expectRawProblem(response, status, code, detail);
  expect(['X-Content-Type-Options', 'Cache-Control'].map((name) => response.headers.get(name))).toEqual(['nosniff', 'no-store']);
  expect(JSON.parse(response.body)).toEqual({
    type: `${server.url}/docs/problems/${code}`,
    title,
    status,
    detail,
    instance: '/',
    code,
    request_id: expect.any(String),
  });
}

test.each<[string, string, string]>([
  [
    'text that is not HTTP',
    'NOT HTTP\r\n\r\n',
    'The request is not valid HTTP. If its URL contains characters that are not ASCII, percent-encode them.',
  ],
  [
    'a body that ends before its Content-Length',
    `POST / HTTP/1.1\r\n${host}Content-Length: 9\r\n\r\n{}`,
    'The request is not valid HTTP. If its URL contains characters that are not ASCII, percent-encode them.',
  ],
  ['a request without Host', 'GET / HTTP/1.1\r\nConnection: close\r\n\r\n', 'The Host header is missing.'],
  ['an empty Host', 'GET / HTTP/1.1\r\nHost: \r\nConnection: close\r\n\r\n', invalidHost],
  ['two Host headers', 'GET / HTTP/1.1\r\nHost: a.example\r\nhost: b.example\r\nConnection: close\r\n\r\n', repeatedHost],
  ['the same Host twice', 'GET / HTTP/1.1\r\nHost: x\r\nHost: x\r\nConnection: close\r\n\r\n', repeatedHost],
  ['two Host headers with HTTP/1.0', 'GET / HTTP/1.0\r\nHost: a.example\r\nHost: b.example\r\n\r\n', repeatedHost],
  ...[
    'a b',
    'a/b',
    'a@b',
    'a,b c',
    'http://a.example',
    'a:b',
    'a:123456',
    'a:65536',
    'a%zz',
    '[1]',
    '[::1',
    '::1',
    'ü.example',
    'a\\b',
    'a?b',
    'a#b',
  ].map(
    (name) => [`the Host ${name}`, `GET / HTTP/1.1\r\nHost: ${name}\r\nConnection: close\r\n\r\n`, invalidHost] as [string, string, string],
  ),
  ...['http://[/', 'http://[::1', 'http://', 'http://[::1]:x/a', 'http://a:99999/', 'ftp://a.example/'].map(
    (url) => [`the URL ${url}`, `GET ${url} HTTP/1.1\r\n${host}\r\n`, invalidUrl] as [string, string, string],
  ),
  ['a proxy request', 'CONNECT example.com:443 HTTP/1.1\r\nHost: example.com\r\n\r\n', 'This service is not a proxy.'],
])('returns 400 for %s', async (_, request, detail) => {
  const response = await rawExchange(server.url, (socket) => socket.end(request));
  expectProblem(response, 400, 'malformed_request', 'Malformed request', detail);
});

test.each(['x', 'a.example', 'A.Example.', 'a.example:8080', 'a.example:', '127.0.0.1:80', '[::1]', '[2001:db8::1]:443', 'a_b.example'])(
  'accepts the Host %s',
  async (name) => {
    const request = `GET / HTTP/1.1\r\nHost: ${name}\r\nConnection: close\r\n\r\n`;
    expect((await rawExchange(server.url, request)).status).toBe(200);
  },
);

test('accepts a complete URL, as clients send it to a proxy', async () => {
  expect((await rawExchange(server.url, `GET http://a.example:8080/x?y=1 HTTP/1.1\r\n${host}\r\n`)).status).toBe(200);
});

test('keeps idle connections for longer than the minute of proxies', async () => {
  const { headers } = await fetch(server.url);
  expect(headers.get('Keep-Alive')).toBe('timeout=65');
});

test('after a response that closes the connection, a further request has no effect', async () => {
  const closing = await listen({ host: '127.0.0.1', port: 0 });
  const handled: string[] = [];
  closing.setHandler((request, response) => {
    handled.push(request.url ?? '');
    request.resume();
    response.setHeader('Connection', 'close').end('done');
  });
  try {
    const requests = ['/1', '/2', '/3'].map((path) => `POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}`);
    const { text } = await rawExchange(closing.url, requests.join(''));
    expect([text.match(/HTTP\/1\.1 \d+/g), handled]).toEqual([['HTTP/1.1 200'], ['/1']]);
  } finally {
    await closing.close();
  }
});

test('handles one request of a connection at a time: further ones wait until the client reads', async () => {
  const large = await listen({ host: '127.0.0.1', port: 0 });
  const handled: string[] = [];
  large.setHandler((request, response) => {
    handled.push(request.url ?? '');
    response.end(Buffer.alloc(20_000_000));
  });
  const socket = connect(Number(new URL(large.url).port), '127.0.0.1');
  try {
    socket.pause().write(['/1', '/2', '/3'].map((path) => `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`).join(''));
    await expect.poll(() => handled).toEqual(['/1']);
    await delay(200);
    expect(handled).toEqual(['/1']);
    socket.resume();
    await expect.poll(() => handled, { timeout: 10_000 }).toEqual(['/1', '/2', '/3']);
  } finally {
    socket.destroy();
    await large.close();
  }
});

test('a request that is not valid HTTP does not replace the response to the one before it', async () => {
  const slow = await listen({ host: '127.0.0.1', port: 0 });
  slow.setHandler((request, response) => {
    request.resume();
    setTimeout(() => response.end('first response'), 50);
  });
  try {
    const { text } = await rawExchange(slow.url, 'GET / HTTP/1.1\r\nHost: x\r\n\r\nGARBAGE\r\n\r\n');
    expect(text.match(/HTTP\/1\.1 \d+|first response/g)).toEqual(['HTTP/1.1 200', 'first response', 'HTTP/1.1 400']);
  } finally {
    await slow.close();
  }
});

test('accepts HTTP/1.0 without Host', async () => {
  expect((await rawExchange(server.url, 'GET / HTTP/1.0\r\n\r\n')).status).toBe(200);
});

test.each([
  ['', 'GET / HTTP/1.1\r\nHost: x\r\n\r\n'],
  [' that asks to close the connection', `GET / HTTP/1.1\r\n${host}\r\n`],
  [' with a body', 'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}'],
])('a client that closes its side after a request%s still gets the response, and the connection is closed', async (_, request) => {
  const slow = await listen({ host: '127.0.0.1', port: 0 });
  // The end of the connection arrives while the request is handled.
  slow.setHandler((incoming, response) => {
    incoming.resume().socket.once('end', () => setTimeout(() => response.end('late response'), 50));
  });
  try {
    const response = await rawExchange(slow.url, (socket) => socket.end(request));
    expect([response.status, response.text]).toEqual([200, expect.stringContaining('late response')]);
  } finally {
    await slow.close();
  }
});

test('masks an API key in the path of a request that is rejected early', async () => {
  const key = generateKey();
  const response = await rawExchange(server.url, `GET /${key} HTTP/1.1\r\n${host}${headers(250)}\r\n`);
  expect([response.status, JSON.parse(response.body).instance]).toEqual([431, `/${key.slice(0, 9)}****`]);
  expect(response.text).not.toContain(key.slice(9));
});

test('returns 431 for more than 16 KiB of headers', async () => {
  const title = 'Request headers too large';
  const detail = 'The headers can be at most 16 KiB in total.';
  for (const request of [
    `GET / HTTP/1.1\r\n${host}X-Long: ${'x'.repeat(17 * 1024)}\r\n\r\n`,
    `GET /${'x'.repeat(17 * 1024)} HTTP/1.1\r\n${host}\r\n`,
  ]) {
    expectProblem(await rawExchange(server.url, request), 431, 'headers_too_large', title, detail);
  }
  expect((await rawExchange(server.url, `GET / HTTP/1.1\r\n${host}X-Long: ${'x'.repeat(15 * 1024)}\r\n\r\n`)).status).toBe(200);
});

test('returns 431 for more than 200 headers, however short they are', async () => {
  const title = 'Request headers too large';
  const detail = 'A request can have at most 200 headers.';
  const send = (count: number) => rawExchange(server.url, `GET / HTTP/1.1\r\n${host}${headers(count)}\r\n`);
  // Host and Connection are the other two.
  expect((await send(198)).status).toBe(200);
  for (const count of [199, 500]) expectProblem(await send(count), 431, 'headers_too_large', title, detail);
  // The parser counts some bytes for each header, so that 1,000 headers are also too many bytes.
  expectRawProblem(await send(1000), 431, 'headers_too_large', '1,000 headers');
});

test.concurrent.each([
  ['request without the end of its headers', 'GET / HTTP/1.1\r\nHost: x\r\nX-Slow: '],
  ['request without the end of its body', 'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n{"'],
])('returns 408 after 6 seconds for a %s', async (_, start) => {
  const slow = await listen({ host: '127.0.0.1', port: 0 });
  slow.setHandler(respondAfterBody);
  try {
    const response = await rawExchange(slow.url, start);
    expectRawProblem(response, 408, 'request_timeout', start);
    expect(response.headers.get('X-Content-Type-Options')).toBe('nosniff');
    expect(JSON.parse(response.body)).toMatchObject({
      title: 'Request timeout',
      detail: 'The request did not arrive within 6 seconds.',
    });
    expect(response.ms).toBeGreaterThan(5900);
  } finally {
    await slow.close();
  }
});

test('returns 503 until a handler is set, and for /readyz once it drains', async () => {
  const starting = await listen({ host: '127.0.0.1', port: 0 });
  const get = async (path: string) => {
    const response = await fetch(starting.url + path);
    if (response.status === 503) expect(response.headers.get('X-Content-Type-Options')).toBe('nosniff');
    return [response.status, response.headers.get('Connection'), response.headers.get('Retry-After'), await response.text()] as const;
  };
  try {
    const [status, , retryAfter, text] = await get('/readyz');
    expect([status, retryAfter]).toEqual([503, '1']);
    expect(JSON.parse(text)).toMatchObject({ code: 'unavailable', title: 'Service unavailable', detail: 'The service is starting.' });
    starting.setHandler((_, response) => response.end('ok'));
    expect(await get('/readyz')).toEqual([200, 'keep-alive', null, 'ok']);
    starting.drain();
    // Clients keep their connections: each new one could arrive at the moment the port is closed.
    expect(await get('/api/monitors')).toEqual([200, 'keep-alive', null, 'ok']);
    const [drainingStatus, connection, , drainingText] = await get('/readyz');
    expect([drainingStatus, connection]).toEqual([503, 'keep-alive']);
    expect(JSON.parse(drainingText)).toMatchObject({ code: 'unavailable', detail: 'The service is shutting down.' });
  } finally {
    await starting.close();
  }
});
