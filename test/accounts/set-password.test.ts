import { afterAll, beforeAll, expect, test } from 'vitest';
import { setPassword } from '../../src/accounts/users.ts';
import { startService, type TestService } from '../support/service.ts';
import { password, signIn } from '../support/valid-requests.ts';

let service: TestService;

beforeAll(async () => {
  service = await startService();
});
afterAll(() => service.stop());

test('a password that the operator sets replaces the old one and ends every session of the user only', async () => {
  const [user, other] = [await service.createUser(password), await service.createUser(password)];
  const [first, second, others] = [
    await signIn(service, user.email),
    await signIn(service, user.email),
    await signIn(service, other.email),
  ];
  const statuses = () =>
    Promise.all([first, second, others].map(async (headers) => (await service.anonymous.get('/api/session', { headers })).status));
  expect(await statuses()).toEqual([200, 200, 200]);
  await setPassword(service.database, user.id, 'another password');
  await expect.poll(statuses, { timeout: 10_000 }).toEqual([401, 401, 200]);
  const attempt = (given: string) => service.anonymous.post('/api/session', { json: { email: user.email, password: given } });
  expect([(await attempt(password)).status, (await attempt('another password')).status]).toEqual([401, 201]);
});
