import { request } from 'node:http';
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest';
import { createKey } from '../../src/accounts/keys.ts';
import { generateKey } from '../../src/auth/api-key.ts';
import { ApiClient } from '../support/api-client.ts';
import { startService, type TestService, type TestUser } from '../support/service.ts';
import { password, signIn } from '../support/valid-requests.ts';

let service: TestService;
let user: TestUser;

beforeAll(async () => {
  service = await startService();
  user = await service.createUser(password);
});
afterAll(() => service.stop());

const withHeaders = (headers: Record<string, string>) => new ApiClient(service.url, headers);
const authorizedBy = (authorization: string) => withHeaders({ Authorization: authorization });

async function storeKey(expiresAt: Date | null = null): Promise<string> {
  const key = generateKey();
  await service.database.asUser(user.id, (em) =>
    createKey(em, { userId: user.id, key, name: 'Test', scopes: ['monitors:read'], expiresAt }),
  );
  return key;
}

const malformed = 'The Authorization header does not contain a well-formed API key.';
const unknown = 'The API key is unknown, expired or revoked.';

test('returns 401 with WWW-Authenticate without credentials', async () => {
  const { status, headers, body } = await service.anonymous.get('/api/monitors');
  expect([status, body.code, headers.get('WWW-Authenticate')]).toEqual([401, 'unauthenticated', 'Bearer']);
  expect(body).toMatchObject({
    title: 'Authentication required',
    detail: 'Send an API key in the header "Authorization: Bearer <API_KEY>", or sign in.',
  });
});

test.each([
  ['another scheme', 'Basic dXNlcjpwYXNz', malformed],
  ['no value', 'Bearer', malformed],
  ['a value that is not a key', 'Bearer secret', malformed],
  ['an unknown key', `Bearer ${generateKey()}`, unknown],
  ['a key with a wrong checksum', 'Bearer stkp_EXAMPLEexampleEXAMPLEexample01234567', malformed],
  ['two keys', `Bearer ${generateKey()} ${generateKey()}`, malformed],
  ['10,000 characters', `Bearer ${'x'.repeat(10_000)}`, malformed],
])('returns 401 for %s', async (_, authorization, detail) => {
  const { status, body } = await authorizedBy(authorization).get('/api/monitors');
  expect([status, body.code, body.detail]).toEqual([401, 'invalid_key', detail]);
});

test('returns 401 for two Authorization headers, even if both contain a valid key', async () => {
  const key = await storeKey();
  // fetch would join the two headers into one.
  const status = await new Promise((resolve, reject) => {
    request(`${service.url}/api/monitors`, { headers: { Authorization: [`Bearer ${key}`, `Bearer ${key}`] as never } })
      .on('response', (response) => resolve(response.statusCode))
      .on('error', reject)
      .end();
  });
  expect(status).toBe(401);
});

test('returns 401 for a key in the query string', async () => {
  const key = await storeKey();
  expect((await service.anonymous.get(`/api/monitors?api_key=${key}&access_token=${key}`)).status).toBe(401);
});

test('returns 401 for a key that has expired', async () => {
  const { body } = await authorizedBy(`Bearer ${await storeKey(new Date(Date.now() - 1000))}`).get('/api/monitors');
  expect([body.code, body.detail]).toEqual(['invalid_key', unknown]);
});

test('rejects a key as soon as it expires, even if it is cached', async () => {
  const expiresAt = Date.now() + 3_600_000;
  const api = authorizedBy(`Bearer ${await storeKey(new Date(expiresAt))}`);
  expect((await api.get('/api/monitors')).status).toBe(200);
  // Only the time of the day of this process moves: the key stays in the cache, and the database would still find it.
  vi.useFakeTimers({ toFake: ['Date'], now: expiresAt - 60_000 });
  onTestFinished(() => void vi.useRealTimers());
  expect((await api.get('/api/monitors')).status).toBe(200);
  vi.setSystemTime(expiresAt);
  expect((await api.get('/api/monitors')).body.code).toBe('invalid_key');
});

test('a session has every scope, on both APIs', async () => {
  const api = withHeaders(await signIn(service, user.email));
  expect((await api.get('/api/monitors')).status).toBe(200);
  expect((await api.get('/api/providers')).status).toBe(200);
  expect((await api.post('/api/v1/websites', { form: { domain: 'mine.example' } })).status).toBe(201);
});

test('returns 401 for an unknown session', async () => {
  const { status, body } = await withHeaders({ Cookie: 'sitekeeper_session=unknown' }).get('/api/monitors');
  expect([status, body.code, body.detail]).toEqual([401, 'invalid_session', 'The session is unknown or has expired. Sign in again.']);
});

test('a key takes precedence over a session, with its own scopes and even if it is invalid', async () => {
  const cookie = await signIn(service, user.email);
  const withBoth = (authorization: string) => withHeaders({ ...cookie, Authorization: authorization });
  expect((await withBoth('Bearer nonsense').get('/api/monitors')).body.code).toBe('invalid_key');
  const { body } = await user.api.post('/api/keys', { json: { name: 'Limited', scopes: ['providers:read'] } });
  expect((await withBoth(`Bearer ${body.data.key}`).get('/api/monitors')).body.code).toBe('missing_scope');
});
