import { afterAll, beforeAll, expect, test } from 'vitest';
import { expectConditionalList } from '../../support/etags.ts';
import { startService, type TestService, type TestUser } from '../../support/service.ts';
import { createProvider, providerTypes } from '../factories.ts';

let service: TestService;
let user: TestUser;

beforeAll(async () => {
  service = await startService();
  user = await service.createUser();
  for (const type of providerTypes) await createProvider(user, type);
});
afterAll(() => service.stop());

test('returns the newest first, in pages', async () => {
  const { status, body } = await user.api.get('/api/providers?pageSize=3');
  expect(status).toBe(200);
  expect(body.data.map(({ provider_type }: { provider_type: string }) => provider_type)).toEqual(providerTypes.toReversed().slice(0, 3));
  expect(body.meta).toEqual({ page: 1, pageSize: 3, pageCount: Math.ceil(providerTypes.length / 3), total: providerTypes.length });
});

test('returns masks instead of secrets', async () => {
  const { text } = await user.api.get('/api/providers');
  expect(text).not.toContain('examplesecretpath');
  expect(text).not.toContain('AAExample');
});

test('If-None-Match with the ETag of the page returns 304 until a provider on it changes', async () => {
  const { path } = await createProvider(user);
  try {
    await expectConditionalList(user.api, '/api/providers', () => user.api.put(path, { json: { recipient_email: 'b@example.com' } }));
  } finally {
    await user.api.delete(path);
  }
});

test("does not list another user's providers", async () => {
  const other = await service.createUser();
  expect((await other.api.get('/api/providers')).body).toMatchObject({ data: [], meta: { pageCount: 1, total: 0 } });
});

test('returns 401 without a key', async () => {
  expect((await service.anonymous.get('/api/providers')).status).toBe(401);
});

test('returns 403 without the scope providers:read', async () => {
  const { status, body } = await (await user.withScopes('providers:write')).get('/api/providers');
  expect([status, body.detail]).toEqual([403, expect.stringContaining('"providers:read"')]);
});

test.each(['pageSize=0', 'pageSize=101', 'page=0'])('returns 422 for %s', async (query) => {
  expect((await user.api.get(`/api/providers?${query}`)).status).toBe(422);
});
