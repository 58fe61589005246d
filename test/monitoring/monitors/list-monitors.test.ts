import { afterAll, beforeAll, expect, test } from 'vitest';
import { expectConditionalList } from '../../support/etags.ts';
import { startService, type TestService, type TestUser } from '../../support/service.ts';

let service: TestService;
let user: TestUser;

beforeAll(async () => {
  service = await startService();
  user = await service.createUser();
  await service.database.asUser(user.id, (em) =>
    em.execute(
      `insert into monitors (user_id, friendly_name, url, type, status)
       select ?, 'Monitor ' || n, 'https://example.com/' || n, case when n % 5 = 0 then 'ping' else 'http' end,
              case when n % 2 = 0 then 'down' else 'up' end
         from generate_series(1, 45) n`,
      [user.id],
    ),
  );
});
afterAll(() => service.stop());

test('returns the newest twenty by default', async () => {
  const { status, body } = await user.api.get('/api/monitors');
  expect(status).toBe(200);
  expect(body.data).toHaveLength(20);
  expect(body.data[0]).toMatchObject({
    friendly_name: 'Monitor 45',
    type: 'ping',
    interval: 60,
    is_active: true,
    status: 'up',
    last_checked_at: null,
  });
  expect(body.meta).toEqual({ page: 1, pageSize: 20, pageCount: 3, total: 45 });
  expect(body.links.next).toBe('/api/monitors?page=2');
});

test('filters by status, by type and by both', async () => {
  expect((await user.api.get('/api/monitors?status=down')).body.meta.total).toBe(22);
  expect((await user.api.get('/api/monitors?type=ping')).body.meta.total).toBe(9);
  expect((await user.api.get('/api/monitors?type=ping&status=down&pageSize=100')).body.data).toHaveLength(4);
});

test('If-None-Match with the ETag of the page returns 304 until a monitor on it changes', async () => {
  await expectConditionalList(user.api, '/api/monitors?pageSize=5', () =>
    service.database.asUser(user.id, (em) =>
      em.execute(`update monitors set last_response_time_ms = 17 where friendly_name = 'Monitor 45'`, [], 'run'),
    ),
  );
});

test("does not list another user's monitors", async () => {
  const other = await service.createUser();
  expect((await other.api.get('/api/monitors')).body).toMatchObject({ data: [], meta: { pageCount: 1, total: 0 } });
});

test('returns 401 without a key', async () => {
  expect((await service.anonymous.get('/api/monitors')).status).toBe(401);
});

test('returns 403 without the scope monitors:read', async () => {
  expect((await (await user.withScopes('monitors:write')).get('/api/monitors')).body.code).toBe('missing_scope');
});

test.each(['pageSize=0', 'pageSize=101', 'page=0', 'status=broken', 'type=smtp', 'type=http&type=ping'])(
  'returns 422 for %s',
  async (query) => {
    expect((await user.api.get(`/api/monitors?${query}`)).status).toBe(422);
  },
);
