import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { afterAll, beforeAll, expect, test } from 'vitest';
import monitoring from '../../generated/monitoring.json' with { type: 'json' };
import websites from '../../generated/websites.json' with { type: 'json' };
import { ApiClient } from '../support/api-client.ts';
import { type RunningMock, startMock } from '../support/mock.ts';
import { run } from '../support/process.ts';
import { type Sample, samples } from './requests.ts';

let mock: RunningMock;
let api: ApiClient;
let by: Record<Sample['as'], ApiClient>;

beforeAll(async () => {
  mock = await startMock();
  api = mock.api;
  by = { key: api, session: new ApiClient(mock.url, { Cookie: 'sitekeeper_session=any' }), stranger: new ApiClient(mock.url) };
});
afterAll(async () => {
  expect(await mock.stop()).toBe(0);
});

test('the three calls that it prints work as they are', async () => {
  const calls = [...mock.printed().matchAll(/curl (.*) (http:\S+)/g)].map(([, options = '', url = '']) => ({
    url,
    headers: [...options.matchAll(/-H "([^:]+): ([^"]+)"/g)].map(([, name = '', value = '']): [string, string] => [name, value]),
  }));
  const answers = await Promise.all(calls.map(({ url, headers }) => fetch(url, { headers })));
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 404]);
});

test.each(['/api/v1/websites', '/api/monitors', '/api/providers'])('what %s lists can be shown, and is the same', async (path) => {
  const { data } = (await api.get(path)).body;
  expect(data.length).toBeGreaterThan(1);
  for (const item of data) expect((await api.get(`${path}/${item.id}`)).body.data).toEqual(item);
});

test('a listed website is found by its domain', async () => {
  const { data } = (await api.get('/api/v1/websites')).body;
  for (const item of data) expect((await api.get(`/api/v1/domains/${item.domain}`)).body.data).toEqual(item);
});

test('an answer is about the item that the request names, and in the form that the request has', async () => {
  expect((await api.get('/api/monitors/77')).body.data.id).toBe(77);
  expect((await api.delete('/api/keys/77')).body.id).toBe(77);
  const incidents = (await api.get('/api/monitors/77/incidents')).body;
  expect(incidents.data[0].monitor_id).toBe(77);
  expect(incidents.links.first).toMatch(/^\/api\/monitors\/77\/incidents\?/);
  const assigned = await api.post('/api/monitors/77/notifications', { json: { provider_id: 88 } });
  expect(assigned.body.data).toMatchObject({ monitor_id: 77, provider_id: 88 });
  const sms = await api.post('/api/providers', { json: { provider_type: 'sms', phone_number: '+12025550100' } });
  expect(sms.body.data.provider_type).toBe('sms');
  expect(sms.headers.get('Location')).toBe(`/api/providers/${sms.body.data.id}`);
  expect((await api.put('/api/monitors/5', { json: { is_active: false } })).body.data.status).toBe('paused');
});

test('the times of the examples are those of today, in the order in which things happen', async () => {
  const paths = [
    '/api/v1/websites',
    '/api/keys',
    '/api/monitors',
    '/api/providers',
    '/api/monitors/5/incidents',
    '/api/monitors/5/notifications',
  ];
  const items = (await Promise.all(paths.map((path) => api.get(path)))).flatMap(({ body }) => body.data);
  const { data: session } = (await by.session.get('/api/session')).body;
  const now = Date.now();
  expect(Math.max(...items.map((item) => Date.parse(item.last_checked_at ?? item.created_at ?? item.started_at)))).toBeGreaterThan(
    now - 3600_000,
  );
  for (const item of [...items, session]) {
    const { expires_at: end, ...past } = item;
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

test.each(successes)('Prefer: code=… gives every declared answer, as the contract has it: $method $path', async (sample) => {
  const { operation, method, path, as, options } = sample;
  for (const code of declaredStatuses.get(operation) ?? []) {
    const answer = await by[as].request(method, path, { ...options, headers: { ...options.headers, Prefer: `code=${code}` } });
    expect(answer.status).toBe(code);
    if (code < 400) continue;
    expect(answer.body).toMatchObject({
      type: `${mock.url}/docs/problems/${answer.body.code}`,
      status: code,
      instance: path.split('?')[0],
      request_id: answer.headers.get('X-Request-Id'),
    });
  }
});

test.each(successes)('Prefer: dynamic=true makes up an answer as the contract has it: $method $path', async (sample) => {
  const { method, path, as, options } = sample;
  for (const seed of ['one', 'two', 'three']) {
    const headers = { ...options.headers, Prefer: `dynamic=true, seed=${seed}` };
    expect((await by[as].request(method, path, { ...options, headers })).status).toBeLessThan(300);
  }
});

test('Prefer: example=… chooses the example, also beside a code and in quotes', async () => {
  const get = (path: string, prefer: string) => api.get(path, { headers: { Prefer: prefer } });
  expect((await get('/api/v1/websites', 'example=none')).body.data).toEqual([]);
  expect((await get('/api/monitors/5', 'code=200; example="down"')).body.data.status).toBe('down');
  expect((await get('/api/monitors/5', 'respond-async, return=minimal')).body.data.status).toBe('up');
});

test.each([
  ['code=299', 'asks for code=299, and this operation has 200, 304, 401'],
  ['code=abc', 'asks for code=abc, and this operation has 200, 304, 401'],
  ['example=blue', 'asks for example=blue, and the answer 200 has up, down, ping'],
  ['dynamic=1', 'asks for dynamic=1, and it is true or false'],
])('422 that says what there is, for Prefer: %s', async (prefer, words) => {
  const { status, body } = await api.get('/api/monitors/5', { headers: { Prefer: prefer } });
  expect([status, body.code]).toEqual([422, 'validation_failed']);
  expect(body.errors).toEqual([{ in: 'header', name: 'Prefer', code: 'unknown_preference', message: expect.stringContaining(words) }]);
});

test('an unknown path is our 404, also outside both APIs; another method our 405 with Allow', async () => {
  const outside = await api.get('/somewhere', { headers: { 'X-Request-Id': 'mine-1' } });
  expect(outside.body).toEqual({
    type: `${mock.url}/docs/problems/not_found`,
    title: 'Not found',
    status: 404,
    detail: 'There is no such item.',
    instance: '/somewhere',
    code: 'not_found',
    request_id: 'mine-1',
  });
  expect((await api.get('/api/v1/nothing')).body.code).toBe('not_found');
  const other = await api.patch('/api/monitors/5');
  expect([other.status, other.body.code]).toEqual([405, 'method_not_allowed']);
  expect(other.headers.get('Allow')).toBe('GET, HEAD, PUT, DELETE, OPTIONS');
});

test('a Bearer value or a cookie is asked for, and any passes', async () => {
  const get = (headers: Record<string, string>) => new ApiClient(mock.url, headers).get('/api/monitors');
  const refused = await get({});
  expect([refused.status, refused.body.code, refused.headers.get('WWW-Authenticate')]).toEqual([401, 'unauthenticated', 'Bearer']);
  expect((await get({ Authorization: 'Basic dTpw' })).body.code).toBe('invalid_key');
  expect((await get({ Authorization: 'Bearer x' })).status).toBe(200);
  expect((await get({ Cookie: 'sitekeeper_session=x' })).status).toBe(200);
});

test('what is wrong is named field by field, as the service does', async () => {
  const { body } = await api.post('/api/v1/websites', { form: { domain: 'localhost', privacy: '3', favourite: '1' } });
  expect(body.errors.map(({ pointer, code }: { pointer: string; code: string }) => [pointer, code])).toEqual([
    ['/favourite', 'unknown_field'],
    ['/privacy', 'enum'],
    ['/domain', 'invalid_domain'],
  ]);
});

test('conditional requests follow the ETag that was shown', async () => {
  const etag = (await api.get('/api/monitors/5')).headers.get('ETag') ?? '';
  expect((await api.get('/api/monitors/5', { headers: { 'If-None-Match': etag } })).status).toBe(304);
  const rename = (ifMatch: string) => api.put('/api/monitors/5', { json: { friendly_name: 'Shop' }, headers: { 'If-Match': ifMatch } });
  expect((await rename(etag)).status).toBe(200);
  expect((await rename('"99.1"')).status).toBe(412);
});

test('a script of any origin may send our headers and read our answers', async () => {
  const origin = { Origin: 'http://localhost:5173' };
  const asked = 'authorization,content-type,idempotency-key,if-match,if-none-match,prefer,x-request-id';
  const preflight = await api.request('OPTIONS', '/api/monitors/5', {
    headers: { ...origin, 'Access-Control-Request-Method': 'PUT', 'Access-Control-Request-Headers': asked },
  });
  expect(preflight.status).toBe(204);
  expect(preflight.headers.get('Access-Control-Allow-Origin')).toBe('*');
  expect(preflight.headers.get('Access-Control-Allow-Methods')?.split(',')).toEqual(expect.arrayContaining(['PUT', 'PATCH', 'DELETE']));
  expect(preflight.headers.get('Access-Control-Allow-Headers')).toBe(asked);
  for (const { headers } of [
    await api.get('/api/monitors/5', { headers: origin }),
    await api.get('/api/monitors/5', { headers: { ...origin, Prefer: 'code=404' } }),
    await api.get('/nothing', { headers: origin }),
  ]) {
    expect(headers.get('Access-Control-Allow-Origin')).toBe('*');
    expect(headers.get('Access-Control-Expose-Headers')?.split(',')).toEqual(expect.arrayContaining(['ETag', 'Location', 'X-Request-Id']));
  }
});

test('a port that makes no sense, or is taken, is refused in one line', async () => {
  const senseless = run(tmpdir(), {}, ['mock', '--port', 'x']);
  expect(await senseless.ended).toBe(1);
  expect(senseless.printed()).toMatch(/^Bad setting\. --port[^\n]*\n$/);
  const other = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => other.once('listening', resolve));
  const late = run(tmpdir(), {}, ['mock', '--port', String((other.address() as { port: number }).port)]);
  expect(await late.ended).toBe(1);
  other.close();
  expect(late.printed()).toMatch(/^Cannot start\. Cannot listen on [^\n]*taken[^\n]*--port[^\n]*\n$/);
});
