import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { expectConditionalList } from '../support/etags.ts';
import { startService, type TestService, type TestUser } from '../support/service.ts';

let service: TestService;
let user: TestUser;
let ids: number[];

/** Creates site-01 to site-23. Of these, site-05, site-10, site-15 and site-20 are favorites. */
beforeAll(async () => {
  service = await startService();
  user = await service.createUser();
  ids = [];
  for (let number = 1; number <= 23; number++) {
    const { body } = await user.api.post('/api/v1/websites', { form: { domain: `site-${String(number).padStart(2, '0')}.example.com` } });
    ids.push(body.data.id);
    if (number % 5 === 0) await user.api.patch(`/api/v1/websites/${body.data.id}`, { form: { favorite: '1' } });
  }
});
afterAll(() => service.stop());

const list = (query = '') => user.api.get(`/api/v1/websites${query}`);
const domains = (body: { data: { domain: string }[] }) => body.data.map(({ domain }) => domain);

describe('success', () => {
  test('returns the newest ten by default: sort_by id, sort desc, per_page 10', async () => {
    const { status, body } = await list();
    expect(status).toBe(200);
    expect(body.data.map(({ id }: { id: number }) => id)).toEqual(ids.toReversed().slice(0, 10));
    expect(body.meta).toEqual({ current_page: 1, per_page: 10, last_page: 3, total: 23, from: 1, to: 10 });
    expect((await list('?search_by=domain&sort_by=id&sort=desc&per_page=10&page=1')).body.data).toEqual(body.data);
  });

  test('responds to HEAD like to GET, without a body', async () => {
    const { status, text, headers } = await user.api.request('HEAD', '/api/v1/websites?per_page=25');
    expect([status, text]).toEqual([200, '']);
    expect(headers.get('Content-Length')).toBe(`${Buffer.byteLength((await list('?per_page=25')).text)}`);
  });
});

describe('conditional reads', () => {
  test('If-None-Match with the ETag of the page returns 304 until a website on it changes', async () => {
    await expectConditionalList(user.api, '/api/v1/websites?per_page=25', async () => {
      for (const favorite of ['0', '1']) await user.api.patch(`/api/v1/websites/${ids[4]}`, { form: { favorite } });
    });
  });

  test('pages, and the empty lists of two filters, have different ETags', async () => {
    const queries = ['?page=1', '?page=2', '?search=nothing', '?search=nobody'];
    const tags = await Promise.all(queries.map(async (query) => (await list(query)).headers.get('ETag')));
    expect(new Set(tags).size).toBe(4);
  });

  test('the ETag of a list is not that of its only website', async () => {
    const one = await list('?search=site-07');
    const { status } = await user.api.get(`/api/v1/websites/${ids[6]}`, { headers: { 'If-None-Match': one.headers.get('ETag') ?? '' } });
    expect(status).toBe(200);
  });
});

describe('long settings', () => {
  const limit = 8192;
  const addresses = Array.from({ length: 204 }, (_, index) => `2001:db8:1111:1111:1111:1111:1111:${(0x1000 + index).toString(16)}`);

  test.each([
    ['exclude_params', 'one name', 'x'.repeat(limit - 2), 'x'],
    ['exclude_params', 'quotes, which count as two bytes', '"'.repeat(limit / 2 - 1), 'x'],
    ['exclude_params', 'backslashes, which count as two bytes', '\\'.repeat(limit / 2 - 1), 'x'],
    ['exclude_params', 'letters of two bytes', 'ü'.repeat(limit / 2 - 1), 'x'],
    ['exclude_params', 'line breaks, which count as two bytes', `y\n${'x'.repeat(limit - 5)}`, 'x'],
    ['exclude_ips', 'addresses', `${addresses.join('\n')}\n2001:db8:1111:1111:1111:11:1:1`, '1'],
  ])('%s with %s is listed up to 8 KiB as JSON, and null and named in omitted_fields above', async (field, _, longest, more) => {
    const { api } = await service.createUser();
    expect(Buffer.byteLength(JSON.stringify(longest))).toBe(limit);
    const under = await api.post('/api/v1/websites', { form: { domain: 'under.example', [field]: longest } });
    const over = await api.post('/api/v1/websites', { form: { domain: 'over.example', [field]: longest + more } });
    expect([under.body.data[field], over.body.data[field]]).toEqual([longest, longest + more]);
    const { body } = await api.get('/api/v1/websites?sort=asc');
    expect(body.data).toEqual([
      { ...under.body.data, omitted_fields: [] },
      { ...over.body.data, [field]: null, omitted_fields: [field] },
    ]);
    for (const { data } of [under.body, over.body]) expect((await api.get(`/api/v1/websites/${data.id}`)).body.data).toEqual(data);
  });

  test('are both null if both are too long', async () => {
    const { api } = await service.createUser();
    const form = {
      domain: 'both.example',
      exclude_params: 'x'.repeat(limit),
      exclude_ips: [...addresses, '::1', '::2', '::3', '::4', '::5', '::6', '::7'].join('\n'),
    };
    const { data } = (await api.post('/api/v1/websites', { form })).body;
    const [listed] = (await api.get('/api/v1/websites')).body.data;
    expect(listed).toEqual({ ...data, exclude_params: null, exclude_ips: null, omitted_fields: ['exclude_params', 'exclude_ips'] });
  });

  test('a page of 100 websites has at most 2 MiB, whether its lists just fit or are as long as the contract allows', async () => {
    const { id, api } = await service.createUser();
    await service.database.asUser(id, (em) =>
      em.execute(
        `insert into websites (user_id, domain, exclude_params, exclude_ips)
         select ?, lpad(n || '.example', 253, 'a'), repeat('x', ?), repeat('x', ?) from generate_series(1, 100) as n`,
        [id, limit - 2, limit - 2],
      ),
    );
    const fitting = await api.get('/api/v1/websites?per_page=100');
    expect(fitting.body.data.flatMap(({ omitted_fields }: { omitted_fields: string[] }) => omitted_fields)).toEqual([]);
    expect(Buffer.byteLength(fitting.text)).toBeGreaterThan(100 * 2 * limit);
    expect(Buffer.byteLength(fitting.text)).toBeLessThanOrEqual(2 * 1024 * 1024);

    await service.database.asUser(id, (em) =>
      em.execute(`update websites set exclude_params = repeat('x', 131072), exclude_ips = repeat('x', 131072)`),
    );
    const longest = await api.get('/api/v1/websites?per_page=100');
    expect(longest.body.data).toHaveLength(100);
    for (const { omitted_fields } of longest.body.data) expect(omitted_fields).toEqual(['exclude_params', 'exclude_ips']);
    expect(Buffer.byteLength(longest.text)).toBeLessThanOrEqual(2 * 1024 * 1024);
  });
});

describe('pages', () => {
  test.each([
    ['the first', 1, { from: 1, to: 10 }, { prev: null, next: '/api/v1/websites?page=2' }],
    ['in the middle', 2, { from: 11, to: 20 }, { prev: '/api/v1/websites?page=1', next: '/api/v1/websites?page=3' }],
    ['the last', 3, { from: 21, to: 23 }, { prev: '/api/v1/websites?page=2', next: null }],
    ['past the end', 9, { from: null, to: null }, { prev: '/api/v1/websites?page=3', next: null }],
    ['far past the end', 1_000_000, { from: null, to: null }, { prev: '/api/v1/websites?page=3', next: null }],
  ])('meta and links are correct on a page that is %s', async (_, page, rows, links) => {
    const { status, body } = await list(`?page=${page}`);
    expect(status).toBe(200);
    expect(body.meta).toEqual({ current_page: page, per_page: 10, last_page: 3, total: 23, ...rows });
    expect(body.links).toEqual({ first: '/api/v1/websites?page=1', last: '/api/v1/websites?page=3', ...links });
    expect(body.data).toHaveLength(rows.from === null ? 0 : rows.to - rows.from + 1);
  });

  test('meta and links are correct on an empty list, which has one page', async () => {
    const { body } = await list('?search=nothing');
    expect(body).toEqual({
      data: [],
      links: {
        first: '/api/v1/websites?search=nothing&page=1',
        last: '/api/v1/websites?search=nothing&page=1',
        prev: null,
        next: null,
      },
      meta: { current_page: 1, per_page: 10, last_page: 1, total: 0, from: null, to: null },
    });
  });

  test.each([
    ['sort_by=id&sort=asc', 'next'],
    ['sort_by=id&sort=asc&unknown={a|b}', 'next'],
    ['sort_by=id&sort=desc', 'next'],
    ['sort_by=domain&sort=asc&search=SITE-', 'next'],
    ['sort_by=domain&sort=desc&favorite=false', 'next'],
    ['sort_by=domain&sort=asc', 'prev'],
    ['sort_by=id&sort=desc&search=e%2De', 'prev'],
  ])('the links keep %s and lead through all pages with %s', async (query, direction) => {
    const whole = domains((await list(`?${query}&per_page=100`)).body);
    let link: string | null = (await list(`?${query}`)).body.links[direction === 'next' ? 'first' : 'last'];
    const found: string[][] = [];
    while (link) {
      const { body } = await user.api.get(link);
      found.push(domains(body));
      link = body.links[direction];
    }
    expect((direction === 'next' ? found : found.toReversed()).flat()).toEqual(whole);
  });

  test.each([10, 25, 50, 100])('per_page accepts %i', async (perPage) => {
    const { body } = await list(`?per_page=${perPage}`);
    expect([body.meta.per_page, body.data.length]).toEqual([perPage, Math.min(perPage, 23)]);
  });
});

describe('sorting', () => {
  test('by id is the order of creation or its reverse', async () => {
    const ascending = (await list('?sort_by=id&sort=asc&per_page=100')).body.data.map(({ id }: { id: number }) => id);
    expect(ascending).toEqual(ids);
    const descending = (await list('?sort_by=id&sort=desc&per_page=100')).body.data.map(({ id }: { id: number }) => id);
    expect(descending).toEqual(ids.toReversed());
  });

  test('by domain compares bytes, not the collation of a language', async () => {
    const other = await service.createUser();
    const inOrder = ['a-b.example', 'a.example', 'a0.example', 'aa.example', 'b.example', 'xn--bcher-kva.example'];
    for (const domain of inOrder.toReversed()) await other.api.post('/api/v1/websites', { form: { domain } });
    expect(domains((await other.api.get('/api/v1/websites?sort_by=domain&sort=asc')).body)).toEqual(inOrder);
    expect(domains((await other.api.get('/api/v1/websites?sort_by=domain&sort=desc')).body)).toEqual(inOrder.toReversed());
  });
});

describe('search', () => {
  test.each([
    ['finds a part in the middle', 'e-07.ex', 1],
    ['ignores case', 'E-07.EX', 1],
    ['finds all matches', 'example.com', 23],
    ['does not filter if empty', '', 23],
    ['treats % literally', '%', 0],
    ['treats _ literally', 'site_01', 0],
    ['treats \\ literally', '\\', 0],
    ['treats \\ before a character literally', 'site\\-01', 0],
    ["treats ' literally", "' or 1=1 --", 0],
    ['treats " literally', '"', 0],
    ['treats ? literally', '?', 0],
    ['treats all of them together literally', `'?\\?"$1:x%_`, 0],
    ['accepts 253 characters', 'x'.repeat(253), 0],
  ])('%s: %s', async (_, search, total) => {
    const { body } = await list(`?search=${encodeURIComponent(search)}&search_by=domain`);
    expect(body.meta.total).toBe(total);
    expect(body.data).toHaveLength(Math.min(10, total));
  });

  test.each([
    ['the name as people write it', 'bücher', ['xn--bcher-kva.example', 'xn--bcher-kva.xn--mnchen-3ya.example']],
    ['upper case', 'BÜCHER', ['xn--bcher-kva.example', 'xn--bcher-kva.xn--mnchen-3ya.example']],
    ['a decomposed letter', 'bu\u0308cher', ['xn--bcher-kva.example', 'xn--bcher-kva.xn--mnchen-3ya.example']],
    ['a decomposed letter in upper case', 'BU\u0308CHER', ['xn--bcher-kva.example', 'xn--bcher-kva.xn--mnchen-3ya.example']],
    ['a part of the name', 'büch', ['xn--bcher-kva.example', 'xn--bcher-kva.xn--mnchen-3ya.example']],
    ['a part over two labels', 'cher.mün', ['xn--bcher-kva.xn--mnchen-3ya.example']],
    ['a single letter', 'ü', ['xn--bcher-kva.example', 'xn--bcher-kva.xn--mnchen-3ya.example']],
    ['the ASCII form', 'xn--bcher', ['xn--bcher-kva.example', 'xn--bcher-kva.xn--mnchen-3ya.example']],
    ['a name without the umlaut', 'bucher', ['bucher.example']],
    ['another letter', 'bücherx', []],
  ])('finds an international domain by %s: %s', async (_, search, found) => {
    const { api } = await service.createUser();
    for (const domain of ['bücher.example', 'Bücher.MÜNCHEN.example', 'bucher.example']) {
      await api.post('/api/v1/websites', { form: { domain } });
    }
    const { body } = await api.get(`/api/v1/websites?search=${encodeURIComponent(search)}&sort=asc`);
    expect([body.meta.total, domains(body)]).toEqual([found.length, found]);
  });
});

describe('favorite', () => {
  test.each([
    ['true', 4],
    ['True', 4],
    ['1', 4],
    ['false', 19],
    ['False', 19],
    ['0', 19],
  ])('%s returns %i websites', async (favorite, total) => {
    const { body } = await list(`?favorite=${favorite}&per_page=100`);
    expect([body.meta.total, body.data.length]).toEqual([total, total]);
    for (const website of body.data) expect(website.favorite).toBe(['true', 'True', '1'].includes(favorite));
  });

  test('can be combined with search and sorting', async () => {
    const { body } = await list('?favorite=1&search=site-1&sort_by=domain&sort=asc');
    expect(domains(body)).toEqual(['site-10.example.com', 'site-15.example.com']);
    expect(body.meta.total).toBe(2);
  });
});

describe('invalid input', () => {
  test.each([
    ['per_page=11', 'per_page'],
    ['per_page=0', 'per_page'],
    ['per_page=-10', 'per_page'],
    ['per_page=1e1', 'per_page'],
    ['per_page=0xa', 'per_page'],
    ['per_page=%2010', 'per_page'],
    ['per_page=', 'per_page'],
    ['page=0', 'page'],
    ['page=-1', 'page'],
    ['page=1.0', 'page'],
    ['page=', 'page'],
    ['page=1000001', 'page'],
    ['favorite=maybe', 'favorite'],
    ['favorite=', 'favorite'],
    ['favorite=TRUE', 'favorite'],
    ['favorite=FALSE', 'favorite'],
    ['sort=up', 'sort'],
    ['sort=DESC', 'sort'],
    ['sort=', 'sort'],
    ['sort_by=name', 'sort_by'],
    ['search_by=email', 'search_by'],
    ['sort=asc&sort=asc', 'sort'],
    ['search=a%00b', 'search'],
    [`search=${'x'.repeat(254)}`, 'search'],
    [`search=${'x'.repeat(1000)}`, 'search'],
  ])('returns 422 for %s and names the parameter', async (query, name) => {
    const { status, body } = await list(`?${query}`);
    expect(status).toBe(422);
    expect(body.errors).toContainEqual(expect.objectContaining({ in: 'query', name }));
  });

  test('422 lists every validation error at once', async () => {
    const { body } = await list('?per_page=11&page=0&sort=up');
    expect(body.errors.map(({ name }: { name: string }) => name).toSorted()).toEqual(['page', 'per_page', 'sort']);
  });

  test('ignores unknown query parameters', async () => {
    expect((await list('?colour=red&colour=blue')).status).toBe(200);
  });

  test('returns 400 for a query string that is not percent-encoded UTF-8', async () => {
    const { status, body } = await list('?search=%FF');
    expect([status, body.code]).toEqual([400, 'malformed_encoding']);
  });
});

describe('access', () => {
  test("does not list another user's websites", async () => {
    const other = await service.createUser();
    const { body } = await other.api.get('/api/v1/websites');
    expect(body.data).toEqual([]);
    expect(body.meta).toEqual({ current_page: 1, per_page: 10, last_page: 1, total: 0, from: null, to: null });
    expect((await other.api.get('/api/v1/websites?search=site')).body.meta.total).toBe(0);
  });

  test('returns 401 without a key', async () => {
    expect((await service.anonymous.get('/api/v1/websites')).body.code).toBe('unauthenticated');
  });

  test('returns 403 without the scope websites:read', async () => {
    const { status, body } = await (await user.withScopes('websites:write', 'monitors:read')).get('/api/v1/websites');
    expect(status).toBe(403);
    expect(body).toMatchObject({ code: 'missing_scope', detail: expect.stringContaining('"websites:read"') });
  });
});

describe('beyond the first 1,000 websites', () => {
  const count = 2230;
  let owner: TestUser;

  beforeAll(async () => {
    owner = await service.createUser();
    await service.database.asUser(owner.id, (em) =>
      em.execute(
        `insert into websites (user_id, domain) select ?, 'site-' || lpad(n::text, 4, '0') || '.example' from generate_series(1, ?) n order by n`,
        [owner.id, count],
        'run',
      ),
    );
  });

  // Pages after the middle are read from the other end.
  test.each(['asc', 'desc'])('every page has the websites that belong on it, in order (%s)', async (sort) => {
    const ascending = Array.from({ length: count }, (_, index) => index + 1);
    const numbers = sort === 'asc' ? ascending : ascending.toReversed();
    for (const page of [1, 10, 11, 12, 13, 22, 23]) {
      const { body } = await owner.api.get(`/api/v1/websites?sort_by=domain&sort=${sort}&per_page=100&page=${page}`);
      const [from, to] = [page * 100 - 99, Math.min(page * 100, count)];
      expect(body.meta).toMatchObject({ total: count, last_page: 23, from, to });
      expect(domains(body).map((domain) => Number(domain.slice(5, 9)))).toEqual(numbers.slice(from - 1, to));
    }
  });

  test('a search counts and returns only what matches', async () => {
    const { body } = await owner.api.get('/api/v1/websites?search=site-&sort_by=id&sort=asc&per_page=25&page=45');
    expect(body.meta).toMatchObject({ total: count, from: 1101, to: 1125 });
    expect(domains(body)[0]).toBe('site-1101.example');
    expect((await owner.api.get('/api/v1/websites?search=site-12&per_page=10&page=102')).body).toMatchObject({
      data: [],
      meta: { total: 100 },
    });
  });

  test('a page after the last is empty', async () => {
    const { body } = await owner.api.get('/api/v1/websites?per_page=100&page=24');
    expect(body).toMatchObject({ data: [], meta: { total: count, from: null, to: null } });
  });
});
