import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { etag, fillIn } from '../support/etags.ts';
import { expectSameProblem } from '../support/same-problem.ts';
import { startService, type TestService, type TestUser } from '../support/service.ts';

let service: TestService;
let user: TestUser;

beforeAll(async () => {
  service = await startService();
  user = await service.createUser();
  for (const domain of ['example.com', 'shop.example.com', 'bücher.example']) await user.api.post('/api/v1/websites', { form: { domain } });
});
afterAll(() => service.stop());

const showByDomain = (domain: string, headers: Record<string, string> = {}, api = user.api) =>
  api.get(`/api/v1/domains/${encodeURIComponent(domain)}`, { headers });

describe('success', () => {
  test('returns 200 with the same body as the website by id, and its ETag', async () => {
    const { status, headers, body, text } = await showByDomain('example.com');
    expect([status, headers.get('ETag'), body.data.domain]).toEqual([200, etag('website', body.data.id, 1), 'example.com']);
    const byId = await user.api.get(`/api/v1/websites/${body.data.id}`);
    expect([byId.text, byId.headers.get('ETag')]).toEqual([text, headers.get('ETag')]);
  });

  test.each([
    ['EXAMPLE.com', 'example.com'],
    ['www.example.com', 'example.com'],
    ['example.com.', 'example.com'],
    ['https://www.example.com:8443/path?x#y', 'example.com'],
    ['ｅｘａｍｐｌｅ.com', 'example.com'],
    ['ex\u00adample.com', 'example.com'],
    ['shop.example.com', 'shop.example.com'],
    ['BÜCHER.example', 'xn--bcher-kva.example'],
    ['bu\u0308cher.example', 'xn--bcher-kva.example'],
    ['xn--bcher-kva.example', 'xn--bcher-kva.example'],
  ])('normalizes %s to %s', async (given, domain) => {
    expect((await showByDomain(given)).body.data.domain).toBe(domain);
  });

  test('responds to HEAD like to GET, without a body', async () => {
    const { status, text, headers } = await user.api.request('HEAD', '/api/v1/domains/example.com');
    expect([status, text, headers.get('ETag')]).toEqual([200, '', (await showByDomain('example.com')).headers.get('ETag')]);
  });
});

describe('not found', () => {
  test.each(['xample.com', 'example.co', 'hop.example.com', 'other.example.com', 'unknown.example'])(
    'returns 404 for %s, because only the whole domain matches',
    async (domain) => {
      const { status, body } = await showByDomain(domain);
      expect([status, body.code, body.detail]).toEqual([404, 'not_found', `Website "${domain}" was not found.`]);
    },
  );

  test('the detail contains the normal form of the domain', async () => {
    const { body } = await showByDomain('https://www.UNKNOWN.example/path');
    expect(body.detail).toBe('Website "unknown.example" was not found.');
  });
});

describe('conditional reads', () => {
  test.each(['ETag', 'W/ETag', '*', '"7", ETag'])('returns 304 with the ETag and no body for If-None-Match: %s', async (template) => {
    const current = (await showByDomain('example.com')).headers.get('ETag');
    const { status, text, headers } = await showByDomain('example.com', { 'If-None-Match': fillIn(template, current) });
    expect([status, text, headers.get('ETag')]).toEqual([304, '', current]);
  });

  test('returns 200 after an update, and 404 with any If-None-Match after the deletion', async () => {
    const { body, headers } = await user.api.post('/api/v1/websites', { form: { domain: 'changing.example' } });
    const { id } = body.data;
    await user.api.patch(`/api/v1/websites/${id}`, { form: { privacy: '1' } });
    const changed = await showByDomain('changing.example', { 'If-None-Match': headers.get('ETag') ?? '' });
    expect([changed.status, changed.headers.get('ETag'), changed.body.data.privacy]).toEqual([200, etag('website', id, 2), 1]);
    await user.api.delete(`/api/v1/websites/${id}`);
    expect((await showByDomain('changing.example', { 'If-None-Match': '*' })).status).toBe(404);
  });

  test("returns 200 with the caller's own website for the ETag of another user's website with the same domain and settings", async () => {
    const other = await service.createUser();
    const form = { domain: 'same.example' };
    const [mine, theirs] = [await user.api.post('/api/v1/websites', { form }), await other.api.post('/api/v1/websites', { form })];
    const [mineTag, theirTag] = [mine.headers.get('ETag') ?? '', theirs.headers.get('ETag') ?? ''];
    expect(mineTag).not.toBe(theirTag);
    const { status, headers, text } = await showByDomain('same.example', { 'If-None-Match': mineTag }, other.api);
    expect([status, headers.get('ETag'), text]).toEqual([200, theirTag, theirs.text]);
  });

  test('returns 200 with the new settings for the ETag of a website that was deleted and created again', async () => {
    const form = { domain: 'again.example' };
    const first = await user.api.post('/api/v1/websites', { form });
    await user.api.delete(`/api/v1/websites/${first.body.data.id}`);
    const second = await user.api.post('/api/v1/websites', { form: { ...form, privacy: '1' } });
    const { status, headers, text } = await showByDomain('again.example', { 'If-None-Match': first.headers.get('ETag') ?? '' });
    expect([status, headers.get('ETag'), text]).toEqual([200, etag('website', second.body.data.id, 1), second.text]);
  });
});

describe('access', () => {
  test('returns 401 without a key, 403 without the scope websites:read, and 200 with only that scope', async () => {
    expect((await showByDomain('example.com', {}, service.anonymous)).status).toBe(401);
    const { status, body } = await showByDomain('example.com', {}, await user.withScopes('websites:write'));
    expect([status, body.detail]).toEqual([403, expect.stringContaining('"websites:read"')]);
    expect((await showByDomain('example.com', {}, await user.withScopes('websites:read'))).status).toBe(200);
  });

  test("returns 404 for another user's domain, as for an unknown one", async () => {
    const other = await service.createUser();
    const foreign = await showByDomain('example.com', {}, other.api);
    expect([foreign.status, foreign.body.detail]).toEqual([404, 'Website "example.com" was not found.']);
    expectSameProblem(foreign, await showByDomain('unknown.example', {}, other.api));
  });

  test('returns each user their own website if both have the same domain', async () => {
    const other = await service.createUser();
    const { body } = await other.api.post('/api/v1/websites', { form: { domain: 'example.com' } });
    expect((await showByDomain('example.com', {}, other.api)).body.data.id).toBe(body.data.id);
    expect((await showByDomain('example.com')).body.data.id).not.toBe(body.data.id);
  });
});

test.each(['localhost', '192.0.2.1', '0xC0000201', 'a_b.example', 'exa mple.com', 'example.com:80', 'xn--0.example', 'x'.repeat(2049)])(
  'returns 422 for %s, which is not a domain',
  async (domain) => {
    const { status, body } = await showByDomain(domain);
    expect([status, body.errors]).toEqual([422, [expect.objectContaining({ in: 'path', name: 'domain' })]]);
  },
);
