import { afterAll, beforeAll, expect, test } from 'vitest';
import { expectConditionalList } from '../../support/etags.ts';
import { expectSameProblem } from '../../support/same-problem.ts';
import { startService, type TestService, type TestUser } from '../../support/service.ts';
import { createMonitor, createProvider } from '../factories.ts';

let service: TestService;
let user: TestUser;
let monitor: { id: number; path: string };
let path: string;
let providerIds: number[];

beforeAll(async () => {
  service = await startService();
  user = await service.createUser();
  monitor = await createMonitor(user);
  path = `${monitor.path}/notifications`;
  providerIds = [];
  for (let index = 0; index < 3; index++) {
    const { id } = await createProvider(user);
    await user.api.post(path, { json: { provider_id: id, enabled: index === 1 } });
    providerIds.push(id);
  }
});
afterAll(() => service.stop());

test('returns the assignments of the monitor, the newest first, in pages', async () => {
  const { status, body } = await user.api.get(`${path}?pageSize=2`);
  expect(status).toBe(200);
  expect(body.data).toEqual([
    {
      monitor_id: monitor.id,
      provider_id: providerIds[2],
      enabled: false,
      delay_seconds: 0,
      remind_every_seconds: null,
      created_at: expect.any(String),
    },
    {
      monitor_id: monitor.id,
      provider_id: providerIds[1],
      enabled: true,
      delay_seconds: 0,
      remind_every_seconds: null,
      created_at: expect.any(String),
    },
  ]);
  expect(body.meta).toEqual({ page: 1, pageSize: 2, pageCount: 2, total: 3 });
});

test('If-None-Match with the ETag of the page returns 304 until an assignment on it changes', async () => {
  const [monitorWithOne, provider] = [await createMonitor(user), await createProvider(user)];
  const assignments = `${monitorWithOne.path}/notifications`;
  const assign = (enabled: boolean) => user.api.post(assignments, { json: { provider_id: provider.id, enabled } });
  await assign(true);
  await expectConditionalList(user.api, assignments, () => assign(false));
});

test('does not return the assignments of another monitor', async () => {
  const other = await createMonitor(user);
  expect((await user.api.get(`${other.path}/notifications`)).body.data).toEqual([]);
});

test('returns 401 without a key and 403 without the scope monitors:read', async () => {
  expect((await service.anonymous.get(path)).status).toBe(401);
  const { status, body } = await (await user.withScopes('monitors:write')).get(path);
  expect([status, body.detail]).toEqual([403, expect.stringContaining('"monitors:read"')]);
});

test("returns 404 for another user's monitor, as for an unknown id", async () => {
  const other = await service.createUser();
  const foreign = await other.api.get(path);
  expect([foreign.status, foreign.body.detail]).toEqual([404, `Monitor ${monitor.id} was not found.`]);
  expectSameProblem(foreign, await other.api.get('/api/monitors/999999999/notifications'));
});

test.each(['pageSize=0', 'pageSize=101', 'page=0'])('returns 422 for %s', async (query) => {
  expect((await user.api.get(`${path}?${query}`)).status).toBe(422);
});
