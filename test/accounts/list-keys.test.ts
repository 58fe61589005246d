import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ApiClient } from '../support/api-client.ts';
import { expectConditionalList } from '../support/etags.ts';
import { startService, type TestService } from '../support/service.ts';
import { password, signIn } from '../support/valid-requests.ts';
import { createKeyWith } from './key-factory.ts';

let service: TestService;

beforeAll(async () => {
  service = await startService();
});
afterAll(() => service.stop());

test("returns every key of the user in pages, newest first, and no other user's", async () => {
  const { api } = await service.createUser();
  await service.createUser();
  for (const name of ['a', 'b', 'c']) await createKeyWith(api, service, { name });
  const names = ({ body }: Awaited<ReturnType<typeof api.get>>) => body.data.map(({ name }: { name: string }) => name);
  const first = await api.get('/api/keys?pageSize=2');
  expect(names(first)).toEqual(['c', 'b']);
  expect(first.body.meta).toEqual({ page: 1, pageSize: 2, pageCount: 2, total: 4 });
  // The last one is the key that createUser created.
  expect(names(await api.get(first.body.links.next))).toEqual(['a', 'Test']);
});

test('updates last_used_at at most once a minute', async () => {
  const { api: owner } = await service.createUser();
  const { id, api } = await createKeyWith(owner, service);
  const lastUsedAt = async () => (await owner.get('/api/keys')).body.data.find((key: { id: number }) => key.id === id).last_used_at;
  await api.get('/api/monitors');
  await expect.poll(lastUsedAt, { timeout: 15_000 }).not.toBeNull();
  const first = await lastUsedAt();
  for (let call = 0; call < 5; call++) await api.get('/api/monitors');
  // The response does not wait for the update, so give a wrong one time to arrive.
  await delay(300);
  expect(await lastUsedAt()).toBe(first);
});

test('If-None-Match with the ETag of the page returns 304 until a key is created', async () => {
  const user = await service.createUser(password);
  // A request with a key would change last_used_at.
  const session = new ApiClient(service.url, await signIn(service, user.email));
  await expectConditionalList(session, '/api/keys', () => createKeyWith(session, service));
});

test('returns 401 without credentials', async () => {
  const { status, body } = await service.anonymous.get('/api/keys');
  expect([status, body.code]).toEqual([401, 'unauthenticated']);
});

test('returns 422 for a page size that is not an integer', async () => {
  const { api } = await service.createUser();
  const { status, body } = await api.get('/api/keys?pageSize=many');
  expect([status, body.errors]).toEqual([422, [{ in: 'query', name: 'pageSize', code: 'type', message: 'must be an integer' }]]);
});
