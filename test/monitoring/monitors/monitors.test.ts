import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { expectSameProblem } from '../../support/same-problem.ts';
import { startService, type TestService, type TestUser } from '../../support/service.ts';

let service: TestService;
let user: TestUser;

beforeAll(async () => {
  service = await startService({ maxMonitors: 20 });
});
beforeEach(async () => {
  user = await service.createUser();
});
afterAll(() => service.stop());

const create = (json: object = {}) =>
  user.api.post('/api/monitors', { json: { friendly_name: 'Shop', url: 'https://shop.example.org/health', ...json } });

async function made(json: object = {}): Promise<{ id: number; path: string; etag: string }> {
  const { status, body, headers } = await create(json);
  expect(status).toBe(201);
  return { id: body.data.id, path: `/api/monitors/${body.data.id}`, etag: headers.get('ETag') ?? '' };
}

/** What the engine would write. */
const asEngine = (sql: string, params: unknown[] = []) => service.database.asUser(user.id, (em) => em.execute(sql, params, 'run'));

test('createMonitor: 201 with Location, ETag and the defaults', async () => {
  const { status, headers, body } = await create();
  expect(status).toBe(201);
  expect(headers.get('Location')).toBe(`/api/monitors/${body.data.id}`);
  expect(headers.get('ETag')).toBe('"1.1"');
  expect(body.data).toMatchObject({
    friendly_name: 'Shop',
    url: 'https://shop.example.org/health',
    type: 'http',
    interval: 60,
    is_active: true,
    status: 'pending',
    last_checked_at: null,
    last_response_time_ms: null,
    last_error: null,
  });
});

test('createMonitor: every field is stored; is_active false makes it paused', async () => {
  const { body } = await create({ url: 'example.com', type: 'ping', interval: 86_400, is_active: false });
  expect(body.data).toMatchObject({ url: 'example.com', type: 'ping', interval: 86_400, is_active: false, status: 'paused' });
  expect((await user.api.get(`/api/monitors/${body.data.id}`)).body).toEqual(body);
});

test.each(['example.com', '8.8.8.8', '2606:4700::1111', 'https://example.com/path', 'bücher.example', 'host'])(
  'a ping monitor takes %s',
  async (url) => {
    expect((await create({ type: 'ping', url })).status).toBe(201);
  },
);

test.each([
  [{ interval: 29 }, '/interval'],
  [{ interval: 86_401 }, '/interval'],
  [{ interval: '60' }, '/interval'],
  [{ interval: 60.5 }, '/interval'],
  [{ url: 'file:///etc/passwd' }, '/url'],
  [{ url: 'javascript:alert(1)' }, '/url'],
  [{ url: 'ftp://example.com/' }, '/url'],
  [{ url: 'https://me:secret@example.com/' }, '/url'],
  [{ url: 'https://exa mple.com/' }, '/url'],
  [{ url: 'example.com' }, '/url'],
  [{ url: `https://example.com/${'x'.repeat(2030)}` }, '/url'],
  [{ url: 'http://127.0.0.1/' }, '/url'],
  [{ url: 'http://2130706433/' }, '/url'],
  [{ url: 'http://[::1]/' }, '/url'],
  [{ url: 'http://169.254.169.254/latest' }, '/url'],
  [{ url: 'http://localhost./' }, '/url'],
  [{ type: 'ping', url: '-f' }, '/url'],
  [{ type: 'ping', url: ';id' }, '/url'],
  [{ type: 'ping', url: '$(id)' }, '/url'],
  [{ type: 'ping', url: '2606:4700::1%a-b' }, '/url'],
  [{ type: 'ping', url: '2606:4700::1%eth0' }, '/url'],
  [{ type: 'ping', url: '10.0.0.1' }, '/url'],
  [{ type: 'ping', url: 'http://192.168.1.1/' }, '/url'],
  [{ type: 'tcp' }, '/type'],
  [{ friendly_name: '' }, '/friendly_name'],
  [{ friendly_name: 'x'.repeat(101) }, '/friendly_name'],
  [{ friendly_name: 'a\r\nBcc: b@example.com' }, '/friendly_name'],
  [{ friendly_name: null }, '/friendly_name'],
  [{ is_active: 'yes' }, '/is_active'],
  [{ status: 'up' }, '/status'],
])('createMonitor: 422 for %j, and nothing is made', async (json, pointer) => {
  const { status, body } = await create(json);
  expect(status).toBe(422);
  expect(body.errors).toContainEqual(expect.objectContaining({ in: 'body', pointer }));
  expect((await user.api.get('/api/monitors')).body.meta.total).toBe(0);
});

test('createMonitor: a refused literal address has a code of its own', async () => {
  expect((await create({ url: 'http://10.1.2.3/' })).body.errors[0].code).toBe('address_not_allowed');
});

test('createMonitor: 409 over the quota, however many ask at once', async () => {
  const answers = await Promise.all(Array.from({ length: 24 }, () => create()));
  expect(answers.filter(({ status }) => status === 201)).toHaveLength(20);
  expect(answers.filter(({ body }) => body.code === 'quota_exceeded')).toHaveLength(4);
});

test('createMonitor: repeated with the same Idempotency-Key it makes one', async () => {
  const post = () =>
    user.api.post('/api/monitors', { json: { friendly_name: 'Once', url: 'https://example.com' }, headers: { 'Idempotency-Key': 'm-1' } });
  expect((await post()).text).toBe((await post()).text);
  expect((await user.api.get('/api/monitors')).body.meta.total).toBe(1);
});

test('showMonitor: 304 while neither settings nor state changed', async () => {
  const { id, path, etag } = await made();
  expect((await user.api.get(path, { headers: { 'If-None-Match': etag } })).status).toBe(304);
  await asEngine(`update monitors set status = 'up', state_version = state_version + 1 where id = ?`, [id]);
  const changed = await user.api.get(path, { headers: { 'If-None-Match': etag } });
  expect([changed.status, changed.headers.get('ETag'), changed.body.data.status]).toEqual([200, '"1.2"', 'up']);
});

test('updateMonitor: changes what is sent and leaves the rest; an empty object changes nothing', async () => {
  const { path } = await made({ interval: 120 });
  const renamed = await user.api.put(path, { json: { friendly_name: 'Renamed' } });
  expect(renamed.body.data).toMatchObject({
    friendly_name: 'Renamed',
    interval: 120,
    url: 'https://shop.example.org/health',
    status: 'pending',
  });
  const { headers, body } = await user.api.put(path, { json: {} });
  expect([headers.get('ETag'), body]).toEqual([renamed.headers.get('ETag'), renamed.body]);
});

test('updateMonitor: null is not absent', async () => {
  const { path } = await made();
  for (const field of ['friendly_name', 'url', 'type', 'interval', 'is_active']) {
    expect([field, (await user.api.put(path, { json: { [field]: null } })).status]).toEqual([field, 422]);
  }
});

test('updateMonitor: a check in between does not refuse an edit, another edit does', async () => {
  const { id, path, etag } = await made();
  await asEngine('update monitors set state_version = state_version + 5 where id = ?', [id]);
  expect((await user.api.put(path, { json: { interval: 90 }, headers: { 'If-Match': etag } })).status).toBe(200);
  const { status, body } = await user.api.put(path, { json: { interval: 100 }, headers: { 'If-Match': etag } });
  expect([status, body.code]).toEqual([412, 'precondition_failed']);
  expect((await user.api.get(path)).body.data.interval).toBe(90);
});

test.each([
  ['pausing', { is_active: false }, 'paused'],
  ['a new url', { url: 'https://other.example.org/' }, 'pending'],
  ['a new type', { type: 'ping' }, 'pending'],
])('updateMonitor: %s resolves the open incident and forgets the status', async (_, json, status) => {
  const { id, path } = await made();
  await asEngine(`update monitors set status = 'down', last_error = 'HTTP 503' where id = ?`, [id]);
  await asEngine(`insert into incidents (user_id, monitor_id, started_at, cause) values (?, ?, now() - interval '1 minute', 'HTTP 503')`, [
    user.id,
    id,
  ]);
  expect((await user.api.put(path, { json })).body.data).toMatchObject({ status, last_error: null });
  expect((await user.api.get(`${path}/incidents`)).body.data).toEqual([
    expect.objectContaining({ status: 'resolved', duration_seconds: expect.toSatisfy((s: number) => s >= 60 && s < 180) }),
  ]);
});

test('updateMonitor: resuming makes it pending; a rename or a new interval keeps the status', async () => {
  const { id, path } = await made({ is_active: false });
  expect((await user.api.put(path, { json: { is_active: true } })).body.data.status).toBe('pending');
  await asEngine(`update monitors set status = 'up' where id = ?`, [id]);
  expect((await user.api.put(path, { json: { friendly_name: 'x', interval: 45, is_active: true } })).body.data.status).toBe('up');
});

test('updateMonitor: the url must suit the type that is stored, or sent with it', async () => {
  const { path } = await made();
  expect((await user.api.put(path, { json: { url: 'example.com' } })).body.errors[0].pointer).toBe('/url');
  expect((await user.api.put(path, { json: { url: 'example.com', type: 'ping' } })).status).toBe(200);
  expect((await user.api.put(path, { json: { type: 'http' } })).status).toBe(422);
});

test('deleteMonitor: 200, and it is gone with its incidents and assignments; 412 for an older version', async () => {
  const { id, path, etag } = await made();
  await user.api.put(path, { json: { interval: 90 } });
  expect((await user.api.delete(path, { headers: { 'If-Match': etag } })).status).toBe(412);
  expect((await user.api.delete(path)).body).toEqual({ id, object: 'monitor', deleted: true });
  for (const gone of [path, `${path}/incidents`, `${path}/notifications`]) expect((await user.api.get(gone)).status).toBe(404);
});

test('checkMonitor: 202 with the monitor as it is; once in 10 seconds; 409 while paused', async () => {
  const { path } = await made();
  const { status, body } = await user.api.post(`${path}/check`);
  expect([status, body.data.status]).toEqual([202, 'pending']);
  const again = await user.api.post(`${path}/check`);
  expect([again.status, again.body.code, Number(again.headers.get('Retry-After')) <= 10]).toEqual([429, 'rate_limited', true]);
  const paused = await made({ is_active: false });
  expect((await user.api.post(`${paused.path}/check`)).body.code).toBe('monitor_paused');
});

const operations = [
  ['GET', '', undefined, 'monitors:read'],
  ['PUT', '', { interval: 90 }, 'monitors:write'],
  ['DELETE', '', undefined, 'monitors:write'],
  ['POST', '/check', undefined, 'monitors:write'],
  ['GET', '/incidents', undefined, 'monitors:read'],
  ['GET', '/notifications', undefined, 'monitors:read'],
] as const;

test.each(operations)(
  "%s /monitors/{id}%s: another user's is 404, byte for byte like an unknown one; 401; 403",
  async (method, rest, json, scope) => {
    const { id, path } = await made();
    const stranger = await service.createUser();
    const request = (api = stranger.api, of: number = id) => api.request(method, `/api/monitors/${of}${rest}`, json ? { json } : {});
    expectSameProblem(await request(), await request(stranger.api, 999_999_999));
    expect((await request()).status).toBe(404);
    expect((await request(service.stranger)).status).toBe(401);
    const wrong = scope === 'monitors:read' ? 'monitors:write' : 'monitors:read';
    expect((await request(await user.withScopes(wrong))).body.detail).toContain(scope);
    expect((await user.api.get(path)).body.data.interval).toBe(60);
  },
);
