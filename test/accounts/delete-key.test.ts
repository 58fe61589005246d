import { afterAll, beforeAll, expect, test } from 'vitest';
import { expectSameProblem } from '../support/same-problem.ts';
import { startService, type TestService, type TestUser } from '../support/service.ts';
import { password, signIn } from '../support/valid-requests.ts';
import { createKeyWith, type TestKey } from './key-factory.ts';

let service: TestService;
let user: TestUser;

beforeAll(async () => {
  service = await startService();
  user = await service.createUser();
});
afterAll(() => service.stop());

const works = async ({ api }: TestKey) => (await api.get('/api/monitors')).status === 200;

test('deletes the key and every key created with it, directly or through other keys', async () => {
  const parent = await createKeyWith(user.api, service);
  const child = await createKeyWith(parent.api, service);
  const grandchild = await createKeyWith(child.api, service);
  for (const key of [parent, child, grandchild]) expect(await works(key)).toBe(true);
  const { status, body } = await user.api.delete(`/api/keys/${parent.id}`);
  expect([status, body]).toEqual([200, { id: parent.id, object: 'key', deleted: true }]);
  for (const { api } of [parent, child, grandchild]) {
    const response = await api.get('/api/monitors');
    expect([response.status, response.body.code]).toEqual([401, 'invalid_key']);
  }
});

test('a key can delete itself and the keys created with it, and no other', async () => {
  const [one, other] = [await createKeyWith(user.api, service), await createKeyWith(user.api, service)];
  const child = await createKeyWith(one.api, service);
  const grandchild = await createKeyWith(child.api, service);
  for (const [calling, target] of [
    [one, other],
    [child, one],
  ] as const) {
    const { status, body } = await calling.api.delete(`/api/keys/${target.id}`);
    expect([status, body.code, body.detail]).toEqual([
      403,
      'not_your_key',
      'A key can delete only itself and the keys created with it. Sign in to delete any of your keys.',
    ]);
  }
  expect((await one.api.delete(`/api/keys/${grandchild.id}`)).status).toBe(200);
  expect((await one.api.delete(`/api/keys/${one.id}`)).status).toBe(200);
  expect([await works(child), await works(other)]).toEqual([false, true]);
});

test('a session can delete any key of the user', async () => {
  const account = await service.createUser(password);
  const key = await createKeyWith(account.api, service);
  const headers = await signIn(service, account.email);
  expect((await service.anonymous.delete(`/api/keys/${key.id}`, { headers })).status).toBe(200);
  expect(await works(key)).toBe(false);
});

test("returns 404 for another user's key, as for one that does not exist", async () => {
  const other = await service.createUser();
  const key = await createKeyWith(other.api, service);
  const remove = (id: number) => user.api.delete(`/api/keys/${id}`);
  const response = await remove(key.id);
  expect([response.status, response.body.detail]).toEqual([404, `API key ${key.id} was not found.`]);
  expectSameProblem(response, await remove(999_999_999));
  expect(await works(key)).toBe(true);
});

test('returns 401 without credentials', async () => {
  const { status, body } = await service.anonymous.delete('/api/keys/1');
  expect([status, body.code]).toEqual([401, 'unauthenticated']);
});

test('returns 422 for an id that is not an integer', async () => {
  const { status, body } = await user.api.delete('/api/keys/first');
  expect([status, body.errors]).toEqual([422, [{ in: 'path', name: 'id', code: 'type', message: 'must be an integer' }]]);
});
