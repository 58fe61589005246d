import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { expectConditionalList } from '../../support/etags.ts';
import { startService, type TestService, type TestUser } from '../../support/service.ts';
import { createMonitor } from '../factories.ts';

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

describe('filters and orders', () => {
  let owner: TestUser;
  let websiteId: number;
  const names = async (query: string, { api } = owner): Promise<string[]> =>
    (await api.get(`/api/monitors?${query}`)).body.data.map((monitor: { friendly_name: string }) => monitor.friendly_name);

  beforeAll(async () => {
    owner = await service.createUser();
    websiteId = (await owner.api.post('/api/v1/websites', { form: { domain: 'shop.example' } })).body.data.id;
    const monitors: [name: string, state: string, fields: object][] = [
      ['beta', `status = 'up'`, { url: 'https://beta.example.org/a_b', tags: ['production', 'web'] }],
      ['Alpha', `status = 'down'`, { url: 'https://alpha.example.org/100%25', tags: ['production'], website_id: websiteId }],
      ['alpha', `status = 'up', tls_expires_at = now(), tls_warned_expiry = now()`, { url: 'https://Beta.example.org/axb', tags: ['web'] }],
      ['100% of_it', `status = 'paused', is_active = false`, { url: 'tcp://db.example.org:5432', type: 'tcp', website_id: websiteId }],
      ['Job', `status = 'pending'`, { type: 'heartbeat', url: undefined, tags: ['production'] }],
      ['Ünder', `status = 'up', tls_expires_at = now()`, { url: 'under.example.org', type: 'ping' }],
      ['zeta', `status = 'down', tls_expires_at = now(), tls_warned_expiry = now()`, { url: 'https://zeta.example.org/' }],
    ];
    for (const [friendly_name, state, fields] of monitors) {
      const { id } = await createMonitor(owner, { friendly_name, ...fields });
      await service.database.asUser(owner.id, (em) => em.execute(`update monitors set ${state} where id = ?`, [id], 'run'));
    }
    const other = await service.createUser();
    await createMonitor(other, { friendly_name: 'foreign', tags: ['production', 'web'] });
  });

  const newest = ['zeta', 'Ünder', 'Job', '100% of_it', 'alpha', 'Alpha', 'beta'];

  test.each([
    ['', newest],
    ['status=up', ['Ünder', 'alpha', 'beta']],
    ['status=down', ['zeta', 'Alpha']],
    ['status=pending', ['Job']],
    ['status=paused', ['100% of_it']],
    ['type=http', ['zeta', 'alpha', 'Alpha', 'beta']],
    ['type=ping', ['Ünder']],
    ['type=tcp', ['100% of_it']],
    ['type=heartbeat', ['Job']],
    ['tag=production', ['Job', 'Alpha', 'beta']],
    ['tag=prod', []],
    ['tag=web', ['alpha', 'beta']],
    ['search=', newest],
    ['search=ALPHA', ['alpha', 'Alpha']],
    ['search=beta.EXAMPLE', ['alpha', 'beta']],
    ['search=job', ['Job']],
    ['search=%25', ['100% of_it', 'Alpha']],
    ['search=100%25', ['100% of_it', 'Alpha']],
    ['search=a_b', ['beta']],
    ['search=_', ['100% of_it', 'beta']],
    ['search=%5C', []],
    [`search=${encodeURIComponent("' or true --")}`, []],
    ['search=xyz', []],
    ['tag=production&status=up', ['beta']],
    ['tag=production&search=alpha', ['Alpha']],
    ['tag=web&type=http&status=up&search=beta', ['alpha', 'beta']],
    ['type=tcp&status=down', []],
  ])('%s finds the right monitors, newest first', async (query, expected) => {
    expect(await names(query)).toEqual(expected);
  });

  test('website_id finds the monitors of a website, alone and with other filters', async () => {
    expect(await names(`website_id=${websiteId}`)).toEqual(['100% of_it', 'Alpha']);
    expect(await names(`website_id=${websiteId}&tag=production&status=down&search=ALP&type=http`)).toEqual(['Alpha']);
  });

  test('search finds a changed name and URL, and no longer the former ones', async () => {
    const changing = await service.createUser();
    const { path } = await createMonitor(changing, { friendly_name: 'Former', url: 'https://former.example/' });
    await changing.api.put(path, { json: { friendly_name: 'Çurrent', url: 'https://example.com/CURRENT' } });
    const total = async (text: string) => (await changing.api.get(`/api/monitors?search=${encodeURIComponent(text)}`)).body.meta.total;
    expect([await total('çURRENT'), await total('com/current'), await total('former')]).toEqual([1, 1, 0]);
  });

  test('search does not find a text that begins in the name and ends in the URL', async () => {
    expect(await names(`search=${encodeURIComponent('alphahttps')}`)).toEqual([]);
    expect(await names(`search=${encodeURIComponent('alpha\nhttps')}`)).toEqual([]);
  });

  test('search ignores the case of letters beyond ASCII as well', async () => {
    expect(await names(`search=${encodeURIComponent('ÜNDER')}`)).toEqual(['Ünder']);
    expect(await names(`search=${encodeURIComponent('ünder')}`)).toEqual(['Ünder']);
  });

  test.each([
    ['newest', newest],
    ['name', ['100% of_it', 'alpha', 'Alpha', 'beta', 'Job', 'zeta', 'Ünder']],
    ['worst_first', ['zeta', 'Alpha', 'alpha', 'Job', 'Ünder', 'beta', '100% of_it']],
  ])('sort=%s sorts them, and equal ones newest first', async (sort, expected) => {
    expect(await names(`sort=${sort}`)).toEqual(expected);
    const pages = [];
    for (const page of [1, 2, 3, 4, 5]) pages.push(...(await names(`sort=${sort}&pageSize=2&page=${page}`)));
    expect(pages).toEqual(expected);
  });

  test('worst_first counts a certificate that expires before the one that was warned of as a warning', async () => {
    const another = await service.createUser();
    for (const [friendly_name, expiry] of [
      ['sooner', `now() - interval '1 day'`],
      ['later', `now() + interval '1 day'`],
    ]) {
      const { id } = await createMonitor(another, { friendly_name });
      const update = `update monitors set status = 'up', tls_warned_expiry = now(), tls_expires_at = ${expiry} where id = ?`;
      await service.database.asUser(another.id, (em) => em.execute(update, [id], 'run'));
    }
    expect(await names('sort=worst_first', another)).toEqual(['sooner', 'later']);
  });

  test('the order applies to filtered monitors', async () => {
    expect(await names('sort=name&type=http')).toEqual(['alpha', 'Alpha', 'beta', 'zeta']);
    expect(await names('sort=worst_first&tag=production')).toEqual(['Alpha', 'Job', 'beta']);
  });

  test('links keep the filters and the order, and the numbers count only what was found', async () => {
    const { body } = await owner.api.get('/api/monitors?tag=production&search=a&sort=name&pageSize=1');
    expect(body.meta).toEqual({ page: 1, pageSize: 1, pageCount: 2, total: 2 });
    const query = new URL(body.links.next, 'http://localhost').searchParams;
    expect(Object.fromEntries(query)).toEqual({ tag: 'production', search: 'a', sort: 'name', pageSize: '1', page: '2' });
    const next = await owner.api.get(body.links.next);
    expect(next.body.data.map((monitor: { friendly_name: string }) => monitor.friendly_name)).toEqual(['beta']);
  });

  test("no filter finds another user's monitors", async () => {
    const other = await service.createUser();
    for (const query of ['', 'tag=production', `website_id=${websiteId}`, 'search=alpha', 'status=up', 'type=http', 'sort=worst_first'])
      expect(await names(query, other)).toEqual([]);
  });

  test.each([
    ['status=sideways', 'status'],
    ['status=', 'status'],
    ['type=pigeon', 'type'],
    ['tag=', 'tag'],
    ['tag=Production', 'tag'],
    [`tag=${'x'.repeat(33)}`, 'tag'],
    ['website_id=0', 'website_id'],
    ['website_id=', 'website_id'],
    ['website_id=null', 'website_id'],
    ['website_id=9007199254740992', 'website_id'],
    [`search=${'x'.repeat(254)}`, 'search'],
    ['search=%00', 'search'],
    ['sort=', 'sort'],
    ['sort=id', 'sort'],
  ])('rejects %s', async (query, name) => {
    const { status, body } = await owner.api.get(`/api/monitors?${query}`);
    expect([status, body.errors[0]]).toEqual([422, expect.objectContaining({ in: 'query', name })]);
  });
});
