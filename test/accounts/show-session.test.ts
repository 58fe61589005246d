import { afterAll, beforeAll, expect, test } from 'vitest';
import { ApiClient } from '../support/api-client.ts';
import { fillIn, hashETag } from '../support/etags.ts';
import { startService, type TestService, type TestUser } from '../support/service.ts';
import { password, signIn } from '../support/valid-requests.ts';

let service: TestService;
let user: TestUser;

beforeAll(async () => {
  service = await startService();
  user = await service.createUser(password);
});
afterAll(() => service.stop());

const showSession = (headers: Record<string, string>) => service.anonymous.get('/api/session', { headers });

test('returns the user and the times of the session', async () => {
  const { status, body } = await showSession(await signIn(service, user.email));
  expect([status, body.data.user]).toEqual([200, { id: user.id, email: user.email }]);
  expect(Date.parse(body.data.expires_at) - Date.parse(body.data.created_at)).toBe(7 * 24 * 3600 * 1000);
});

test.each(['ETag', 'W/ETag', '"7", ETag', '*'])('returns 304 with the ETag and no body for If-None-Match: %s', async (template) => {
  const session = new ApiClient(service.url, await signIn(service, user.email));
  const current = (await session.get('/api/session')).headers.get('ETag');
  expect(current).toEqual(hashETag);
  const { status, headers, text } = await session.get('/api/session', { headers: { 'If-None-Match': fillIn(template, current) } });
  expect([status, headers.get('ETag'), text]).toEqual([304, current, '']);
});

test('returns 200 for the ETag of a session of another user, and 401 for any ETag without a session', async () => {
  const other = await service.createUser(password);
  const { headers } = await showSession(await signIn(service, other.email));
  const ifNoneMatch = { 'If-None-Match': headers.get('ETag') ?? '' };
  expect((await showSession({ ...(await signIn(service, user.email)), ...ifNoneMatch })).status).toBe(200);
  expect((await showSession(ifNoneMatch)).status).toBe(401);
});

test.each([
  ['7 days without use', "last_used_at = now() - interval '7 days 1 minute'"],
  ['30 days', "created_at = now() - interval '30 days 1 minute'"],
])('returns 401 after %s', async (_, assignment) => {
  const cookie = await signIn(service, user.email);
  await service.database.asUser(user.id, (em) => em.execute(`update sessions set ${assignment}`, [], 'run'));
  const { status, body } = await showSession(cookie);
  expect([status, body.code, body.detail]).toEqual([401, 'invalid_session', 'The session is unknown or has expired. Sign in again.']);
});

test('returns 401 without credentials and with an API key', async () => {
  const message = 'This operation requires a session. Sign in with POST /api/session and send no API key.';
  for (const { status, body } of [await showSession({}), await user.api.get('/api/session')]) {
    expect([status, body.code, body.detail]).toEqual([401, 'unauthenticated', message]);
  }
});
