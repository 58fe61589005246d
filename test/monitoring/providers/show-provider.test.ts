import { afterAll, beforeAll, expect, test } from 'vitest';
import { etag as etagOf } from '../../support/etags.ts';
import { expectSameProblem } from '../../support/same-problem.ts';
import { startService, type TestService, type TestUser } from '../../support/service.ts';
import { createProvider, providerTypes } from '../factories.ts';

let service: TestService;
let user: TestUser;

beforeAll(async () => {
  service = await startService();
  user = await service.createUser();
});
afterAll(() => service.stop());

test.each(providerTypes)('returns 200 for %s with the provider and its ETag', async (type) => {
  const { path, etag, data } = await createProvider(user, type);
  const { status, headers, body } = await user.api.get(path);
  expect([status, headers.get('ETag'), body]).toEqual([200, etag, { data }]);
});

test('returns 304 until the provider changes', async () => {
  const { id, path, etag } = await createProvider(user);
  expect((await user.api.get(path, { headers: { 'If-None-Match': etag } })).status).toBe(304);
  await user.api.put(path, { json: { recipient_email: 'b@example.com' } });
  const { status, headers, body } = await user.api.get(path, { headers: { 'If-None-Match': etag } });
  expect([status, headers.get('ETag'), body.data.recipient_email]).toEqual([200, etagOf('provider', id, 2), 'b@example.com']);
});

test('returns 401 without a key and 403 without the scope providers:read', async () => {
  const { path } = await createProvider(user);
  expect((await service.anonymous.get(path)).status).toBe(401);
  const { status, body } = await (await user.withScopes('providers:write')).get(path);
  expect([status, body.detail]).toEqual([403, expect.stringContaining('"providers:read"')]);
});

test("returns 404 for another user's provider, as for an unknown id", async () => {
  const { id, path } = await createProvider(user);
  const other = await service.createUser();
  const foreign = await other.api.get(path);
  expect([foreign.status, foreign.body.detail]).toEqual([404, `Provider ${id} was not found.`]);
  expectSameProblem(foreign, await other.api.get('/api/providers/999999999'));
});

test.each(['abc', '0', '1.0'])('returns 422 for the id %s', async (id) => {
  const { status, body } = await user.api.get(`/api/providers/${id}`);
  expect([status, body.errors[0]]).toEqual([422, expect.objectContaining({ in: 'path', name: 'id' })]);
});
