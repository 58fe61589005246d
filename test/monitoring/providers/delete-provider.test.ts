import { afterAll, beforeAll, expect, test } from 'vitest';
import { expectSameProblem } from '../../support/same-problem.ts';
import { startService, type TestService, type TestUser } from '../../support/service.ts';
import { createMonitor, createProvider } from '../factories.ts';

let service: TestService;
let user: TestUser;

beforeAll(async () => {
  service = await startService();
  user = await service.createUser();
});
afterAll(() => service.stop());

test('returns 200; afterwards the provider cannot be found', async () => {
  const { id, path } = await createProvider(user);
  const { status, body } = await user.api.delete(path);
  expect([status, body]).toEqual([200, { id, object: 'provider', deleted: true }]);
  expect((await user.api.get(path)).status).toBe(404);
});

test('deletes the assignments of the provider', async () => {
  const [provider, monitor] = [await createProvider(user), await createMonitor(user)];
  await user.api.post(`${monitor.path}/notifications`, { json: { provider_id: provider.id } });
  await user.api.delete(provider.path);
  expect((await user.api.get(`${monitor.path}/notifications`)).body.data).toEqual([]);
});

test('returns 412 for an outdated If-Match and keeps the provider', async () => {
  const { path, etag } = await createProvider(user);
  await user.api.put(path, { json: { recipient_email: 'b@example.com' } });
  expect((await user.api.delete(path, { headers: { 'If-Match': etag } })).status).toBe(412);
  expect((await user.api.get(path)).status).toBe(200);
});

test('returns 401 without a key and 403 without the scope providers:write', async () => {
  const { path } = await createProvider(user);
  expect((await service.anonymous.delete(path)).status).toBe(401);
  const { status, body } = await (await user.withScopes('providers:read')).delete(path);
  expect([status, body.detail]).toEqual([403, expect.stringContaining('"providers:write"')]);
  expect((await user.api.get(path)).status).toBe(200);
});

test("returns 404 for another user's provider, as for an unknown id", async () => {
  const { id, path } = await createProvider(user);
  const other = await service.createUser();
  const foreign = await other.api.delete(path);
  expect([foreign.status, foreign.body.detail]).toEqual([404, `Provider ${id} was not found.`]);
  expectSameProblem(foreign, await other.api.delete('/api/providers/999999999'));
  expect((await user.api.get(path)).status).toBe(200);
});
