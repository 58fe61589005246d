import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { ProviderEntity } from '../../../src/monitoring/providers/provider.entity.ts';
import { meanwhile } from '../../support/database.ts';
import { expectSameProblem } from '../../support/same-problem.ts';
import { startService, type TestService, type TestUser } from '../../support/service.ts';

let service: TestService;
let user: TestUser;
let path: string;
let monitorId: number;
let providerId: number;

beforeAll(async () => {
  service = await startService();
});
beforeEach(async () => {
  user = await service.createUser();
  monitorId = (await user.api.post('/api/monitors', { json: { friendly_name: 'Shop', url: 'https://example.com' } })).body.data.id;
  providerId = await makeProvider(user);
  path = `/api/monitors/${monitorId}/notifications`;
});
afterAll(() => service.stop());

async function makeProvider({ api }: TestUser): Promise<number> {
  return (await api.post('/api/providers', { json: { provider_type: 'email', recipient_email: 'ops@example.com' } })).body.data.id;
}

const add = (json: object) => user.api.post(path, { json });

test('addNotification: 201, enabled by default; again for the same pair 200, and enabled is set', async () => {
  const first = await add({ provider_id: providerId });
  expect([first.status, first.body.data]).toEqual([
    201,
    expect.objectContaining({ monitor_id: monitorId, provider_id: providerId, enabled: true }),
  ]);
  const again = await add({ provider_id: providerId, enabled: false });
  expect([again.status, again.body.data]).toEqual([200, { ...first.body.data, enabled: false }]);
  expect((await add({ provider_id: providerId })).body.data.enabled).toBe(true);
  expect((await user.api.get(path)).body.data).toHaveLength(1);
});

test.runIf(process.env.TEST_DATABASE_URL)('addNotification: 404 for a provider that is deleted meanwhile', async () => {
  const { status } = await meanwhile(
    service.database,
    user.id,
    (em) => em.nativeDelete(ProviderEntity, { id: providerId }),
    () => add({ provider_id: providerId }),
  );
  expect(status).toBe(404);
});

test('addNotification: twenty at once make one assignment', async () => {
  const answers = await Promise.all(Array.from({ length: 20 }, () => add({ provider_id: providerId })));
  expect(answers.filter(({ status }) => status === 201)).toHaveLength(1);
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(19);
});

test("addNotification: another user's provider is 404, byte for byte like an unknown one", async () => {
  const theirs = await makeProvider(await service.createUser());
  expectSameProblem(await add({ provider_id: theirs }), await add({ provider_id: 999_999_999 }));
  expect((await add({ provider_id: theirs })).status).toBe(404);
  expect((await user.api.get(path)).body.data).toEqual([]);
});

test('listNotifications: all assignments in pages', async () => {
  for (let count = 0; count < 3; count++) await add({ provider_id: await makeProvider(user), enabled: count === 1 });
  const { body } = await user.api.get(`${path}?pageSize=2`);
  expect(body.data).toHaveLength(2);
  expect(body.meta).toEqual({ page: 1, pageSize: 2, pageCount: 2, total: 3 });
});

test('removeNotification: by body or by query; the provider stays', async () => {
  const removed = { monitor_id: monitorId, provider_id: providerId, object: 'notification', deleted: true };
  await add({ provider_id: providerId });
  expect((await user.api.delete(path, { json: { provider_id: providerId } })).body).toEqual(removed);
  await add({ provider_id: providerId });
  expect((await user.api.delete(`${path}?provider_id=${providerId}`)).body).toEqual(removed);
  await add({ provider_id: providerId });
  expect((await user.api.delete(`${path}?provider_id=${providerId}`, { json: { provider_id: providerId } })).status).toBe(200);
  expect((await user.api.get(`/api/providers/${providerId}`)).status).toBe(200);
});

test('removeNotification: 422 for neither, for both and different; 404 where it is not assigned', async () => {
  await add({ provider_id: providerId });
  expect((await user.api.delete(path)).status).toBe(422);
  expect((await user.api.delete(`${path}?provider_id=${providerId + 1}`, { json: { provider_id: providerId } })).status).toBe(422);
  expect((await user.api.delete(`${path}?provider_id=x`)).status).toBe(422);
  expect((await user.api.delete(path, { json: {} })).status).toBe(422);
  expect((await user.api.delete(path, { headers: { 'Content-Type': 'application/json' }, raw: '{' })).status).toBe(400);
  expect((await user.api.delete(path, { headers: { 'Content-Type': 'text/plain' }, raw: '{}' })).status).toBe(415);
  expect((await user.api.delete(`${path}?provider_id=999999999`)).status).toBe(404);
  expect((await user.api.get(path)).body.data).toHaveLength(1);
});

test('deleting the provider takes its assignments along', async () => {
  await add({ provider_id: providerId });
  await user.api.delete(`/api/providers/${providerId}`);
  expect((await user.api.get(path)).body.data).toEqual([]);
});

test.each([
  [{}, '/provider_id'],
  [{ provider_id: '3' }, '/provider_id'],
  [{ provider_id: 0 }, '/provider_id'],
  [{ provider_id: 1, enabled: 'yes' }, '/enabled'],
  [{ provider_id: 1, enabled: null }, '/enabled'],
  [{ provider_id: 1, monitor_id: 2 }, '/monitor_id'],
])('addNotification: 422 for %j', async (json, pointer) => {
  const { status, body } = await add(json);
  expect([status, body.errors[0].pointer]).toEqual([422, pointer]);
});

test.each(['POST', 'DELETE'])("%s: another user's monitor is 404; 401 without a key; 403 without the scope", async (method) => {
  const other = await service.createUser();
  const json = { provider_id: providerId };
  expectSameProblem(
    await other.api.request(method, path, { json }),
    await other.api.request(method, '/api/monitors/999999999/notifications', { json }),
  );
  expect((await service.stranger.request(method, path, { json })).status).toBe(401);
  expect((await (await user.withScopes('monitors:read', 'providers:write')).request(method, path, { json })).status).toBe(403);
});
