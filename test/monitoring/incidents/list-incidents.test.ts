import { afterAll, beforeAll, expect, test } from 'vitest';
import { startService, type TestService, type TestUser } from '../../support/service.ts';

let service: TestService;
let user: TestUser;
let path: string;

beforeAll(async () => {
  service = await startService();
  user = await service.createUser();
  const { body } = await user.api.post('/api/monitors', { json: { friendly_name: 'Shop', url: 'https://example.com' } });
  path = `/api/monitors/${body.data.id}/incidents`;
  const incidents: [started: string, resolved: string | null, cause: string][] = [
    ['400 days', '399 days', 'a year and more ago'],
    ['366 days 1 hour', '300 days', 'reaches into the year'],
    ['100 days', '99 days', 'reaches into half a year'],
    ['31 days', '29 days', 'reaches into 30 days'],
    ['25 hours', '23 hours', 'reaches into 24 hours'],
    ['2 hours', null, 'still open'],
  ];
  for (const [started, resolved, cause] of incidents) {
    await service.database.asUser(user.id, (em) =>
      em.execute(
        `insert into incidents (user_id, monitor_id, started_at, resolved_at, cause, status_code)
         values (?, ?, now() - ?::interval, now() - ?::interval, ?, 503)`,
        [user.id, body.data.id, started, resolved, cause],
      ),
    );
  }
});
afterAll(() => service.stop());

const causes = async (query: string) => (await user.api.get(`${path}${query}`)).body.data.map(({ cause }: { cause: string }) => cause);

test.each([
  ['', 2],
  ['?window=24h', 2],
  ['?window=30d', 3],
  ['?window=6mo', 4],
  ['?window=1y', 5],
])('listIncidents%s: those that overlap the window, open ones included, newest first', async (query, count) => {
  const all = ['still open', 'reaches into 24 hours', 'reaches into 30 days', 'reaches into half a year', 'reaches into the year'];
  expect(await causes(query)).toEqual(all.slice(0, count));
});

test('an incident says when, how long and why; an open one has no end', async () => {
  const [open, resolved] = (await user.api.get(path)).body.data;
  expect(open).toMatchObject({ status: 'open', resolved_at: null, duration_seconds: null, cause: 'still open', status_code: 503 });
  expect(resolved).toMatchObject({ status: 'resolved', duration_seconds: 7200 });
});

test('listIncidents: in pages', async () => {
  const { body } = await user.api.get(`${path}?window=1y&pageSize=2&page=3`);
  expect(body.data).toHaveLength(1);
  expect(body.meta).toEqual({ page: 3, pageSize: 2, pageCount: 3, total: 5 });
});

test('a monitor has at most one open incident', async () => {
  const second = service.database.asUser(user.id, (em) =>
    em.execute(
      `insert into incidents (user_id, monitor_id, started_at, cause) select user_id, monitor_id, now(), 'second' from incidents limit 1`,
    ),
  );
  await expect(second).rejects.toThrow(/incidents_one_open/);
});

test.each(['window=7d', 'window=', 'window=1Y', 'window=24h&window=24h', 'page=0', 'pageSize=0', 'pageSize=101'])(
  'listIncidents: 422 for %s',
  async (query) => {
    expect((await user.api.get(`${path}?${query}`)).status).toBe(422);
  },
);
