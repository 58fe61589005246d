import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { afterAll, beforeAll, expect, test } from 'vitest';
import monitoring from '../../generated/monitoring.json' with { type: 'json' };
import websites from '../../generated/websites.json' with { type: 'json' };
import type { ApiClient } from '../support/api-client.ts';
import { type RunningMock, startMock } from '../support/mock.ts';
import { run } from '../support/process.ts';
import { type Sample, samples } from './requests.ts';

let mock: RunningMock;
let api: ApiClient;
let clients: Record<Sample['as'], ApiClient>;

beforeAll(async () => {
  mock = await startMock();
  api = mock.api;
  clients = { key: api, session: mock.withHeaders({ Cookie: 'sitekeeper_session=any' }), anonymous: mock.withHeaders({}) };
});
afterAll(async () => {
  expect(await mock.stop()).toBe(0);
});

test('the three calls that it prints work without changes', async () => {
  const calls = [...mock.printed().matchAll(/curl (.*) (http:\S+)/g)].map(([, options = '', url = '']) => ({
    url,
    headers: [...options.matchAll(/-H "([^:]+): ([^"]+)"/g)].map(([, name = '', value = '']): [string, string] => [name, value]),
  }));
  const responses = await Promise.all(calls.map(({ url, headers }) => fetch(url, { headers })));
  expect(responses.map(({ status }) => status)).toEqual([200, 200, 404]);
});

test.each(['/api/v1/websites', '/api/monitors', '/api/providers'])('shows each item of %s as it is listed', async (path) => {
  const { data } = (await api.get(path)).body;
  expect(data.length).toBeGreaterThan(1);
  for (const item of data) expect((await api.get(`${path}/${item.id}`)).body.data).toEqual(shownItem(item));
});

test('finds a listed website by its domain', async () => {
  const { data } = (await api.get('/api/v1/websites')).body;
  for (const item of data) expect((await api.get(`/api/v1/domains/${item.domain}`)).body.data).toEqual(shownItem(item));
});

/** The item as it is shown: a list leaves out long settings and, of websites, names them. */
function shownItem({ omitted_fields: omitted = [], ...item }: { omitted_fields?: string[]; http?: object }) {
  const http = item.http && { http: { ...item.http, headers: expect.any(Array), body: null } };
  return { ...item, ...http, ...Object.fromEntries(omitted.map((name) => [name, expect.any(String)])) };
}

test('adapts the example to the id and the fields of the request', async () => {
  expect((await api.get('/api/monitors/77')).body.data.id).toBe(77);
  expect((await api.delete('/api/keys/77')).body.id).toBe(77);
  const incidents = (await api.get('/api/monitors/77/incidents')).body;
  expect(incidents.data[0].monitor_id).toBe(77);
  expect(incidents.links.first).toMatch(/^\/api\/monitors\/77\/incidents\?/);
  const acknowledged = await api.post('/api/incidents/77/acknowledge');
  expect(acknowledged.body.data).toMatchObject({ id: 77, monitor_id: 5 });
  const assigned = await api.post('/api/monitors/77/notifications', { json: { provider_id: 88 } });
  expect(assigned.body.data).toMatchObject({ monitor_id: 77, provider_id: 88 });
  const sms = await api.post('/api/providers', { json: { provider_type: 'sms', phone_number: '+12025550100' } });
  expect(sms.body.data.provider_type).toBe('sms');
  expect(sms.headers.get('Location')).toBe(`/api/providers/${sms.body.data.id}`);
  expect((await api.put('/api/monitors/5', { json: { is_active: false } })).body.data.status).toBe('paused');
});

test.each([
  [{}, 'http'],
  [{ type: 'http', http: { body_contains: 'cart' } }, 'http'],
  [{ type: 'ping', url: 'router.example.net' }, 'ping'],
  [{ type: 'tcp', url: 'tcp://db.example.net:5432' }, 'tcp'],
  [{ type: 'heartbeat', url: undefined }, 'heartbeat'],
])('creates a monitor of the type in %j', async (fields, type) => {
  const json = { friendly_name: 'Mine', url: 'https://shop.example.org/', ...fields };
  const { status, body } = await api.post('/api/monitors', { json });
  expect([status, body.data.type]).toEqual([201, type]);
});

test('a job can send heartbeats to the URL of its monitor', async () => {
  const { body } = await api.post('/api/monitors', { json: { friendly_name: 'Job', type: 'heartbeat' } });
  expect((await api.get(`/api/monitors/${body.data.id}`)).body.data.type).toBe('heartbeat');
  const response = await fetch(body.data.heartbeat_url, { method: 'POST' });
  expect([response.status, await response.json()]).toEqual([200, { data: { outcome: 'up' } }]);
});

test.each([
  ['GET', '/api/monitors/77', '', 'Monitor 77 was not found.'],
  ['DELETE', '/api/keys/77', '', 'API key 77 was not found.'],
  ['GET', '/api/v1/domains/example.org', '', 'Website "example.org" was not found.'],
  ['POST', '/api/monitors/77/notifications', ', example=not_found', 'Monitor 77 was not found.'],
  ['POST', '/api/monitors/77/notifications', ', example=provider_not_found', 'Provider 88 was not found.'],
  ['DELETE', '/api/monitors/77/notifications?provider_id=88', ', example=not_assigned', 'Provider 88 is not assigned to monitor 77.'],
])('names what was requested in the 404 of %s %s%s', async (method, path, example, detail) => {
  const json = method === 'POST' ? { json: { provider_id: 88 } } : {};
  const { status, body } = await api.request(method, path, { headers: { Prefer: `code=404${example}` }, ...json });
  expect([status, body.code, body.detail]).toEqual([404, 'not_found', detail]);
});

test('allows browsers to store successful responses for revalidation only, and no problems', async () => {
  const cacheControl = async (prefer: string) =>
    (await api.get('/api/monitors/5', { headers: { Prefer: prefer } })).headers.get('Cache-Control');
  expect([await cacheControl('code=200'), await cacheControl('code=404')]).toEqual(['private, no-cache', 'no-store']);
});

test('shifts the times of the examples to the present and keeps their order', async () => {
  const paths = [
    '/api/v1/websites',
    '/api/keys',
    '/api/monitors',
    '/api/providers',
    '/api/monitors/5/incidents',
    '/api/monitors/5/notifications',
  ];
  const items = (await Promise.all(paths.map((path) => api.get(path)))).flatMap(({ body }) => body.data);
  const { data: session } = (await clients.session.get('/api/session')).body;
  const now = Date.now();
  expect(Math.max(...items.map((item) => Date.parse(item.last_checked_at ?? item.created_at ?? item.started_at)))).toBeGreaterThan(
    now - 3600_000,
  );
  for (const item of [...items, session]) {
    const { expires_at: end, tls_expires_at, maintenance_until, ...past } = item;
    const at = (name: string) => Date.parse(past[name] ?? '');
    for (const name of Object.keys(past).filter((field) => field.endsWith('_at') && past[field])) {
      expect(at(name), `${name} of ${JSON.stringify(item)}`).toBeLessThanOrEqual(now);
      expect(at(name)).toBeGreaterThan(now - 30 * 24 * 3600_000);
    }
    if (past.updated_at) expect(at('updated_at')).toBeGreaterThanOrEqual(at('created_at'));
    if (past.last_checked_at) expect(at('last_checked_at')).toBeGreaterThan(at('created_at'));
    if (past.resolved_at) expect(Math.floor((at('resolved_at') - at('started_at')) / 1000)).toBe(item.duration_seconds);
    if (end) expect(Date.parse(end)).toBeGreaterThan(now);
  }
});

const declaredStatuses = new Map(
  [websites, monitoring]
    .flatMap(({ paths }) => Object.values(paths as Record<string, object>).flatMap((path): unknown[] => Object.values(path)))
    .map((part) => part as { operationId?: string; responses: object })
    .flatMap(({ operationId, responses }) => (operationId ? [[operationId, Object.keys(responses).map(Number)] as const] : [])),
);
const successes = samples.filter(({ status, method }) => status < 300 && method !== 'HEAD' && method !== 'OPTIONS');

test.each(successes)('returns every declared status for Prefer: code=…: $method $path', async (sample) => {
  const { operation, method, path, as, options } = sample;
  for (const code of declaredStatuses.get(operation) ?? []) {
    const response = await clients[as].request(method, path, { ...options, headers: { ...options.headers, Prefer: `code=${code}` } });
    expect(response.status).toBe(code);
    if (code < 400) continue;
    expect(response.body).toMatchObject({
      type: `${mock.url}/docs/problems/${response.body.code}`,
      status: code,
      instance: path.split('?')[0],
      request_id: response.headers.get('X-Request-Id'),
    });
  }
});

test.each(successes)('generates a response that conforms to the contract for Prefer: dynamic=true: $method $path', async (sample) => {
  const { method, path, as, options } = sample;
  for (const seed of ['one', 'two', 'three']) {
    const headers = { ...options.headers, Prefer: `dynamic=true, seed=${seed}` };
    expect((await clients[as].request(method, path, { ...options, headers })).status).toBeLessThan(300);
  }
});

test('returns the example named in Prefer: example=…, also with a code and in quotes', async () => {
  const get = (path: string, prefer: string) => api.get(path, { headers: { Prefer: prefer } });
  expect((await get('/api/v1/websites', 'example=none')).body.data).toEqual([]);
  expect((await get('/api/monitors/5', 'code=200; example="down"')).body.data.status).toBe('down');
  expect((await get('/api/monitors/5', 'respond-async, return=minimal')).body.data.status).toBe('up');
});

test.each([
  ['code=299', 'code must be one of 200, 304, 401'],
  ['code=abc', 'code must be one of 200, 304, 401'],
  ['example=blue', 'asks for example=blue, but the response 200 has the examples up, down, ping'],
  ['dynamic=1', 'dynamic must be true or false'],
])('returns 422 that lists the available values for Prefer: %s', async (prefer, message) => {
  const { status, body } = await api.get('/api/monitors/5', { headers: { Prefer: prefer } });
  expect([status, body.code]).toEqual([422, 'validation_failed']);
  expect(body.errors).toEqual([{ in: 'header', name: 'Prefer', code: 'unknown_preference', message: expect.stringContaining(message) }]);
});

test('returns 404 for an unknown path, also outside both APIs, and 405 with Allow for an unsupported method', async () => {
  const unknown = await api.get('/somewhere', { headers: { 'X-Request-Id': 'mine-1' } });
  expect(unknown.body).toEqual({
    type: `${mock.url}/docs/problems/not_found`,
    title: 'Not found',
    status: 404,
    detail: 'No such endpoint. Check the path against the API reference.',
    instance: '/somewhere',
    code: 'not_found',
    request_id: 'mine-1',
  });
  expect((await api.get('/api/v1/nothing')).body.code).toBe('not_found');
  const unsupported = await api.patch('/api/monitors/5');
  expect([unsupported.status, unsupported.body.code]).toEqual([405, 'method_not_allowed']);
  expect(unsupported.headers.get('Allow')).toBe('GET, HEAD, PUT, DELETE, OPTIONS');
});

test('requires a Bearer value or a cookie, and accepts any', async () => {
  const get = (headers: Record<string, string>) => mock.withHeaders(headers).get('/api/monitors');
  const anonymous = await get({});
  expect([anonymous.status, anonymous.body.code, anonymous.headers.get('WWW-Authenticate')]).toEqual([401, 'unauthenticated', 'Bearer']);
  expect((await get({ Authorization: 'Basic dTpw' })).body.code).toBe('invalid_key');
  expect((await get({ Authorization: 'Bearer x' })).status).toBe(200);
  expect((await get({ Cookie: 'sitekeeper_session=x' })).status).toBe(200);
});

test('returns every validation error, also those of rules that a schema cannot express', async () => {
  const { body } = await api.post('/api/v1/websites', { form: { domain: 'localhost', privacy: '3', favourite: '1' } });
  expect(body.errors.map(({ pointer, code }: { pointer: string; code: string }) => [pointer, code])).toEqual([
    ['/favourite', 'unknown_field'],
    ['/privacy', 'enum'],
    ['/domain', 'invalid_domain'],
  ]);
});

test('evaluates conditional requests against the ETag of the example', async () => {
  const etag = (await api.get('/api/monitors/5')).headers.get('ETag') ?? '';
  expect((await api.get('/api/monitors/5', { headers: { 'If-None-Match': etag } })).status).toBe(304);
  const rename = (ifMatch: string) => api.put('/api/monitors/5', { json: { friendly_name: 'Shop' }, headers: { 'If-Match': ifMatch } });
  expect((await rename(etag)).status).toBe(200);
  expect((await rename('"99.1"')).status).toBe(412);
  const unconditional = { json: { friendly_name: 'Shop' }, headers: { 'If-None-Match': etag } };
  expect((await api.put('/api/monitors/5', unconditional)).status).toBe(200);
});

test('allows scripts of any origin to send the headers of the API and to read its responses', async () => {
  const origin = { Origin: 'http://localhost:5173' };
  const requested = 'authorization,content-type,idempotency-key,if-match,if-none-match,prefer,x-request-id';
  const preflight = await api.request('OPTIONS', '/api/monitors/5', {
    headers: { ...origin, 'Access-Control-Request-Method': 'PUT', 'Access-Control-Request-Headers': requested },
  });
  expect(preflight.status).toBe(204);
  expect(preflight.headers.get('Access-Control-Allow-Origin')).toBe('*');
  expect(preflight.headers.get('Access-Control-Allow-Methods')?.split(',')).toEqual(expect.arrayContaining(['PUT', 'PATCH', 'DELETE']));
  expect(preflight.headers.get('Access-Control-Allow-Headers')).toBe(requested);
  for (const { headers } of [
    await api.get('/api/monitors/5', { headers: origin }),
    await api.get('/api/monitors/5', { headers: { ...origin, Prefer: 'code=404' } }),
    await api.get('/nothing', { headers: origin }),
  ]) {
    expect(headers.get('Access-Control-Allow-Origin')).toBe('*');
    expect(headers.get('Access-Control-Expose-Headers')?.split(',')).toEqual(expect.arrayContaining(['ETag', 'Location', 'X-Request-Id']));
  }
});

test('exits with a one-line error if the port is invalid or in use', async () => {
  const invalid = run(tmpdir(), {}, ['mock', '--port', 'x']);
  expect(await invalid.ended).toBe(1);
  expect(invalid.printed()).toMatch(/^error: --port: [^\n]*\n$/);
  const other = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => other.once('listening', resolve));
  const second = run(tmpdir(), {}, ['mock', '--port', String((other.address() as { port: number }).port)]);
  expect(await second.ended).toBe(1);
  other.close();
  expect(second.printed()).toMatch(/^Cannot start\. Port \d+ on 127\.0\.0\.1 is already in use\. [^\n]*--port[^\n]*\n$/);
});
