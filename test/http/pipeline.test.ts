// What every operation does before its handler runs, in the order of the steps.
import { request } from 'node:http';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ApiClient } from '../support/api-client.ts';
import { startService, type TestService, type TestUser } from '../support/service.ts';
import { createMonitor, password, signIn } from '../support/valid-requests.ts';

let service: TestService;
let user: TestUser;

beforeAll(async () => {
  service = await startService();
  user = await service.createUser(password);
});
afterAll(() => service.stop());

test.each(['/api/nope', '/api/v1/nope', '/api', '/api/v1', '/api/monitors/', '/nope', '/docs/nope'])(
  'returns 404 for the unknown path %s',
  async (path) => {
    const { status, headers, body } = await user.api.get(path);
    expect([status, headers.get('Content-Type')]).toEqual([404, 'application/problem+json']);
    expect(body).toEqual({
      type: `${service.url}/docs/problems/not_found`,
      title: 'Not found',
      status: 404,
      detail: 'No such endpoint. Check the path against the API reference.',
      instance: path,
      code: 'not_found',
      request_id: headers.get('X-Request-Id'),
    });
  },
);

test.each([
  ['/api/monitors/17', 'Monitor 17 was not found.'],
  ['/api/monitors/17/incidents', 'Monitor 17 was not found.'],
  ['/api/monitors/17/notifications', 'Monitor 17 was not found.'],
  ['/api/providers/3', 'Provider 3 was not found.'],
  ['/api/v1/websites/7', 'Website 7 was not found.'],
  ['/api/v1/domains/example.com', 'Website "example.com" was not found.'],
])('returns 404 with the name of the missing resource for %s', async (path, detail) => {
  const { status, body } = await user.api.get(path);
  expect([status, body.code, body.title, body.detail]).toEqual([404, 'not_found', 'Not found', detail]);
});

test('returns 404 with the name of the missing resource for a deletion', async () => {
  const monitorId = await createMonitor({ service, user });
  for (const [path, detail] of [
    ['/api/keys/4000', 'API key 4000 was not found.'],
    [`/api/monitors/${monitorId}/notifications?provider_id=3`, `Provider 3 is not assigned to monitor ${monitorId}.`],
  ] as const) {
    const { status, body } = await user.api.delete(path);
    expect([status, body.code, body.detail]).toEqual([404, 'not_found', detail]);
  }
});

test('returns 404 for a path that is not percent-encoded UTF-8', async () => {
  const { status, body } = await user.api.get('/api/monitors/%FF');
  expect([status, body.detail]).toEqual([404, 'No such endpoint. Check the path against the API reference.']);
});

test('returns 405 with Allow for another method, without asking for credentials', async () => {
  const { status, headers, body } = await service.anonymous.put('/api/monitors');
  expect([status, body.code, headers.get('Allow')]).toEqual([405, 'method_not_allowed', 'GET, HEAD, POST, OPTIONS']);
  expect(body.detail).toBe('This path does not support PUT. It supports GET, HEAD, POST, OPTIONS.');
});

test('returns 204 with Allow for OPTIONS', async () => {
  const { status, headers } = await service.anonymous.request('OPTIONS', '/api/v1/websites/7');
  expect([status, headers.get('Allow')]).toEqual([204, 'GET, HEAD, PUT, DELETE, PATCH, OPTIONS']);
});

test.each(['/healthz', '/readyz', '/openapi/websites.json'])('%s is read-only: other methods return 405 with Allow', async (path) => {
  for (const [method, expected] of [
    ['POST', 405],
    ['DELETE', 405],
    ['OPTIONS', 204],
    ['GET', 200],
  ] as const) {
    const { status, headers } = await service.anonymous.request(method, path);
    expect([method, status, headers.get('Allow')]).toEqual([method, expected, expected === 200 ? null : 'GET, HEAD, OPTIONS']);
  }
});

test('responds to HEAD like to GET, without a body', async () => {
  const { status, headers, text } = await user.api.request('HEAD', '/api/v1/websites');
  expect([status, text, headers.get('Content-Type')]).toEqual([200, '', 'application/json']);
  expect(Number(headers.get('Content-Length'))).toBeGreaterThan(0);
});

describe.each([{}, { Origin: 'https://app.example.com' }])('with the headers %j', (headers) => {
  test('every response of the APIs varies by credentials and origin, and is not sniffed', async () => {
    const id = await createMonitor({ service, user });
    const { headers: shown } = await user.api.get(`/api/monitors/${id}`);
    const responses = {
      item: await user.api.get(`/api/monitors/${id}`, { headers }),
      unchanged: await user.api.get(`/api/monitors/${id}`, { headers: { ...headers, 'If-None-Match': shown.get('ETag') ?? '' } }),
      list: await user.api.get('/api/v1/websites', { headers }),
      created: await user.api.post('/api/v1/websites', { headers, form: { domain: `vary-${id}.example` } }),
      invalid: await user.api.get('/api/monitors/abc', { headers }),
      unauthenticated: await service.anonymous.get('/api/monitors', { headers }),
      missing: await user.api.get('/api/monitors/999999', { headers }),
      unknownPath: await user.api.get('/api/nope', { headers }),
      otherMethod: await user.api.put('/api/monitors', { headers }),
      options: await service.anonymous.request('OPTIONS', '/api/monitors', { headers }),
    };
    expect(Object.values(responses).map(({ status }) => status)).toEqual([200, 304, 200, 201, 422, 401, 404, 404, 405, 204]);
    for (const [name, response] of Object.entries(responses)) {
      const [vary, options] = ['Vary', 'X-Content-Type-Options'].map((header) => response.headers.get(header));
      expect([name, vary, options]).toEqual([name, 'Authorization, Cookie, Origin', 'nosniff']);
    }
  });
});

test.each(['/healthz', '/readyz', '/docs', '/openapi/websites.json', '/nope', '/docs/nope'])('%s is not sniffed', async (path) => {
  expect((await fetch(service.url + path)).headers.get('X-Content-Type-Options')).toBe('nosniff');
});

test('responses with a new API key are not stored by any cache, other responses are revalidated', async () => {
  const created = await user.api.post('/api/keys', { json: { name: 'Test', scopes: ['monitors:read'] } });
  expect(created.headers.get('Cache-Control')).toBe('no-store');
  for (const path of ['/api/keys', '/api/monitors', '/api/v1/websites']) {
    expect([path, (await user.api.get(path)).headers.get('Cache-Control')]).toEqual([path, 'private, no-cache']);
  }
});

test('cuts the instance of a problem to 2,048 characters, but not within an encoded character', async () => {
  const instanceOf = async (path: string) => (await user.api.get(path)).body.instance as string;
  const long = `/api/nope/${'x'.repeat(5000)}`;
  expect(await instanceOf(long)).toBe(long.slice(0, 2048));
  for (const shift of ['', 'x', 'xx']) {
    const path = `/api/nope/${shift}${'%20'.repeat(1000)}`;
    const instance = await instanceOf(path);
    expect(path.startsWith(instance)).toBe(true);
    expect(instance).toMatch(/%20$/);
    expect(instance.length).toBeGreaterThan(2045);
    expect(instance.length).toBeLessThanOrEqual(2048);
  }
});

test('encodes in the instance of a problem what a path cannot contain', async () => {
  const instances = [];
  for (const path of ['/api/monitors/{id}', '/api/monitors/a|b^c', '/api/monitors/%41', '/nope/[1]']) {
    // fetch would encode the path itself.
    const body = await new Promise<string>((resolve, reject) => {
      request({ host: '127.0.0.1', port: new URL(service.url).port, path, headers: { Authorization: 'Bearer x' } })
        .on('response', async (response) => resolve((await response.toArray()).join('')))
        .on('error', reject)
        .end();
    });
    instances.push(JSON.parse(body).instance);
  }
  expect(instances).toEqual(['/api/monitors/%7Bid%7D', '/api/monitors/a%7Cb%5Ec', '/api/monitors/%41', '/nope/%5B1%5D']);
});

test('returns 401 for an API key on an operation that accepts only sessions', async () => {
  expect((await user.api.get('/api/session')).status).toBe(401);
});

test('returns 403 with the missing scope', async () => {
  const reader = await user.withScopes('monitors:read');
  const { status, body } = await reader.get('/api/providers');
  expect([status, body.code]).toEqual([403, 'missing_scope']);
  expect(body.detail).toBe('This operation requires the scope "providers:read". Use an API key that has it.');
});

/** Each request violates its own step and all later ones that it can. The first step decides. */
describe('the order of the steps', () => {
  const html = { Accept: 'text/html' };
  const form = { 'Content-Type': 'application/x-www-form-urlencoded' };
  const foreign = { Origin: 'https://evil.example.com' };
  const json = { 'Content-Type': 'application/json' };
  const tooLarge = 'x'.repeat(300_000);
  const invalid = '/api/monitors/abc';

  test.each([
    [404, 'not_found', 'anonymous', 'POST', '/api/nope', { ...html, ...form, ...foreign }, tooLarge],
    [405, 'method_not_allowed', 'anonymous', 'PUT', '/api/monitors', { ...html, ...form, ...foreign }, tooLarge],
    [401, 'unauthenticated', 'anonymous', 'POST', '/api/monitors', { ...html, ...form, ...foreign }, tooLarge],
    [403, 'cross_origin', 'session', 'POST', '/api/monitors', { ...html, ...form, ...foreign }, tooLarge],
    [403, 'missing_scope', 'reader', 'POST', '/api/monitors', { ...html, ...form }, tooLarge],
    [406, 'not_acceptable', 'key', 'POST', '/api/monitors', { ...html, ...form }, tooLarge],
    [415, 'unsupported_media_type', 'key', 'POST', '/api/monitors', form, tooLarge],
    [413, 'body_too_large', 'key', 'PUT', invalid, json, tooLarge],
    [400, 'malformed_json', 'key', 'PUT', invalid, json, '{'],
    [422, 'validation_failed', 'key', 'PUT', '/api/monitors/17', json, '{"interval":"x"}'],
  ] as const)('%i %s', async (status, code, caller, method, path, headers, raw) => {
    const clients = {
      anonymous: service.anonymous,
      session: new ApiClient(service.url, await signIn(service, user.email)),
      reader: await user.withScopes('monitors:read'),
      key: user.api,
    };
    const response = await clients[caller].request(method, path, { headers: { ...headers }, raw });
    expect([response.status, response.body.code]).toEqual([status, code]);
  });
});

test('returns 406 if Accept excludes JSON', async () => {
  for (const accept of ['text/html', 'application/json;q=0']) {
    const { status, body } = await user.api.get('/api/monitors', { headers: { Accept: accept } });
    expect([accept, status, body.code]).toEqual([accept, 406, 'not_acceptable']);
    expect(body.detail).toBe('This operation returns application/json, which the Accept header excludes.');
  }
  for (const accept of [
    '*/*',
    'application/*',
    'text/html, application/json;q=0.1',
    'application/json; charset=utf-8',
    'application/json;charset=UTF-8, text/plain;q=0.9',
  ]) {
    expect([accept, (await user.api.get('/api/monitors', { headers: { Accept: accept } })).status]).toEqual([accept, 200]);
  }
});

test('returns problem+json even if Accept names only application/json', async () => {
  const { headers } = await service.anonymous.get('/api/monitors', { headers: { Accept: 'application/json' } });
  expect(headers.get('Content-Type')).toBe('application/problem+json');
});

test("uses the client's X-Request-Id if it is well-formed", async () => {
  const requestId = async (given: string) =>
    (await user.api.get('/api/monitors', { headers: { 'X-Request-Id': given } })).headers.get('X-Request-Id');
  expect(await requestId('my.id-1')).toBe('my.id-1');
  expect(await requestId('a b"c')).toMatch(/^[0-9a-f-]{36}$/);
});
