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

test('returns 200 and deletes the incidents and assignments of the monitor', async () => {
  const { id, path } = await createMonitor(user);
  const provider = await createProvider(user);
  await user.api.post(`${path}/notifications`, { json: { provider_id: provider.id } });
  await service.database.asUser(user.id, (em) =>
    em.execute(`insert into incidents (user_id, monitor_id, started_at, cause) values (?, ?, now(), 'HTTP 503')`, [user.id, id]),
  );
  const { status, body } = await user.api.delete(path);
  expect([status, body]).toEqual([200, { id, object: 'monitor', deleted: true }]);
  for (const deleted of [path, `${path}/incidents`, `${path}/notifications`]) expect((await user.api.get(deleted)).status).toBe(404);
  const remaining = await service.database.asUser(user.id, (em) =>
    em.execute(
      'select monitor_id from incidents where monitor_id = ? union all select monitor_id from notifications where monitor_id = ?',
      [id, id],
    ),
  );
  expect(remaining).toEqual([]);
  expect((await user.api.get(provider.path)).status).toBe(200);
});

test('returns 412 for an outdated If-Match and keeps the monitor', async () => {
  const { path, etag } = await createMonitor(user);
  await user.api.put(path, { json: { interval: 90 } });
  expect((await user.api.delete(path, { headers: { 'If-Match': etag } })).status).toBe(412);
  expect((await user.api.get(path)).status).toBe(200);
});

test('returns 401 without a key and 403 without the scope monitors:write', async () => {
  const { path } = await createMonitor(user);
  expect((await service.anonymous.delete(path)).status).toBe(401);
  const { status, body } = await (await user.withScopes('monitors:read')).delete(path);
  expect([status, body.detail]).toEqual([403, expect.stringContaining('"monitors:write"')]);
  expect((await user.api.get(path)).status).toBe(200);
});

test("returns 404 for another user's monitor, as for an unknown id", async () => {
  const { id, path } = await createMonitor(user);
  const other = await service.createUser();
  const foreign = await other.api.delete(path);
  expect([foreign.status, foreign.body.detail]).toEqual([404, `Monitor ${id} was not found.`]);
  expectSameProblem(foreign, await other.api.delete('/api/monitors/999999999'));
  expect((await user.api.get(path)).status).toBe(200);
});
