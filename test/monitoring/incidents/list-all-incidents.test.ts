import { afterAll, beforeAll, expect, test } from 'vitest';
import { expectConditionalList } from '../../support/etags.ts';
import { startService, type TestService, type TestUser } from '../../support/service.ts';
import { createMonitor } from '../factories.ts';
import { createIncident, resolveIncident } from './create-incident.ts';

const path = '/api/incidents';

let service: TestService;
let user: TestUser;
let shopId: number;
let routerId: number;

beforeAll(async () => {
  service = await startService();
  user = await service.createUser();
  [shopId, routerId] = [(await createMonitor(user)).id, (await createMonitor(user)).id];
  const incidents: [monitorId: number, started: string, resolved: string | null, cause: string][] = [
    [shopId, '400 days', '399 days', 'more than a year ago'],
    [routerId, '366 days 1 hour', '300 days', 'overlaps 1 year'],
    [shopId, '100 days', '99 days', 'overlaps 6 months'],
    [shopId, '31 days', '29 days', 'overlaps 30 days'],
    [routerId, '40 days', null, 'open for 40 days'],
    [shopId, '25 hours', '23 hours', 'overlaps 24 hours'],
    [shopId, '2 hours', null, 'open'],
  ];
  for (const [monitorId, started, resolved, cause] of incidents) {
    await createIncident(service, user, { monitorId, started, resolved, cause });
  }
  const other = await service.createUser();
  await createIncident(service, other, { monitorId: (await createMonitor(other)).id, cause: "another user's" });
});
afterAll(() => service.stop());

const causes = async (query: string) => {
  const { body } = await user.api.get(path + query);
  return body.data.map(({ cause }: { cause: string }) => cause);
};

test.each([
  ['no window', '', ['open', 'overlaps 24 hours', 'open for 40 days']],
  ['24h', '?window=24h', ['open', 'overlaps 24 hours', 'open for 40 days']],
  ['30d', '?window=30d', ['open', 'overlaps 24 hours', 'overlaps 30 days', 'open for 40 days']],
  ['6mo', '?window=6mo', ['open', 'overlaps 24 hours', 'overlaps 30 days', 'open for 40 days', 'overlaps 6 months']],
  ['1y', '?window=1y', ['open', 'overlaps 24 hours', 'overlaps 30 days', 'open for 40 days', 'overlaps 6 months', 'overlaps 1 year']],
])("%s: returns the incidents of all the user's monitors that overlap the window, newest first", async (_, query, expected) => {
  expect(await causes(query)).toEqual(expected);
});

test.each([
  ['?status=open', ['open', 'open for 40 days']],
  ['?status=resolved', ['overlaps 24 hours']],
  ['?status=resolved&window=30d', ['overlaps 24 hours', 'overlaps 30 days']],
])('%s: returns the incidents with this status', async (query, expected) => {
  const { body } = await user.api.get(path + query);
  expect(await causes(query)).toEqual(expected);
  expect(body.meta.total).toBe(expected.length);
});

test('records are the same as in the list of the monitor', async () => {
  const { body } = await user.api.get(`${path}?window=1y`);
  for (const monitorId of [shopId, routerId]) {
    const ofMonitor = await user.api.get(`/api/monitors/${monitorId}/incidents?window=1y`);
    expect(body.data.filter(({ monitor_id }: { monitor_id: number }) => monitor_id === monitorId)).toEqual(ofMonitor.body.data);
  }
  expect(body.data[0]).toMatchObject({ monitor_id: shopId, status: 'open', resolved_at: null, acknowledged_at: null });
});

test('returns pages, with links to the others', async () => {
  const all = (await user.api.get(`${path}?window=1y`)).body.data;
  for (const page of [1, 2, 3]) {
    const { body } = await user.api.get(`${path}?window=1y&pageSize=2&page=${page}`);
    expect(body.data).toEqual(all.slice(2 * (page - 1), 2 * page));
    expect(body.meta).toEqual({ page, pageSize: 2, pageCount: 3, total: 6 });
  }
  const { body } = await user.api.get(`${path}?window=1y&pageSize=2&page=2`);
  expect(body.links.next).toBe('/api/incidents?window=1y&pageSize=2&page=3');
  expect((await user.api.get(`${path}?window=1y&pageSize=2&page=4`)).body.data).toEqual([]);
});

test('of incidents that started at the same time, the one with the higher id is first, also across pages', async () => {
  const busy = await service.createUser();
  const ids: number[] = [];
  for (let count = 0; count < 3; count++) ids.push(await createIncident(service, busy, { monitorId: (await createMonitor(busy)).id }));
  await service.database.asEngine(async (em) => {
    await em.execute(
      `with moved as (delete from incidents where user_id = ? returning *)
       insert into incidents (id, user_id, monitor_id, started_at, cause) overriding system value
       select id, user_id, monitor_id, date_trunc('hour', app_now()), cause from moved`,
      [busy.id],
      'run',
    );
  });
  const pages = await Promise.all([1, 2, 3].map((page) => busy.api.get(`${path}?pageSize=1&page=${page}`)));
  expect(pages.map(({ body }) => body.data[0].id)).toEqual(ids.toReversed());
});

test('If-None-Match with the ETag of the page returns 304 until an incident on it changes', async () => {
  const busy = await service.createUser();
  const id = await createIncident(service, busy, { monitorId: (await createMonitor(busy)).id });
  await expectConditionalList(busy.api, path, () => resolveIncident(service, id));
});

test('returns an empty page to a user without incidents', async () => {
  const { status, body } = await (await service.createUser()).api.get(path);
  expect([status, body.data, body.meta]).toEqual([200, [], { page: 1, pageSize: 100, pageCount: 1, total: 0 }]);
});

test.each(['window=7d', 'window=', 'status=pending', 'status=', 'status=open&status=open', 'page=0', 'pageSize=0', 'pageSize=101'])(
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
