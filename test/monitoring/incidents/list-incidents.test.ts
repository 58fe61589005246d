import { afterAll, beforeAll, expect, test } from 'vitest';
import { expectConditionalList } from '../../support/etags.ts';
import { expectSameProblem } from '../../support/same-problem.ts';
import { startService, type TestService, type TestUser } from '../../support/service.ts';
import { createMonitor } from '../factories.ts';

let service: TestService;
let user: TestUser;
let monitorId: number;
let path: string;

beforeAll(async () => {
  service = await startService();
  user = await service.createUser();
  monitorId = (await createMonitor(user)).id;
  path = `/api/monitors/${monitorId}/incidents`;
  const incidents: [started: string, resolved: string | null, cause: string][] = [
    ['400 days', '399 days', 'more than a year ago'],
    ['366 days 1 hour', '300 days', 'overlaps 1 year'],
    ['100 days', '99 days', 'overlaps 6 months'],
    ['31 days', '29 days', 'overlaps 30 days'],
    ['25 hours', '23 hours', 'overlaps 24 hours'],
    ['2 hours', null, 'open'],
  ];
  for (const [started, resolved, cause] of incidents) {
    await service.database.asUser(user.id, (em) =>
      em.execute(
        `insert into incidents (user_id, monitor_id, started_at, resolved_at, cause, status_code)
         values (?, ?, now() - ?::interval, now() - ?::interval, ?, 503)`,
        [user.id, monitorId, started, resolved, cause],
      ),
    );
  }
});
afterAll(() => service.stop());

test.each([
  ['no window', '', 2],
  ['24h', '?window=24h', 2],
  ['30d', '?window=30d', 3],
  ['6mo', '?window=6mo', 4],
  ['1y', '?window=1y', 5],
])('%s: returns the incidents that overlap the window, including open ones, newest first', async (_, query, count) => {
  const { body } = await user.api.get(`${path}${query}`);
  const newestFirst = ['open', 'overlaps 24 hours', 'overlaps 30 days', 'overlaps 6 months', 'overlaps 1 year'];
  expect(body.data.map(({ cause }: { cause: string }) => cause)).toEqual(newestFirst.slice(0, count));
});

test('returns start, end, duration and cause; an open incident has no end', async () => {
  const [open, resolved] = (await user.api.get(path)).body.data;
  expect(open).toMatchObject({ status: 'open', resolved_at: null, duration_seconds: null, cause: 'open', status_code: 503 });
  expect(resolved).toMatchObject({ status: 'resolved', duration_seconds: 7200 });
});

test('returns pages', async () => {
  const { body } = await user.api.get(`${path}?window=1y&pageSize=2&page=3`);
  expect(body.data).toHaveLength(1);
  expect(body.meta).toEqual({ page: 3, pageSize: 2, pageCount: 3, total: 5 });
});

test('If-None-Match with the ETag of the page returns 304 until an incident on it changes', async () => {
  const { id, path: monitorPath } = await createMonitor(user);
  const execute = (sql: string, params: unknown[]) => service.database.asUser(user.id, (em) => em.execute(sql, params, 'run'));
  await execute(`insert into incidents (user_id, monitor_id, started_at, cause) values (?, ?, now() - interval '1 hour', 'HTTP 503')`, [
    user.id,
    id,
  ]);
  await expectConditionalList(user.api, `${monitorPath}/incidents`, () =>
    execute('update incidents set resolved_at = now() where monitor_id = ?', [id]),
  );
});

test('a monitor cannot have two open incidents', async () => {
  const insertion = service.database.asUser(user.id, (em) =>
    em.execute(
      `insert into incidents (user_id, monitor_id, started_at, cause) select user_id, monitor_id, now(), 'second' from incidents where resolved_at is null limit 1`,
    ),
  );
  await expect(insertion).rejects.toThrow(/incidents_one_open/);
});

test.each(['window=7d', 'window=', 'window=1Y', 'window=24h&window=24h', 'page=0', 'pageSize=0', 'pageSize=101'])(
  'returns 422 for %s',
  async (query) => {
    expect((await user.api.get(`${path}?${query}`)).status).toBe(422);
  },
);

test('returns 401 without a key and 403 without the scope monitors:read', async () => {
  expect((await service.anonymous.get(path)).status).toBe(401);
  const { status, body } = await (await user.withScopes('monitors:write')).get(path);
  expect([status, body.detail]).toEqual([403, expect.stringContaining('"monitors:read"')]);
});

test("returns 404 for another user's monitor, as for an unknown id", async () => {
  const other = await service.createUser();
  const foreign = await other.api.get(path);
  expect([foreign.status, foreign.body.detail]).toEqual([404, `Monitor ${monitorId} was not found.`]);
  expectSameProblem(foreign, await other.api.get('/api/monitors/999999999/incidents'));
});
