import { afterAll, beforeAll, expect, test } from 'vitest';
import { startService, type TestService, type TestUser } from '../support/service.ts';

let service: TestService;
let user: TestUser;

beforeAll(async () => {
  service = await startService();
  user = await service.createUser();
  for (let number = 1; number <= 23; number++) {
    await user.api.post('/api/v1/websites', { form: { domain: `site-${String(number).padStart(2, '0')}.example.com` } });
  }
});
afterAll(() => service.stop());

test('200 with the newest ten by default', async () => {
  const { status, body } = await user.api.get('/api/v1/websites');
  expect(status).toBe(200);
  expect(body.data).toHaveLength(10);
  expect(body.data[0].domain).toBe('site-23.example.com');
  expect(body.meta).toEqual({ current_page: 1, per_page: 10, last_page: 3, total: 23, from: 1, to: 10 });
});

test('links lead through all pages and keep the other parameters', async () => {
  const domains: string[] = [];
  let next: string | null = '/api/v1/websites?sort=asc&sort_by=domain&search=SITE';
  while (next) {
    const { body } = await user.api.get(next);
    domains.push(...body.data.map((website: { domain: string }) => website.domain));
    next = body.links.next;
  }
  expect(domains).toHaveLength(23);
  expect(domains).toEqual(domains.toSorted());
});

test('links and meta are right on the last page, and past it', async () => {
  const last = await user.api.get('/api/v1/websites?page=3');
  expect(last.body.meta).toMatchObject({ current_page: 3, from: 21, to: 23 });
  expect(last.body.links).toEqual({
    first: '/api/v1/websites?page=1',
    last: '/api/v1/websites?page=3',
    prev: '/api/v1/websites?page=2',
    next: null,
  });
  const past = await user.api.get('/api/v1/websites?page=9');
  expect(past.body.data).toEqual([]);
  expect(past.body.meta).toMatchObject({ current_page: 9, last_page: 3, from: null, to: null });
  expect(past.body.links.prev).toBe('/api/v1/websites?page=3');
});

test('search takes % and _ literally and ignores case', async () => {
  expect((await user.api.get('/api/v1/websites?search=E-07.EX')).body.meta.total).toBe(1);
  expect((await user.api.get('/api/v1/websites?search=%25')).body.meta.total).toBe(0);
  expect((await user.api.get('/api/v1/websites?search=site_01')).body.meta.total).toBe(0);
  expect((await user.api.get('/api/v1/websites?search=')).body.meta.total).toBe(23);
});

test('favorite takes true, false, 1 and 0', async () => {
  expect((await user.api.get('/api/v1/websites?favorite=1')).body.meta.total).toBe(0);
  expect((await user.api.get('/api/v1/websites?favorite=true')).body.meta.total).toBe(0);
  expect((await user.api.get('/api/v1/websites?favorite=0')).body.meta.total).toBe(23);
  expect((await user.api.get('/api/v1/websites?favorite=false')).body.meta.total).toBe(23);
});

test("another user's websites are not listed", async () => {
  const other = await service.createUser();
  const { body } = await other.api.get('/api/v1/websites');
  expect(body.data).toEqual([]);
  expect(body.meta).toEqual({ current_page: 1, per_page: 10, last_page: 1, total: 0, from: null, to: null });
});

test('401 without a key', async () => {
  expect((await service.stranger.get('/api/v1/websites')).body.code).toBe('unauthenticated');
});

test('403 without the scope websites:read, which is named', async () => {
  const { status, body } = await (await user.withScopes('websites:write', 'monitors:read')).get('/api/v1/websites');
  expect(status).toBe(403);
  expect(body).toMatchObject({ code: 'missing_scope', detail: expect.stringContaining('"websites:read"') });
});

test.each([
  ['per_page=11', 'per_page'],
  ['per_page=0', 'per_page'],
  ['per_page=-10', 'per_page'],
  ['per_page=1e1', 'per_page'],
  ['per_page=0xa', 'per_page'],
  ['per_page=%2010', 'per_page'],
  ['per_page=', 'per_page'],
  ['page=0', 'page'],
  ['page=1.0', 'page'],
  ['favorite=maybe', 'favorite'],
  ['favorite=', 'favorite'],
  ['sort=up', 'sort'],
  ['sort_by=name', 'sort_by'],
  ['search_by=email', 'search_by'],
  ['sort=asc&sort=asc', 'sort'],
  ['search=a%00b', 'search'],
  [`search=${'x'.repeat(1000)}`, 'search'],
])('422 for %s, naming the parameter', async (query, name) => {
  const { status, body } = await user.api.get(`/api/v1/websites?${query}`);
  expect(status).toBe(422);
  expect(body.errors).toContainEqual(expect.objectContaining({ in: 'query', name }));
});

test('422 names every fault at once', async () => {
  const { body } = await user.api.get('/api/v1/websites?per_page=11&page=0&sort=up');
  expect(body.errors.map((fault: { name: string }) => fault.name).toSorted()).toEqual(['page', 'per_page', 'sort']);
});

test('unknown query parameters are ignored', async () => {
  expect((await user.api.get('/api/v1/websites?colour=red&colour=blue')).status).toBe(200);
});

test('400 for a query that is not percent-encoded UTF-8', async () => {
  const { status, body } = await user.api.get('/api/v1/websites?search=%FF');
  expect([status, body.code]).toEqual([400, 'malformed_encoding']);
});
