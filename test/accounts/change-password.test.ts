import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { startService, type TestService, type TestUser } from '../support/service.ts';
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

test('replaces the password, keeps this session and ends the others', async () => {
  const [current, other] = [await signIn(service, user.email), await signIn(service, user.email)];
  const { status, body } = await changePassword(current, { current: password, new: newPassword });
  expect([status, body.data.user.email]).toEqual([200, user.email]);
  expect([await statusOf(current), await statusOf(other)]).toEqual([200, 401]);
  expect([await signInStatus(password), await signInStatus(newPassword)]).toEqual([401, 201]);
});

test('returns 422 for a wrong current password, and changes nothing', async () => {
  const [current, other] = [await signIn(service, user.email), await signIn(service, user.email)];
  const { status, body } = await changePassword(current, { current: 'wrong password', new: newPassword });
  expect([status, body.errors]).toEqual([
    422,
    [{ in: 'body', pointer: '/current', code: 'wrong_password', message: 'is not the current password' }],
  ]);
  expect([await statusOf(current), await statusOf(other)]).toEqual([200, 200]);
  expect([await signInStatus(password), await signInStatus(newPassword)]).toEqual([201, 401]);
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
