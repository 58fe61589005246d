import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { etag } from '../../support/etags.ts';
import { startService, type TestService, type TestUser } from '../../support/service.ts';
import { monitorExample, monitorTypes } from '../factories.ts';

let service: TestService;
let user: TestUser;

beforeAll(async () => {
  service = await startService({ maxMonitors: 20 });
});
beforeEach(async () => {
  user = await service.createUser();
});
afterAll(() => service.stop());

const create = (fields: object = {}) => user.api.post('/api/monitors', { json: { ...monitorExample, ...fields } });
const total = async () => (await user.api.get('/api/monitors')).body.meta.total;

test('returns 201 with Location, ETag and the default settings', async () => {
  const { status, headers, body } = await create();
  expect(status).toBe(201);
  expect(headers.get('Location')).toBe(`/api/monitors/${body.data.id}`);
  expect(headers.get('ETag')).toEqual(etag('monitor', body.data.id, '1.1'));
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

test('stores every field; with is_active false the monitor is paused', async () => {
  const { body } = await create({ url: 'example.com', type: 'ping', interval: 86_400, is_active: false });
  expect(body.data).toMatchObject({ url: 'example.com', type: 'ping', interval: 86_400, is_active: false, status: 'paused' });
  expect((await user.api.get(`/api/monitors/${body.data.id}`)).body).toEqual(body);
});

test.each(['example.com', '8.8.8.8', '2606:4700::1111', 'https://example.com/path', 'bücher.example', 'host'])(
  'accepts %s as the target of a ping monitor',
  async (url) => {
    expect((await create({ type: 'ping', url })).status).toBe(201);
  },
);

const blankName = 'must contain a character other than spaces, and no control characters';
const notPublic = 'must be a public address, not a private, local or reserved one';
const notHttp = 'must be an http or https URL';
const notPingable = 'must be a host name, an IP address or an http(s) URL';

test.each([
  [{ interval: 29 }, '/interval', 'must be at least 30'],
  [{ interval: 86_401 }, '/interval', 'must be at most 86400'],
  [{ interval: '60' }, '/interval', 'must be an integer'],
  [{ interval: 60.5 }, '/interval', 'must be an integer'],
  [{ url: '' }, '/url', 'must have at least 1 character'],
  [{ url: 'file:///etc/passwd' }, '/url', notHttp],
  [{ url: 'javascript:alert(1)' }, '/url', notHttp],
  [{ url: 'ftp://example.com/' }, '/url', notHttp],
  [{ url: 'https://me:secret@example.com/' }, '/url', 'must not contain a user name or password'],
  [{ url: 'https://exa mple.com/' }, '/url', 'must not contain spaces or control characters'],
  [{ url: 'example.com' }, '/url', notHttp],
  [{ url: `https://example.com/${'x'.repeat(2030)}` }, '/url', 'must have at most 2048 characters'],
  [{ url: 'http://127.0.0.1/' }, '/url', notPublic],
  [{ url: 'http://2130706433/' }, '/url', notPublic],
  [{ url: 'http://[::1]/' }, '/url', notPublic],
  [{ url: 'http://169.254.169.254/latest' }, '/url', notPublic],
  [{ url: 'http://localhost./' }, '/url', notPublic],
  [{ type: 'ping', url: '-f' }, '/url', notPingable],
  [{ type: 'ping', url: ';id' }, '/url', notPingable],
  [{ type: 'ping', url: '$(id)' }, '/url', notPingable],
  [{ type: 'ping', url: '2606:4700::1%a-b' }, '/url', notPingable],
  [{ type: 'ping', url: '2606:4700::1%eth0' }, '/url', notPingable],
  [{ type: 'ping', url: '10.0.0.1' }, '/url', notPublic],
  [{ type: 'ping', url: 'http://192.168.1.1/' }, '/url', notPublic],
  [{ type: 'pigeon' }, '/type', `must be one of ${monitorTypes.join(', ')}`],
  [{ friendly_name: '' }, '/friendly_name', 'must have at least 1 character'],
  [{ friendly_name: 'x'.repeat(101) }, '/friendly_name', 'must have at most 100 characters'],
  [{ friendly_name: ' \u00a0\u3000' }, '/friendly_name', blankName],
  [{ friendly_name: 'a\r\nBcc: b@example.com' }, '/friendly_name', blankName],
  [{ friendly_name: null }, '/friendly_name', 'must be a string'],
  [{ friendly_name: undefined }, '/friendly_name', 'is required'],
  [{ is_active: 'yes' }, '/is_active', 'must be true or false'],
  [{ status: 'up' }, '/status', 'is not a known field'],
])('returns 422 for %j and creates nothing', async (fields, pointer, message) => {
  const { status, body } = await create(fields);
  expect(status).toBe(422);
  expect(body.errors).toContainEqual(expect.objectContaining({ in: 'body', pointer, message }));
  expect(await total()).toBe(0);
});

test('a name can have spaces around other characters, which are kept', async () => {
  expect((await create({ friendly_name: ' a b ' })).body.data.friendly_name).toBe(' a b ');
});

test('an IP address that is not allowed has its own error code', async () => {
  expect((await create({ url: 'http://10.1.2.3/' })).body.errors[0].code).toBe('address_not_allowed');
});

test('returns 409 above the quota, even for concurrent requests', async () => {
  const responses = await Promise.all(Array.from({ length: 24 }, () => create()));
  const rejected = responses.filter(({ body }) => body.code === 'quota_exceeded');
  expect(responses.filter(({ status }) => status === 201)).toHaveLength(20);
  expect(rejected).toHaveLength(4);
  expect(rejected[0]).toMatchObject({ status: 409, body: { detail: 'A user can have at most 20 monitors.' } });
});

test('repeated with the same Idempotency-Key, creates one monitor', async () => {
  const post = () => user.api.post('/api/monitors', { json: monitorExample, headers: { 'Idempotency-Key': 'm-1' } });
  const [first, second] = [await post(), await post()];
  expect([second.status, second.text, second.headers.get('ETag')]).toEqual([201, first.text, first.headers.get('ETag')]);
  expect([first, second].map(({ headers }) => headers.get('Idempotent-Replayed'))).toEqual([null, 'true']);
  expect(await total()).toBe(1);
});

test('returns 401 without a key and 403 without the scope monitors:write, and creates nothing', async () => {
  expect((await service.anonymous.post('/api/monitors', { json: monitorExample })).status).toBe(401);
  const { status, body } = await (await user.withScopes('monitors:read')).post('/api/monitors', { json: monitorExample });
  expect([status, body.detail]).toEqual([403, expect.stringContaining('"monitors:write"')]);
  expect(await total()).toBe(0);
});
