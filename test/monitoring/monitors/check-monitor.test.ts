import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest';
import { changeBeforeUpdate } from '../../support/database.ts';
import { expectSameProblem } from '../../support/same-problem.ts';
import { startService, type TestService, type TestUser } from '../../support/service.ts';
import { startTestClock } from '../../support/test-clock.ts';
import { createMonitor } from '../factories.ts';

let service: TestService;
let user: TestUser;

beforeAll(async () => {
  service = await startService();
  user = await service.createUser();
});
afterAll(() => service.stop());

const dueInSeconds = async (id: number) => {
  const [row] = await service.database.asEngine((em) =>
    em.execute<{ due_in: number }[]>('select extract(epoch from next_check_at - now())::float8 as due_in from monitors where id = ?', [id]),
  );
  return row?.due_in;
};

test('returns 202 with the current state and makes the monitor due', async () => {
  const { id, path, etag, data } = await createMonitor(user);
  await service.database.asEngine((em) =>
    em.execute(`update monitors set next_check_at = now() + interval '1 hour' where id = ?`, [id], 'run'),
  );
  const { status, headers, body } = await user.api.post(`${path}/check`);
  expect([status, headers.get('ETag'), body.data]).toEqual([202, etag, data]);
  expect(body.check).toEqual({
    summary: 'Send GET to https://shop.example.org/health, follow up to 5 redirects, and expect status 2xx within 10 s.',
  });
  expect((await user.api.get(path, { headers: { 'If-None-Match': etag } })).status).toBe(304);
  expect(await dueInSeconds(id)).toBeLessThanOrEqual(0);
});

test('returns 429 with Retry-After for a second request within 10 seconds', async () => {
  const { path } = await createMonitor(user);
  expect((await user.api.post(`${path}/check`)).status).toBe(202);
  const { status, body, headers } = await user.api.post(`${path}/check`);
  const seconds = Number(headers.get('Retry-After'));
  expect([status, body.code, seconds > 0 && seconds <= 10]).toEqual([429, 'rate_limited', true]);
  expect(body.detail).toMatch(/^A monitor can be checked manually once every 10 seconds\. Retry in \d+ seconds?\.$/);
});

test('a second request is rejected 9 seconds after the first, and accepted after 10', async () => {
  const { path } = await createMonitor(user);
  const clock = startTestClock({ isFrozen: true });
  // The counter reads the time of the day as well. It stands still, so that only the clock decides.
  const dateNow = vi.spyOn(Date, 'now').mockReturnValue(Date.now());
  onTestFinished(() => {
    dateNow.mockRestore();
    clock.stop();
  });
  const check = async () => (await user.api.post(`${path}/check`)).status;
  expect(await check()).toBe(202);
  clock.advance(9000);
  expect(await check()).toBe(429);
  clock.advance(1000);
  expect(await check()).toBe(202);
});

test.each([
  ['409 for a monitor that is paused', 'update monitors set is_active = false where id = ?', 409, 'monitor_paused'],
  [
    '409 for a monitor that becomes a heartbeat monitor',
    `update monitors set type = 'heartbeat', url = null, grace_seconds = 60 where id = ?`,
    409,
    'nothing_to_check',
  ],
  ['404 for a monitor that is deleted', 'delete from monitors where id = ?', 404, 'not_found'],
])('returns %s between the read and the write', async (_, change, expectedStatus, code) => {
  const { id, path } = await createMonitor(user);
  changeBeforeUpdate(service.database, 'monitors', () => service.database.asUser(user.id, (em) => em.execute(change, [id], 'run')));
  const { status, body } = await user.api.post(`${path}/check`);
  expect([status, body.code]).toEqual([expectedStatus, code]);
});

test('returns 409 for a paused monitor', async () => {
  const { path } = await createMonitor(user, { is_active: false });
  const { status, body } = await user.api.post(`${path}/check`);
  expect([status, body.code, body.detail]).toEqual([
    409,
    'monitor_paused',
    'A paused monitor cannot be checked. Set is_active to true first.',
  ]);
});

test('returns 401 without a key and 403 without the scope monitors:write', async () => {
  const { path } = await createMonitor(user);
  expect((await service.anonymous.post(`${path}/check`)).status).toBe(401);
  const { status, body } = await (await user.withScopes('monitors:read')).post(`${path}/check`);
  expect([status, body.detail]).toEqual([403, expect.stringContaining('"monitors:write"')]);
});

test("returns 404 for another user's monitor, as for an unknown id", async () => {
  const { id, path } = await createMonitor(user);
  const other = await service.createUser();
  const foreign = await other.api.post(`${path}/check`);
  expect([foreign.status, foreign.body.detail]).toEqual([404, `Monitor ${id} was not found.`]);
  expectSameProblem(foreign, await other.api.post('/api/monitors/999999999/check'));
});
