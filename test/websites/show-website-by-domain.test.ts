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

const lookUp = (domain: string, headers: Record<string, string> = {}, api = user.api) =>
  api.get(`/api/v1/domains/${encodeURIComponent(domain)}`, { headers });

describe('Looking up a domain', () => {
  test('200 with the website that show gives, and its ETag', async () => {
    const { status, headers, body, text } = await lookUp('example.com');
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
  ])('%s finds %s', async (given, domain) => {
    expect((await lookUp(given)).body.data.domain).toBe(domain);
  });

  test.each(['xample.com', 'example.co', 'hop.example.com', 'other.example.com', 'unknown.example'])(
    '404 for %s: just this domain, no part of one',
    async (domain) => {
      expect((await lookUp(domain)).body.code).toBe('not_found');
    },
  );

  test('HEAD is answered like GET, without a body', async () => {
    const { status, text, headers } = await user.api.request('HEAD', '/api/v1/domains/example.com');
    expect([status, text, headers.get('ETag')]).toEqual([200, '', '"1"']);
  });
});

describe('Conditional reads', () => {
  test.each(['"1"', 'W/"1"', '*', '"7", "1"'])('304 with the ETag and no body for If-None-Match: %s', async (tags) => {
    const { status, text, headers } = await lookUp('example.com', { 'If-None-Match': tags });
    expect([status, text, headers.get('ETag')]).toEqual([304, '', '"1"']);
  });

  test('200 once it has changed, and 404 whatever If-None-Match says once it is gone', async () => {
    const { body } = await user.api.post('/api/v1/websites', { form: { domain: 'changing.example' } });
    await user.api.patch(`/api/v1/websites/${body.data.id}`, { form: { privacy: '1' } });
    const changed = await lookUp('changing.example', { 'If-None-Match': '"1"' });
    expect([changed.status, changed.headers.get('ETag'), changed.body.data.privacy]).toEqual([200, '"2"', 1]);
    await user.api.delete(`/api/v1/websites/${body.data.id}`);
    expect((await lookUp('changing.example', { 'If-None-Match': '*' })).status).toBe(404);
  });
});

describe('Keys', () => {
  test('401 without a key, 403 without the scope websites:read, which is enough', async () => {
    expect((await lookUp('example.com', {}, service.stranger)).status).toBe(401);
    const refused = await lookUp('example.com', {}, await user.withScopes('websites:write'));
    expect([refused.status, refused.body.detail]).toEqual([403, expect.stringContaining('"websites:read"')]);
    expect((await lookUp('example.com', {}, await user.withScopes('websites:read'))).status).toBe(200);
  });

  test("404 for another user's domain, the same as for an unknown one; both may have it", async () => {
    const other = await service.createUser();
    const foreign = await lookUp('example.com', {}, other.api);
    expect(foreign.status).toBe(404);
    expectSameProblem(foreign, await lookUp('nobodys.example', {}, other.api));
    const { body } = await other.api.post('/api/v1/websites', { form: { domain: 'example.com' } });
    expect((await lookUp('example.com', {}, other.api)).body.data.id).toBe(body.data.id);
    expect((await lookUp('example.com')).body.data.id).not.toBe(body.data.id);
  });
});

test.each(['localhost', '192.0.2.1', '0xC0000201', 'a_b.example', 'exa mple.com', 'example.com:80', 'xn--0.example', 'x'.repeat(2049)])(
  '422 for %s, which is no domain, naming the parameter',
  async (domain) => {
    const { status, body } = await lookUp(domain);
    expect([status, body.errors]).toEqual([422, [expect.objectContaining({ in: 'path', name: 'domain' })]]);
  },
);
