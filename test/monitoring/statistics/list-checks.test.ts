import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { components } from '../../../generated/types/monitoring.ts';
import { addChecks, rollUpFrom } from '../../support/check-history.ts';
import { expectConditionalList } from '../../support/etags.ts';
import { expectSameProblem } from '../../support/same-problem.ts';
import { startService, type TestService, type TestUser } from '../../support/service.ts';
import { createMonitor } from '../factories.ts';
import { createHeartbeat } from '../heartbeats/heartbeat-monitors.ts';
import { checkMonitor, failure } from './engine-checks.ts';
import { hourMs, type MonitorKey, minuteMs } from './stored-history.ts';

type Check = components['schemas']['Check'];

let service: TestService;
let user: TestUser;
let monitor: MonitorKey;
let path: string;

beforeAll(async () => {
  service = await startService();
});
beforeEach(async () => {
  user = await service.createUser();
  const created = await createMonitor(user);
  monitor = { userId: user.id, monitorId: created.id };
  path = `${created.path}/checks`;
});
afterAll(() => service.stop());

const add = (checks: Parameters<typeof addChecks>[2]) => addChecks(service.database, monitor, checks);

async function list(query = ''): Promise<Check[]> {
  const { status, body } = await user.api.get(`${path}${query}`);
  expect([status, body.data]).toEqual([200, expect.any(Array)]);
  return body.data;
}

const times = (checks: Check[]) => checks.map(({ response_time_ms }) => response_time_ms);

/** One check every 50 minutes, which takes as many milliseconds as it has a number. They are in many hours. */
async function addNumbered(count: number): Promise<void> {
  const nowMs = service.database.now();
  await add(Array.from({ length: count }, (_, index) => ({ atMs: nowMs - (index + 1) * 50 * minuteMs, ms: index + 1 })));
}

test('lists checks, newest first, with what is known of each', async () => {
  const nowMs = service.database.now();
  const at = (minutes: number) => nowMs - minutes * minuteMs;
  await add([
    { atMs: at(70), ms: 164 },
    { atMs: at(69), ms: 94, cause: 'HTTP 503', statusCode: 503 },
    { atMs: at(68), ms: 98, cause: 'HTTP 503', statusCode: 503 },
    { atMs: at(67), cause: 'timed out after 10 s' },
    { atMs: at(1), ms: 215 },
  ]);
  const checked_at = (minutes: number) => new Date(at(minutes)).toISOString();
  expect(await list()).toEqual([
    { checked_at: checked_at(1), outcome: 'up', response_time_ms: 215, status_code: null, cause: null },
    { checked_at: checked_at(67), outcome: 'down', response_time_ms: null, status_code: null, cause: 'timed out after 10 s' },
    { checked_at: checked_at(68), outcome: 'down', response_time_ms: 98, status_code: 503, cause: 'HTTP 503' },
    { checked_at: checked_at(69), outcome: 'down', response_time_ms: 94, status_code: 503, cause: 'HTTP 503' },
    { checked_at: checked_at(70), outcome: 'up', response_time_ms: 164, status_code: null, cause: null },
  ]);
});

test('checks are listed after their hours were rolled up as before', async () => {
  await addNumbered(30);
  const before = await list();
  await rollUpFrom(service.database, service.database.now() - 48 * hourMs);
  expect(await list()).toEqual(before);
  expect(before).toHaveLength(30);
});

test('checks of the last 48 hours are listed, and no older ones', async () => {
  const nowMs = service.database.now();
  await add([
    { atMs: nowMs - 48 * hourMs - 1, ms: 1 },
    { atMs: nowMs - 49 * hourMs, ms: 2 },
    { atMs: nowMs - 70 * hourMs, ms: 3 },
    { atMs: nowMs - 96 * hourMs, ms: 4 },
    { atMs: nowMs - 48 * hourMs + 2 * minuteMs, ms: 5 },
    { atMs: nowMs - 47 * hourMs, ms: 6 },
    { atMs: nowMs, ms: 7 },
  ]);
  expect(times(await list())).toEqual([7, 6, 5]);
  expect((await user.api.get(path)).body.meta.total).toBe(3);
});

test('the checks that confirm a failure are listed, each with its own time', async () => {
  const checkedAt: number[] = [];
  for (const agoMs of [10_000, 5000, 0]) checkedAt.push(await checkMonitor(service.database, monitor, failure, agoMs));
  expect(await list()).toEqual(
    checkedAt.toReversed().map((ms) => ({
      checked_at: new Date(ms).toISOString(),
      outcome: 'down',
      response_time_ms: 7,
      status_code: 503,
      cause: 'HTTP 503',
    })),
  );
});

test('a long cause is cut to 200 characters', async () => {
  const cause = `HTTP 500 ${'ü'.repeat(2000)}`;
  await checkMonitor(service.database, monitor, { up: false, cause, statusCode: 500 });
  expect(await list()).toMatchObject([{ cause: `HTTP 500 ${'ü'.repeat(191)}`, response_time_ms: null }]);
});

test('heartbeats and failures of a heartbeat monitor are checks without response times', async () => {
  const { path: ofHeartbeat, receiver } = await createHeartbeat(user);
  await service.anonymous.post(receiver);
  await service.anonymous.post(`${receiver}/fail`);
  const { body } = await user.api.get(`${ofHeartbeat}/checks`);
  expect(body.data).toMatchObject([
    { outcome: 'down', response_time_ms: null, status_code: null, cause: 'the job reported a failure' },
    { outcome: 'up', response_time_ms: null, status_code: null, cause: null },
  ]);
});

describe('outcome', () => {
  beforeEach(async () => {
    const nowMs = service.database.now();
    await add(
      Array.from({ length: 9 }, (_, index) => ({
        atMs: nowMs - (index + 1) * 30 * minuteMs,
        ms: index + 1,
        ...(index % 3 === 0 && { cause: 'HTTP 503', statusCode: 503 }),
      })),
    );
  });

  test.each([
    ['', [1, 2, 3, 4, 5, 6, 7, 8, 9]],
    ['?outcome=up', [2, 3, 5, 6, 8, 9]],
    ['?outcome=down', [1, 4, 7]],
    ['?outcome=up&pageSize=4', [2, 3, 5, 6]],
    ['?outcome=up&pageSize=4&page=2', [8, 9]],
    ['?outcome=down&pageSize=2&page=2', [7]],
  ])('%s lists the checks with this outcome', async (query, expected) => {
    const checks = await list(query);
    expect(times(checks)).toEqual(expected);
    expect(checks.every(({ outcome, cause }) => (outcome === 'down') === (cause !== null))).toBe(true);
  });

  test('the numbers and links of pages are those of the checks with this outcome', async () => {
    const { body } = await user.api.get(`${path}?outcome=up&pageSize=4`);
    expect(body.meta).toEqual({ page: 1, pageSize: 4, pageCount: 2, total: 6 });
    expect(body.links).toEqual({
      first: `${path}?outcome=up&pageSize=4&page=1`,
      last: `${path}?outcome=up&pageSize=4&page=2`,
      prev: null,
      next: `${path}?outcome=up&pageSize=4&page=2`,
    });
  });
});

test('a page has 100 checks by default, and up to 1000', async () => {
  const nowMs = service.database.now();
  await add(Array.from({ length: 1001 }, (_, index) => ({ atMs: nowMs - index * 2 * minuteMs, ms: index + 1 })));
  const pageOf = async (query: string) => (await user.api.get(`${path}${query}`)).body;
  const byDefault = await pageOf('');
  expect([times(byDefault.data), byDefault.meta]).toEqual([
    Array.from({ length: 100 }, (_, index) => index + 1),
    { page: 1, pageSize: 100, pageCount: 11, total: 1001 },
  ]);
  const largest = await pageOf('?pageSize=1000');
  expect([largest.data.length, largest.meta]).toEqual([1000, { page: 1, pageSize: 1000, pageCount: 2, total: 1001 }]);
  expect(times((await pageOf('?pageSize=1000&page=2')).data)).toEqual([1001]);
  expect((await pageOf('?pageSize=1000&page=3')).data).toEqual([]);
});

test('links lead to the other pages, and a page beyond the last one is empty', async () => {
  await addNumbered(5);
  const seen: (number | null)[] = [];
  let next: string | null = `${path}?pageSize=2`;
  const pages: string[] = [];
  while (next !== null) {
    pages.push(next);
    const { body } = (await user.api.get(next)) as { body: { data: Check[]; links: { next: string | null } } };
    seen.push(...times(body.data));
    next = body.links.next;
  }
  expect(seen).toEqual([1, 2, 3, 4, 5]);
  expect(pages).toHaveLength(3);
  const beyond = (await user.api.get(`${path}?pageSize=2&page=4`)).body;
  expect([beyond.data, beyond.links.prev, beyond.links.next]).toEqual([[], `${path}?pageSize=2&page=3`, null]);
});

test('a new monitor has an empty page', async () => {
  const { status, body } = await user.api.get(path);
  expect([status, body.data, body.meta]).toEqual([200, [], { page: 1, pageSize: 100, pageCount: 1, total: 0 }]);
});

test('the checks of other monitors are not listed', async () => {
  const sibling = await createMonitor(user);
  await add([{ atMs: service.database.now(), ms: 5 }]);
  expect((await user.api.get(`${sibling.path}/checks`)).body.data).toEqual([]);
});

test('a paused monitor and one in maintenance keep their checks', async () => {
  await addNumbered(3);
  for (const json of [{ maintenance_until: '2099-01-01T00:00:00Z' }, { is_active: false }]) {
    await user.api.put(`/api/monitors/${monitor.monitorId}`, { json });
    expect(times(await list())).toEqual([1, 2, 3]);
  }
});

test('If-None-Match with the ETag of the page returns 304 until there is another check', async () => {
  await addNumbered(3);
  await expectConditionalList(user.api, path, () => add([{ atMs: service.database.now(), ms: 5 }]));
});

test.each(['outcome=pending', 'outcome=', 'outcome=up&outcome=down', 'page=0', 'pageSize=0', 'pageSize=1001', 'pageSize='])(
  'returns 422 for %s',
  async (query) => {
    expect((await user.api.get(`${path}?${query}`)).status).toBe(422);
  },
);

test("returns 404 for another user's monitor, as for an unknown id and a deleted monitor", async () => {
  await addNumbered(1);
  const other = await service.createUser();
  const foreign = await other.api.get(path);
  expect([foreign.status, foreign.body.detail]).toEqual([404, `Monitor ${monitor.monitorId} was not found.`]);
  expectSameProblem(foreign, await other.api.get('/api/monitors/999999999/checks'));
  await user.api.delete(`/api/monitors/${monitor.monitorId}`);
  expectSameProblem(foreign, await user.api.get(path));
});
