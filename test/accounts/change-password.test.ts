import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { UserEntity } from '../../src/accounts/user.entity.ts';
import { hashPassword } from '../../src/auth/passwords.ts';
import { sendDuringTransaction } from '../support/database.ts';
import { startService, type TestService, type TestUser } from '../support/service.ts';
import { expectCookie } from '../support/session-cookie.ts';
import { password, signIn } from '../support/valid-requests.ts';

let service: TestService;
let user: TestUser;

beforeAll(async () => {
  service = await startService();
});
beforeEach(async () => {
  user = await service.createUser(password);
});
afterAll(() => service.stop());

const newPassword = 'another password';
const changePassword = (headers: Record<string, string>, json: object) => service.anonymous.put('/api/session/password', { json, headers });
const statusOf = async (headers: Record<string, string>) => (await service.anonymous.get('/api/session', { headers })).status;
const signInStatus = async (given: string) =>
  (await service.anonymous.post('/api/session', { json: { email: user.email, password: given } })).status;

test('replaces the password, ends all sessions and sets the cookie of a new one', async () => {
  const [current, other] = [await signIn(service, user.email), await signIn(service, user.email)];
  expect([await statusOf(current), await statusOf(other)]).toEqual([200, 200]);
  const { status, body, headers } = await changePassword(current, { current: password, new: newPassword });
  expect([status, body.data.user]).toEqual([200, { id: user.id, email: user.email }]);
  expectCookie(headers, /^sitekeeper_session=[\w-]{43}; path=\/; expires=[^;]+; samesite=lax; httponly$/);
  const renewed = { Cookie: headers.get('Set-Cookie')?.split(';')[0] ?? '' };
  expect(renewed.Cookie).not.toBe(current.Cookie);
  expect([await statusOf(current), await statusOf(other), await statusOf(renewed)]).toEqual([401, 401, 200]);
  expect((await service.anonymous.get('/api/session', { headers: renewed })).body).toEqual(body);
  const sessions = await service.database.asUser(user.id, (em) => em.execute('select id from sessions'));
  expect(sessions).toHaveLength(1);
  expect([await signInStatus(password), await signInStatus(newPassword)]).toEqual([401, 201]);
});

test('the new session can change the password again, and API keys keep working', async () => {
  const changed = await changePassword(await signIn(service, user.email), { current: password, new: newPassword });
  const renewed = { Cookie: changed.headers.get('Set-Cookie')?.split(';')[0] ?? '' };
  expect((await changePassword(renewed, { current: newPassword, new: password })).status).toBe(200);
  expect(await statusOf(renewed)).toBe(401);
  expect((await user.api.get('/api/monitors')).status).toBe(200);
});

test('no session that was started with the old password at the same time survives', async () => {
  const current = await signIn(service, user.email);
  const change = changePassword(current, { current: password, new: newPassword });
  // Passwords are checked one after the other, so the last of these are checked after the change.
  const attempts = Array.from({ length: 4 }, () =>
    service.anonymous.post('/api/session', { json: { email: user.email, password } }).then(({ headers }) => headers.get('Set-Cookie')),
  );
  const cookies = (await Promise.all(attempts)).filter((cookie) => cookie !== null);
  expect((await change).status).toBe(200);
  for (const cookie of cookies) expect(await statusOf({ Cookie: cookie.split(';')[0] ?? '' })).toBe(401);
  const sessions = await service.database.asUser(user.id, (em) => em.execute('select id from sessions'));
  expect(sessions).toHaveLength(1);
});

test.runIf(process.env.TEST_DATABASE_URL)('a sign-in during a change waits for it, and its old password is rejected', async () => {
  const passwordHash = await hashPassword(newPassword, { userId: user.id });
  const status = await sendDuringTransaction(
    service.database,
    user.id,
    (em) => em.nativeUpdate(UserEntity, { id: user.id }, { passwordHash }),
    () => signInStatus(password),
  );
  expect(status).toBe(401);
});

test('of two changes at the same time, one succeeds and the other returns 422', async () => {
  const [first, second] = [await signIn(service, user.email), await signIn(service, user.email)];
  const results = await Promise.all([
    changePassword(first, { current: password, new: newPassword }),
    changePassword(second, { current: password, new: 'a third password' }),
  ]);
  expect(results.map(({ status }) => status).sort()).toEqual([200, 422]);
});

test('other users stay signed in', async () => {
  const other = await service.createUser(password);
  const cookie = await signIn(service, other.email);
  await changePassword(await signIn(service, user.email), { current: password, new: newPassword });
  expect(await statusOf(cookie)).toBe(200);
});

test('returns 422 for a wrong current password, and changes nothing', async () => {
  const [current, other] = [await signIn(service, user.email), await signIn(service, user.email)];
  const { status, body, headers } = await changePassword(current, { current: 'wrong password', new: newPassword });
  expect([status, body.errors]).toEqual([
    422,
    [{ in: 'body', pointer: '/current', code: 'wrong_password', message: 'is not the current password' }],
  ]);
  expect(headers.get('Set-Cookie')).toBeNull();
  expect([await statusOf(current), await statusOf(other)]).toEqual([200, 200]);
  expect([await signInStatus(password), await signInStatus(newPassword)]).toEqual([201, 401]);
});

test('returns 429 after 5 wrong current passwords, even for the right one, and changes nothing', async () => {
  const current = await signIn(service, user.email);
  for (let failure = 0; failure < 5; failure++)
    expect((await changePassword(current, { current: 'wrong password', new: newPassword })).status).toBe(422);
  const { status, body } = await changePassword(current, { current: password, new: newPassword });
  expect([status, body.code]).toEqual([429, 'rate_limited']);
  expect(await statusOf(current)).toBe(200);
});

test.each([
  ['no current password', { new: newPassword }, '/current'],
  ['a new password of 7 characters', { current: password, new: '1234567' }, '/new'],
  ['a new password of 129 characters', { current: password, new: 'x'.repeat(129) }, '/new'],
])('returns 422 for %s', async (_, json, pointer) => {
  const { status, body } = await changePassword(await signIn(service, user.email), json);
  expect([status, body.errors]).toEqual([422, [expect.objectContaining({ in: 'body', pointer })]]);
});

test('returns 401 without credentials and with an API key', async () => {
  const json = { current: password, new: newPassword };
  for (const api of [service.anonymous, user.api]) {
    const { status, body } = await api.put('/api/session/password', { json });
    expect([status, body.code]).toEqual([401, 'unauthenticated']);
  }
});
