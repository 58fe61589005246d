import { afterAll, beforeAll, describe, expect, test } from 'vitest';
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
    expect([status, headers.get('ETag'), body.data.domain]).toEqual([200, '"1"', 'example.com']);
    expect((await user.api.get(`/api/v1/websites/${body.data.id}`)).text).toBe(text);
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
    expect([status, text, headers.get('ETag')]).toEqual([200, '', '"1"']);
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
  test.each(['"1"', 'W/"1"', '*', '"7", "1"'])('returns 304 with the ETag and no body for If-None-Match: %s', async (tags) => {
    const { status, text, headers } = await showByDomain('example.com', { 'If-None-Match': tags });
    expect([status, text, headers.get('ETag')]).toEqual([304, '', '"1"']);
  });

  test('returns 200 after an update, and 404 with any If-None-Match after the deletion', async () => {
    const { body } = await user.api.post('/api/v1/websites', { form: { domain: 'changing.example' } });
    await user.api.patch(`/api/v1/websites/${body.data.id}`, { form: { privacy: '1' } });
    const changed = await showByDomain('changing.example', { 'If-None-Match': '"1"' });
    expect([changed.status, changed.headers.get('ETag'), changed.body.data.privacy]).toEqual([200, '"2"', 1]);
    await user.api.delete(`/api/v1/websites/${body.data.id}`);
    expect((await showByDomain('changing.example', { 'If-None-Match': '*' })).status).toBe(404);
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
