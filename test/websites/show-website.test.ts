import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ApiClient } from '../support/api-client.ts';
import { etag, fillIn, ifMatch } from '../support/etags.ts';
import { expectSameProblem } from '../support/same-problem.ts';
import { startService, type TestService, type TestUser } from '../support/service.ts';

let service: TestService;
let user: TestUser;
let id: number;
let current: string;
let times: { created_at: string; updated_at: string };

beforeAll(async () => {
  service = await startService();
  user = await service.createUser();
  const form = { domain: 'example.com', privacy: '2', password: 'open sesame', email: '1' };
  const { headers, body } = await user.api.post('/api/v1/websites', { form });
  const { data } = body;
  id = data.id;
  current = headers.get('ETag') ?? '';
  times = { created_at: data.created_at, updated_at: data.updated_at };
});
afterAll(() => service.stop());

const show = (headers: Record<string, string> = {}, api = user.api) => api.get(`/api/v1/websites/${id}`, { headers });

describe('success', () => {
  test('returns 200 with all fields of the website and its ETag', async () => {
    const { status, headers, body } = await show();
    expect([status, headers.get('ETag')]).toEqual([200, etag('website', id, 1)]);
    expect(body).toEqual({
      data: {
        id,
        domain: 'example.com',
        privacy: 2,
        has_password: true,
        email: 1,
        exclude_bots: 1,
        exclude_params: '',
        exclude_ips: '',
        favorite: false,
        ...times,
      },
    });
  });

  test('responds to HEAD like to GET, without a body, including 304', async () => {
    const path = `/api/v1/websites/${id}`;
    const head = await user.api.request('HEAD', path);
    expect([head.status, head.text, head.headers.get('ETag')]).toEqual([200, '', current]);
    expect((await user.api.request('HEAD', path, { headers: { 'If-None-Match': current } })).status).toBe(304);
  });
});

describe('conditional reads', () => {
  test.each(['ETag', 'W/ETag', '*', '"7", ETag', 'W/"7",W/ETag'])(
    'returns 304 with the ETag and no body for If-None-Match: %s',
    async (template) => {
      const { status, text, headers } = await show({ 'If-None-Match': fillIn(template, current) });
      expect([status, text, headers.get('ETag')]).toEqual([304, '', current]);
    },
  );

  test.each(['"2"', '1', '"1"', '"0", "2"', '""'])('returns 200 for If-None-Match: %s', async (tags) => {
    expect((await show({ 'If-None-Match': tags })).status).toBe(200);
  });

  test('returns 200 if If-None-Match lists the version with another hash, or the ETag without quotes', async () => {
    for (const tags of [ifMatch('website', id, 1), current.slice(1, -1), current.replace('website-', 'website-1')]) {
      expect([tags, (await show({ 'If-None-Match': tags })).status]).toEqual([tags, 200]);
    }
  });

  test('returns 200 with the new ETag after an update', async () => {
    const created = await user.api.post('/api/v1/websites', { form: { domain: 'changing.example' } });
    const path = `/api/v1/websites/${created.body.data.id}`;
    const updated = await user.api.patch(path, { form: { email: '1' } });
    const { status, headers } = await user.api.get(path, { headers: { 'If-None-Match': created.headers.get('ETag') ?? '' } });
    expect([status, headers.get('ETag')]).toEqual([200, etag('website', created.body.data.id, 2)]);
    expect(headers.get('ETag')).toBe(updated.headers.get('ETag'));
  });
});

describe('access', () => {
  test('accepts a key with the scope websites:read that was created through the monitoring API', async () => {
    const { body } = await user.api.post('/api/keys', { json: { name: 'Tracker', scopes: ['websites:read'] } });
    const { status } = await show({}, new ApiClient(service.url, { Authorization: `Bearer ${body.data.key}` }));
    expect(status).toBe(200);
  });

  test('returns 401 without a key', async () => {
    expect((await show({}, service.anonymous)).body.code).toBe('unauthenticated');
  });

  test('returns 403 without the scope websites:read', async () => {
    const { status, body } = await show({}, await user.withScopes('websites:write'));
    expect([status, body.code]).toEqual([403, 'missing_scope']);
  });

  test("returns 404 for another user's website, as for an unknown id, with any If-None-Match", async () => {
    const other = await service.createUser();
    for (const headers of [{}, { 'If-None-Match': '*' }]) {
      const foreign = await show(headers, other.api);
      expect([foreign.status, foreign.body.code, foreign.body.detail]).toEqual([404, 'not_found', `Website ${id} was not found.`]);
      expectSameProblem(foreign, await other.api.get('/api/v1/websites/999999', { headers }));
    }
  });
});

test.each(['abc', '0', '-1', '1.0', '1e3', '0x1', '9007199254740993', '%20'])('returns 422 for the id %s', async (invalidId) => {
  const { status, body } = await user.api.get(`/api/v1/websites/${invalidId}`);
  expect([status, body.errors[0]]).toEqual([422, expect.objectContaining({ in: 'path', name: 'id' })]);
});

test('returns 404 for the largest possible id', async () => {
  const { status, body } = await user.api.get('/api/v1/websites/9007199254740991');
  expect([status, body.detail]).toEqual([404, 'Website 9007199254740991 was not found.']);
});

test('returns 406 if Accept excludes JSON', async () => {
  expect((await show({ Accept: 'text/html' })).body.code).toBe('not_acceptable');
});
