import { afterAll, beforeAll, expect, test } from 'vitest';
import { startService, type TestService, type TestUser } from '../support/service.ts';
import { password, signIn } from '../support/valid-requests.ts';

let service: TestService;
let user: TestUser;

beforeAll(async () => {
  service = await startService();
  user = await service.createUser(password);
});
afterAll(() => service.stop());

test('ends the session, clears the cookie, and leaves other sessions alone', async () => {
  const [ended, other] = [await signIn(service, user.email), await signIn(service, user.email)];
  const { status, body, headers } = await service.anonymous.delete('/api/session', { headers: ended });
  expect([status, body]).toEqual([200, { object: 'session', deleted: true }]);
  expect(headers.get('Set-Cookie')).toBe('sitekeeper_session=; path=/; expires=Thu, 01 Jan 1970 00:00:00 GMT; samesite=lax; httponly');
  expect((await service.anonymous.get('/api/session', { headers: ended })).body.code).toBe('invalid_session');
  expect((await service.anonymous.get('/api/session', { headers: other })).status).toBe(200);
});

test('returns 401 without credentials and with an API key', async () => {
  for (const api of [service.anonymous, user.api]) {
    const { status, body } = await api.delete('/api/session');
    expect([status, body.code]).toEqual([401, 'unauthenticated']);
  }
});
