import { afterAll, beforeAll, expect, test } from 'vitest';
import { etag as etagOf } from '../../support/etags.ts';
import { expectSameProblem } from '../../support/same-problem.ts';
import { startService, type TestService, type TestUser } from '../../support/service.ts';
import { createMonitor } from '../factories.ts';

let service: TestService;
let user: TestUser;

beforeAll(async () => {
  service = await startService();
  user = await service.createUser();
});
afterAll(() => service.stop());

test('returns 200 with the monitor and its ETag', async () => {
  const { path, etag, data } = await createMonitor(user);
  const { status, headers, body } = await user.api.get(path);
  expect([status, headers.get('ETag'), body]).toEqual([200, etag, { data }]);
});

test('returns 304 until the settings or the state change', async () => {
  const { id, path, etag } = await createMonitor(user);
  expect((await user.api.get(path, { headers: { 'If-None-Match': etag } })).status).toBe(304);
  // This is what the engine writes after a check.
  await service.database.asUser(user.id, (em) =>
    em.execute(`update monitors set status = 'up', state_version = state_version + 1 where id = ?`, [id], 'run'),
  );
  const changed = await user.api.get(path, { headers: { 'If-None-Match': etag } });
  expect([changed.status, changed.headers.get('ETag'), changed.body.data.status]).toEqual([200, etagOf('monitor', id, '1.2'), 'up']);
  await user.api.put(path, { json: { interval: 90 } });
  const updated = await user.api.get(path, { headers: { 'If-None-Match': changed.headers.get('ETag') ?? '' } });
  expect([updated.status, updated.headers.get('ETag')]).toEqual([200, etagOf('monitor', id, '2.2')]);
  const unchanged = await user.api.get(path, { headers: { 'If-None-Match': updated.headers.get('ETag') ?? '' } });
  expect([unchanged.status, unchanged.text]).toEqual([304, '']);
});

test('returns 401 without a key and 403 without the scope monitors:read', async () => {
  const { path } = await createMonitor(user);
  expect((await service.anonymous.get(path)).status).toBe(401);
  const { status, body } = await (await user.withScopes('monitors:write')).get(path);
  expect([status, body.detail]).toEqual([403, expect.stringContaining('"monitors:read"')]);
});

test("returns 404 for another user's monitor, as for an unknown id", async () => {
  const { id, path } = await createMonitor(user);
  const other = await service.createUser();
  const foreign = await other.api.get(path);
  expect([foreign.status, foreign.body.detail]).toEqual([404, `Monitor ${id} was not found.`]);
  expectSameProblem(foreign, await other.api.get('/api/monitors/999999999'));
});

test.each(['abc', '0', '1.0'])('returns 422 for the id %s', async (id) => {
  const { status, body } = await user.api.get(`/api/monitors/${id}`);
  expect([status, body.errors[0]]).toEqual([422, expect.objectContaining({ in: 'path', name: 'id' })]);
});
