// What every operation refuses in the same way, in the order in which it is refused.
import { request } from 'node:http';
import { connect } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createKey } from '../../src/accounts/keys.ts';
import { generateKey } from '../../src/auth/api-key.ts';
import { ApiClient } from '../support/api-client.ts';
import { startService, type TestService, type TestUser } from '../support/service.ts';

let service: TestService;
let user: TestUser;

beforeAll(async () => {
  service = await startService();
  user = await service.createUser();
});
afterAll(() => service.stop());

const withKey = (authorization: string) => new ApiClient(service.url, { Authorization: authorization });
const json = { 'Content-Type': 'application/json' };

test('404 for an unknown path of either API, and outside them', async () => {
  for (const path of ['/api/nope', '/api/v1/nope', '/api', '/api/v1', '/api/monitors/', '/nope', '/docs/nope']) {
    const { status, headers, body } = await user.api.get(path);
    expect([path, status, body.code, headers.get('Content-Type')]).toEqual([path, 404, 'not_found', 'application/problem+json']);
    expect(body).toMatchObject({ type: `${service.url}/docs/problems/not_found`, instance: path, request_id: headers.get('X-Request-Id') });
  }
});

test('404 for a path that is not percent-encoded UTF-8', async () => {
  expect((await user.api.get('/api/monitors/%FF')).status).toBe(404);
});

test('405 with Allow for a method the path does not take, before the key is asked for', async () => {
  const { status, headers, body } = await service.stranger.put('/api/monitors');
  expect([status, body.code, headers.get('Allow')]).toEqual([405, 'method_not_allowed', 'GET, HEAD, POST, OPTIONS']);
});

test('OPTIONS is 204 with Allow', async () => {
  const { status, headers } = await service.stranger.request('OPTIONS', '/api/v1/websites/7');
  expect(status).toBe(204);
  expect(headers.get('Allow')).toBe('GET, HEAD, PUT, DELETE, PATCH, OPTIONS');
});

test.each(['/healthz', '/readyz', '/openapi/websites.json'])('%s can only be read: 405 and OPTIONS with Allow', async (path) => {
  for (const [method, expected] of [
    ['POST', 405],
    ['DELETE', 405],
    ['OPTIONS', 204],
    ['GET', 200],
  ] as const) {
    const { status, headers } = await service.stranger.request(method, path);
    expect([method, status, headers.get('Allow')]).toEqual([method, expected, expected === 200 ? null : 'GET, HEAD, OPTIONS']);
  }
});

test('what may not stand in a path is encoded in the instance of a problem', async () => {
  const instances = [];
  for (const path of ['/api/monitors/{id}', '/api/monitors/a|b^c', '/api/monitors/%41', '/nope/[1]']) {
    const answer = await new Promise<string>((resolve, reject) => {
      request({ host: '127.0.0.1', port: new URL(service.url).port, path, headers: { Authorization: 'Bearer x' } })
        .on('response', async (response) => resolve((await response.toArray()).join('')))
        .on('error', reject)
        .end();
    });
    instances.push(JSON.parse(answer).instance);
  }
  expect(instances).toEqual(['/api/monitors/%7Bid%7D', '/api/monitors/a%7Cb%5Ec', '/api/monitors/%41', '/nope/%5B1%5D']);
});

test('one mistake is told once', async () => {
  const told = async (path: string, options = {}) =>
    (await user.api.request(path.startsWith('/api/v1/websites?') ? 'GET' : 'POST', path, options)).body.errors;
  expect(await told('/api/v1/websites?page=9007199254740991')).toEqual([expect.objectContaining({ name: 'page', code: 'maximum' })]);
  expect(await told('/api/v1/websites', { form: { domain: 'a.example', privacy: 'public' } })).toEqual([
    expect.objectContaining({ pointer: '/privacy', code: 'enum', message: 'must be one of 0, 1, 2' }),
  ]);
  expect(await told('/api/keys', { json: { name: 'a\u0000b', scopes: ['monitors:read'] } })).toEqual([
    expect.objectContaining({ pointer: '/name', code: 'invalid_character' }),
  ]);
  expect(await told('/api/keys', { json: { name: 'K', scopes: ['monitors:read'] }, headers: { 'Idempotency-Key': '' } })).toEqual([
    expect.objectContaining({ name: 'Idempotency-Key', code: 'length' }),
  ]);
});

test('HEAD is answered like GET, without a body', async () => {
  const { status, headers, text } = await user.api.request('HEAD', '/api/v1/websites');
  expect([status, text, headers.get('Content-Type')]).toEqual([200, '', 'application/json']);
  expect(Number(headers.get('Content-Length'))).toBeGreaterThan(0);
});

test('401 with WWW-Authenticate without a key', async () => {
  const { status, headers, body } = await service.stranger.get('/api/monitors');
  expect([status, body.code, headers.get('WWW-Authenticate')]).toEqual([401, 'unauthenticated', 'Bearer']);
});

test.each([
  ['another scheme', 'Basic dXNlcjpwYXNz'],
  ['no value', 'Bearer'],
  ['a made-up value', 'Bearer secret'],
  ['an unknown key', `Bearer ${generateKey()}`],
  ['a wrong checksum', 'Bearer stkp_EXAMPLEexampleEXAMPLEexample01234567'],
  ['two keys', `Bearer ${generateKey()} ${generateKey()}`],
  ['10,000 characters', `Bearer ${'x'.repeat(10_000)}`],
])('401 for %s', async (_, authorization) => {
  const { status, body } = await withKey(authorization).get('/api/monitors');
  expect([status, body.code]).toEqual([401, 'invalid_key']);
});

test('401 for two Authorization headers, though one of them is good', async () => {
  const key = generateKey();
  await service.database.asUser(user.id, (em) => createKey(em, { userId: user.id, key, name: 'Twice', scopes: ['monitors:read'] }));
  const status = await new Promise((resolve, reject) => {
    const sent = request(`${service.url}/api/monitors`, { headers: { Authorization: [`Bearer ${key}`, `Bearer ${key}`] as never } });
    sent
      .on('response', (response) => resolve(response.statusCode))
      .on('error', reject)
      .end();
  });
  expect(status).toBe(401);
});

test('401 for a key that has expired', async () => {
  const key = generateKey();
  await service.database.asUser(user.id, (em) =>
    createKey(em, { userId: user.id, key, name: 'Old', scopes: ['monitors:read'], expiresAt: new Date(Date.now() - 1000) }),
  );
  expect((await withKey(`Bearer ${key}`).get('/api/monitors')).body.code).toBe('invalid_key');
});

test('401 for a key on an operation that takes only a session', async () => {
  expect((await user.api.get('/api/session')).status).toBe(401);
});

test('403 comes before 415, 415 before 400', async () => {
  const reader = await user.withScopes('monitors:read');
  expect((await reader.post('/api/monitors', { headers: { 'Content-Type': 'text/plain' }, raw: '{' })).status).toBe(403);
  expect((await user.api.post('/api/monitors', { headers: { 'Content-Type': 'text/plain' }, raw: '{' })).status).toBe(415);
});

test('406 where Accept rules out JSON, and only there', async () => {
  for (const accept of ['application/json; charset=utf-8', 'application/json;charset=UTF-8, text/plain;q=0.9']) {
    expect([accept, (await user.api.get('/api/monitors', { headers: { Accept: accept } })).status]).toEqual([accept, 200]);
  }
  expect((await user.api.get('/api/monitors', { headers: { Accept: 'text/html' } })).body.code).toBe('not_acceptable');
  expect((await user.api.get('/api/monitors', { headers: { Accept: 'application/json;q=0' } })).status).toBe(406);
  for (const accept of ['*/*', 'application/*', 'text/html, application/json;q=0.1']) {
    expect((await user.api.get('/api/monitors', { headers: { Accept: accept } })).status).toBe(200);
  }
});

test('an error is problem+json even where Accept names only application/json', async () => {
  const { headers } = await service.stranger.get('/api/monitors', { headers: { Accept: 'application/json' } });
  expect(headers.get('Content-Type')).toBe('application/problem+json');
});

test.each([
  ['another type', { 'Content-Type': 'text/plain' }],
  ['another charset', { 'Content-Type': 'application/json; charset=iso-8859-1' }],
  ['an unknown Content-Encoding', { ...json, 'Content-Encoding': 'zstd' }],
])('415 for %s', async (_, headers) => {
  const { status, body } = await user.api.post('/api/monitors', { headers, raw: '{}' });
  expect([status, body.code]).toEqual([415, 'unsupported_media_type']);
});

test('413 for a body of 1 MB, announced or in chunks', async () => {
  const chunked = new ReadableStream({
    start(controller) {
      for (let chunk = 0; chunk < 100; chunk++) controller.enqueue(new Uint8Array(10_000));
      controller.close();
    },
  });
  for (const raw of ['x'.repeat(1_000_000), chunked]) {
    const { status, body } = await user.api.post('/api/monitors', { headers: json, raw });
    expect([status, body.code]).toEqual([413, 'body_too_large']);
  }
});

test.each([
  ['a comma too many', '{"a":1,}', 'malformed_json'],
  ['half an object', '{"a":', 'malformed_json'],
  ['a key twice', '{"url":"a","url":"a"}', 'duplicate_key'],
  ['a key twice, once escaped', '{"url":"a","\\u0075rl":"b"}', 'duplicate_key'],
  ['a key twice far down', '{"x":[{"y":{"z":1,"z":1}}]}', 'duplicate_key'],
])('400 for JSON with %s', async (_, raw, code) => {
  const { status, body } = await user.api.post('/api/monitors', { headers: json, raw });
  expect([status, body.code]).toEqual([400, code]);
});

test('400 for JSON that is not UTF-8', async () => {
  const { body } = await user.api.post('/api/monitors', { headers: json, raw: new Uint8Array([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]) });
  expect(body.code).toBe('malformed_encoding');
});

test.each([
  ['an array', '[]'],
  ['null', 'null'],
  ['a number over the range', '{"friendly_name":"a","url":"https://example.com","interval":1e400}'],
  ['100,000 levels', '['.repeat(100_000) + ']'.repeat(100_000)],
  ['a lone surrogate', '{"friendly_name":"\\ud800","url":"https://example.com"}'],
  ['NUL', '{"friendly_name":"a\\u0000b","url":"https://example.com"}'],
  ['__proto__ and constructor', '{"friendly_name":"a","url":"https://example.com","__proto__":{"x":1},"constructor":{}}'],
  ['nothing', ''],
])('422 for JSON that is %s', async (_, raw) => {
  const { status, body } = await user.api.post('/api/monitors', { headers: json, raw });
  expect([status, body.code]).toEqual([422, 'validation_failed']);
  expect(Object.prototype).not.toHaveProperty('x');
});

test.each(['abc', '0', '-1', '1.0', '1e3', '0x1', '9007199254740993', '%20', '99999999999999999999'])('422 for the id %s', async (id) => {
  const { status, body } = await user.api.get(`/api/monitors/${id}`);
  expect([status, body.errors[0].name]).toEqual([422, 'id']);
});

test("the caller's X-Request-Id is kept where it is well-formed", async () => {
  expect((await user.api.get('/api/monitors', { headers: { 'X-Request-Id': 'my.id-1' } })).headers.get('X-Request-Id')).toBe('my.id-1');
  const replaced = (await user.api.get('/api/monitors', { headers: { 'X-Request-Id': 'a b"c' } })).headers.get('X-Request-Id');
  expect(replaced).toMatch(/^[0-9a-f-]{36}$/);
});

test('a page of any origin may read the answer and its headers', async () => {
  const { headers } = await user.api.get('/api/monitors', { headers: { Origin: 'https://app.example.com' } });
  expect(headers.get('Access-Control-Allow-Origin')).toBe('*');
  expect(headers.get('Access-Control-Expose-Headers')).toContain('RateLimit');
  expect(headers.get('Access-Control-Allow-Credentials')).toBeNull();
});

test('CORS_ORIGINS narrows that to the origins it names', async () => {
  const narrow = await startService({ corsOrigins: ['https://app.example.com'] }, { database: service.database });
  try {
    const origin = async (given: string) =>
      (await narrow.stranger.get('/api/monitors', { headers: { Origin: given } })).headers.get('Access-Control-Allow-Origin');
    expect(await origin('https://app.example.com')).toBe('https://app.example.com');
    expect(await origin('https://evil.example.com')).toBeNull();
  } finally {
    await narrow.stop();
  }
});

test('what the HTTP parser itself refuses is a problem too', async () => {
  const answer = await new Promise<string>((resolve) => {
    const socket = connect(Number(new URL(service.url).port), '127.0.0.1', () => socket.write('NOT HTTP\r\n\r\n'));
    let text = '';
    socket.on('data', (data) => {
      text += data;
    });
    socket.on('close', () => resolve(text));
  });
  expect(answer).toMatch(/^HTTP\/1\.1 400 /);
  expect(JSON.parse(answer.split('\r\n\r\n')[1] ?? '')).toMatchObject({ status: 400, code: 'malformed_request' });
});

test('431 for 17 KiB of headers', async () => {
  const response = await fetch(`${service.url}/api/monitors`, { headers: { 'X-Long': 'x'.repeat(17 * 1024) } });
  expect(response.status).toBe(431);
  expect(await response.json()).toMatchObject({ code: 'headers_too_large', type: `${service.url}/docs/problems/headers_too_large` });
});

test('431 for 1,000 headers, however short', async () => {
  const response = await fetch(`${service.url}/api/monitors`, {
    headers: Object.fromEntries(Array.from({ length: 1000 }, (_, index) => [`h${index}`, '1'])),
  });
  expect(response.status).toBe(431);
  expect(await response.json()).toMatchObject({ code: 'headers_too_large' });
});

test('a 422 stays as small as the contract says, whatever the body is made of', async () => {
  const bodies = [
    `${'['.repeat(20_000)}${'"\\u0000",'.repeat(20_000)}1${']'.repeat(20_000)}`,
    `{${Array.from({ length: 20_000 }, (_, index) => `"f${index}":1`).join()}}`,
    `{"${'x'.repeat(100_000)}":1}`,
  ];
  for (const raw of bodies) expect((await user.api.post('/api/monitors', { headers: json, raw })).status).toBe(422);
});
