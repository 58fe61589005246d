import { afterAll, beforeAll, expect, test } from 'vitest';
import { ApiClient } from '../support/api-client.ts';
import { startService, type TestService, type TestUser } from '../support/service.ts';
import { password, signIn } from '../support/valid-requests.ts';

let service: TestService;
let user: TestUser;
/** Calls the service with a session, as a browser does. */
let browser: ApiClient;

beforeAll(async () => {
  service = await startService();
  user = await service.createUser(password);
  browser = new ApiClient(service.url, await signIn(service, user.email));
});
afterAll(() => service.stop());

let created = 0;
const createWebsite = (api: ApiClient, headers: Record<string, string>) =>
  api.post('/api/v1/websites', { form: { domain: `site${++created}.example` }, headers });

test.each([
  { Origin: 'https://evil.example.com' },
  { Origin: 'null' },
  { 'Sec-Fetch-Site': 'cross-site' },
  { 'Sec-Fetch-Site': 'same-site' },
])('returns 403 for a change with a session and %o', async (headers) => {
  const { status, body } = await createWebsite(browser, headers as Record<string, string>);
  expect([status, body.code]).toEqual([403, 'cross_origin']);
  expect(body.detail).toBe(
    'The request was sent by a page of another origin. Use an API key, or send the request from a page of this service.',
  );
});

test.each(['PUT', 'PATCH', 'DELETE'])('returns 403 for %s with a session from another origin, and changes nothing', async (method) => {
  const path = `/api/v1/websites/${(await createWebsite(browser, {})).body.data.id}`;
  const before = await browser.get(path);
  const { status, body } = await browser.request(method, path, { headers: { Origin: 'https://evil.example.com' } });
  expect([status, body.code]).toEqual([403, 'cross_origin']);
  expect((await browser.get(path)).body).toEqual(before.body);
});

test.each([{ 'Sec-Fetch-Site': 'same-origin', Origin: 'https://evil.example.com' }, { 'Sec-Fetch-Site': 'none' }, {}])(
  'accepts a change with a session and %o',
  async (headers) => {
    expect((await createWebsite(browser, headers as Record<string, string>)).status).toBe(201);
  },
);

test('accepts a change from the origin of the service, without Sec-Fetch-Site', async () => {
  expect((await createWebsite(browser, { Origin: service.url })).status).toBe(201);
});

test('accepts reads from any origin', async () => {
  expect((await browser.get('/api/monitors', { headers: { Origin: 'https://evil.example.com' } })).status).toBe(200);
});

test('accepts a change with an API key from any origin', async () => {
  expect((await createWebsite(user.api, { Origin: 'https://app.example.com' })).status).toBe(201);
});
