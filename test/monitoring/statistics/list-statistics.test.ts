import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { components } from '../../../generated/types/monitoring.ts';
import { addChecks, rollUpAll, rollUpFrom } from '../../support/check-history.ts';
import { hashETag } from '../../support/etags.ts';
import { startService, type TestService, type TestUser } from '../../support/service.ts';
import { createMonitor } from '../factories.ts';
import { addIncident, hourMs, type MonitorKey, minuteMs, setObserved, setProgress, startOfHour, within } from './stored-history.ts';

type Statistics = components['schemas']['Statistics'];

const path = '/api/monitors/statistics';

let service: TestService;

beforeAll(async () => {
  service = await startService();
});
afterAll(() => service.stop());

const lasting = ({ to: _, ...rest }: Statistics) => rest;

async function list({ api }: TestUser, query = ''): Promise<Statistics[]> {
  const { status, body } = await api.get(`${path}?${query}`);
  expect([status, body.data]).toEqual([200, expect.any(Array)]);
  return body.data;
}

/** A monitor that has been checked once, 6 hours ago, and observed since for this number of minutes, the last 5 of them down. */
async function createChecked(user: TestUser, minutes: number, startMs: number, fields: object = {}): Promise<MonitorKey> {
  const monitor = { userId: user.id, monitorId: (await createMonitor(user, fields)).id };
  await addChecks(service.database, monitor, [{ atMs: startMs, ms: minutes }]);
  const endMs = startMs + minutes * minuteMs;
  await setObserved(service.database, monitor, [{ fromMs: startMs, toMs: endMs }]);
  await addIncident(service.database, monitor, endMs - 5 * minuteMs, endMs + minuteMs);
  return monitor;
}

test.each(['24h', '7d', '30d', '90d'])(
  '%s: every monitor has its own statistics, before they are rolled up and afterwards',
  async (window) => {
    await within(service.database, hourMs, async (nowMs) => {
      const user = await service.createUser();
      const startMs = startOfHour(nowMs) - 6 * hourMs;
      const monitors = [await createChecked(user, 100, startMs), await createChecked(user, 200, startMs)];
      const empty = await createMonitor(user);
      await setProgress(service.database, startMs);
      const before = await list(user, `window=${window}`);
      await rollUpAll(service.database);
      expect((await list(user, `window=${window}`)).map(lasting)).toEqual(before.map(lasting));
      const nothing = { incident_count: 0, down_seconds: 0, uptime_percent: null, response_time_ms: null, checks: { total: 0, failed: 0 } };
      const one = { incident_count: 1, down_seconds: 300, checks: { total: 1, failed: 0 }, window };
      expect(before).toMatchObject([
        { monitor_id: empty.id, window, observed_seconds: 0, ...nothing },
        {
          monitor_id: monitors[1]?.monitorId,
          observed_seconds: 12_000,
          uptime_percent: 97.5,
          response_time_ms: { min: 200, max: 200 },
          ...one,
        },
        {
          monitor_id: monitors[0]?.monitorId,
          observed_seconds: 6000,
          uptime_percent: 95,
          response_time_ms: { min: 100, max: 100 },
          ...one,
        },
      ]);
      const count = { '24h': 24, '7d': 168, '30d': 30, '90d': 90 }[window];
      expect(before.map(({ buckets }) => buckets.length)).toEqual([count, count, count]);
    });
  },
);

describe('the filters and orders of the list of monitors', () => {
  let user: TestUser;
  let websiteId: number;

  beforeAll(async () => {
    user = await service.createUser();
    websiteId = (await user.api.post('/api/v1/websites', { form: { domain: 'shop.example' } })).body.data.id;
    const startMs = startOfHour(service.database.now()) - 6 * hourMs;
    const monitors: [name: string, state: string, fields: object][] = [
      ['beta', `status = 'up'`, { tags: ['production', 'web'] }],
      ['Alpha', `status = 'down'`, { tags: ['production'], website_id: websiteId }],
      ['alpha', `status = 'up', tls_expires_at = now(), tls_warned_expiry = now()`, { url: 'https://beta.example.org/', tags: ['web'] }],
      ['database', `status = 'paused', is_active = false`, { url: 'tcp://db.example.org:5432', type: 'tcp', website_id: websiteId }],
      ['Job', `status = 'pending'`, { type: 'heartbeat', url: undefined, tags: ['production'] }],
      ['Ünder', `status = 'up'`, { url: 'under.example.org', type: 'ping' }],
      ['zeta', `status = 'down'`, {}],
    ];
    for (const [index, [friendly_name, state, fields]] of monitors.entries()) {
      const { monitorId } = await createChecked(user, 10 + index, startMs, { friendly_name, ...fields });
      await service.database.asUser(user.id, (em) => em.execute(`update monitors set ${state} where id = ?`, [monitorId], 'run'));
    }
    await createMonitor(await service.createUser(), { friendly_name: 'foreign', tags: ['production', 'web'] });
    await rollUpFrom(service.database, startMs);
  });

  const queries = (): [query: string, count: number][] => [
    ['', 7],
    ['status=up', 3],
    ['status=down', 2],
    ['status=pending', 1],
    ['status=paused', 1],
    ['type=http', 4],
    ['type=ping', 1],
    ['type=heartbeat', 1],
    ['tag=production', 3],
    ['tag=unknown', 0],
    [`website_id=${websiteId}`, 2],
    ['search=ALPHA', 2],
    ['search=beta', 2],
    ['search=%C3%9CNDER', 1],
    ['sort=newest', 7],
    ['sort=name', 7],
    ['sort=worst_first', 7],
    ['sort=worst_first&tag=production', 3],
    ['sort=name&type=http&status=up', 2],
    ['tag=web&search=beta&status=up&type=http&sort=name', 2],
    ['page=2&pageSize=3', 3],
    ['page=2&pageSize=3&sort=name', 3],
    ['page=3&pageSize=3&sort=worst_first', 1],
    ['page=4&pageSize=3', 0],
  ];

  test('find the same monitors, in the same order', async () => {
    for (const [query, count] of queries()) {
      const monitors = (await user.api.get(`/api/monitors?${query}`)).body;
      const { data, links, meta } = (await user.api.get(`${path}?${query}`)).body;
      const ids = monitors.data.map(({ id }: { id: number }) => id);
      expect([query, data.map(({ monitor_id }: Statistics) => monitor_id)]).toEqual([query, ids]);
      expect([query, ids.length, meta]).toEqual([query, count, monitors.meta]);
      expect(links).toEqual(JSON.parse(JSON.stringify(monitors.links).replaceAll('/api/monitors?', `${path}?`)));
    }
  });

  test('the statistics of each monitor are those that it has alone', async () => {
    for (const window of ['24h', '7d', '30d', '90d']) {
      const all = await list(user, `window=${window}&sort=worst_first`);
      expect(all).toHaveLength(7);
      for (const one of all) {
        const { body } = await user.api.get(`/api/monitors/${one.monitor_id}/statistics?window=${window}`);
        expect(lasting(one)).toEqual(lasting(body.data));
        expect(one.checks.total).toBe(1);
      }
    }
  });

  test("no filter finds another user's monitors", async () => {
    const other = await service.createUser();
    for (const query of ['', 'tag=production', `website_id=${websiteId}`, 'search=alpha', 'status=up', 'sort=worst_first']) {
      expect(await list(other, query)).toEqual([]);
    }
  });

  test('pages follow each other by their links', async () => {
    const seen: number[] = [];
    const pages: string[] = [];
    for (let next: string | null = `${path}?sort=name&window=7d&pageSize=3`; next !== null; ) {
      pages.push(next);
      const { body } = (await user.api.get(next)) as { body: { data: Statistics[]; links: { next: string | null } } };
      seen.push(...body.data.map(({ monitor_id }) => monitor_id));
      expect(body.data.every(({ window }) => window === '7d')).toBe(true);
      next = body.links.next;
    }
    const { data } = (await user.api.get('/api/monitors?sort=name')).body;
    expect(seen).toEqual(data.map(({ id }: { id: number }) => id));
    expect(pages).toEqual([
      `${path}?sort=name&window=7d&pageSize=3`,
      `${path}?sort=name&window=7d&pageSize=3&page=2`,
      `${path}?sort=name&window=7d&pageSize=3&page=3`,
    ]);
  });
});

test('a page has 20 monitors by default, and up to 25', async () => {
  const user = await service.createUser();
  await service.database.asUser(user.id, (em) =>
    em.execute(
      `insert into monitors (user_id, friendly_name, url) select ?, 'M ' || n, 'https://example.com/' from generate_series(1, 27) n`,
      [user.id],
    ),
  );
  const pageOf = async (query: string) => (await user.api.get(`${path}?${query}`)).body;
  const byDefault = await pageOf('');
  expect([byDefault.data.length, byDefault.meta]).toEqual([20, { page: 1, pageSize: 20, pageCount: 2, total: 27 }]);
  const largest = await pageOf('pageSize=25&window=7d');
  expect([largest.data.length, largest.meta]).toEqual([25, { page: 1, pageSize: 25, pageCount: 2, total: 27 }]);
  expect((await pageOf('pageSize=25&page=2')).data).toHaveLength(2);
});

test('without monitors there is one empty page', async () => {
  const { status, body } = await (await service.createUser()).api.get(path);
  expect([status, body]).toEqual([
    200,
    {
      data: [],
      links: { first: `${path}?page=1`, last: `${path}?page=1`, prev: null, next: null },
      meta: { page: 1, pageSize: 20, pageCount: 1, total: 0 },
    },
  ]);
});

test('If-None-Match with the ETag of the page returns 304, until the next second or a check', async () => {
  const user = await service.createUser();
  const monitor = { userId: user.id, monitorId: (await createMonitor(user)).id };
  // The end of the statistics is cut to seconds, so both requests must come within one.
  const conditional = async () => {
    const { headers } = await user.api.get(path);
    expect(headers.get('ETag')).toEqual(hashETag);
    return (await user.api.get(path, { headers: { 'If-None-Match': headers.get('ETag') ?? '' } })).status;
  };
  await expect.poll(conditional).toBe(304);
  const first = (await user.api.get(path)).headers.get('ETag') ?? '';
  await addChecks(service.database, monitor, [{ atMs: service.database.now(), ms: 5 }]);
  expect((await user.api.get(path, { headers: { 'If-None-Match': first } })).status).toBe(200);
});

test.each([
  'window=1h',
  'window=',
  'window=6mo',
  'window=1y',
  'page=0',
  'pageSize=0',
  'pageSize=26',
  'status=broken',
  'type=pigeon',
  'tag=',
  'website_id=0',
  'sort=id',
])('returns 422 for %s', async (query) => {
  expect((await (await service.createUser()).api.get(`${path}?${query}`)).status).toBe(422);
});
