import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ApiClient } from '../support/api-client.ts';
import { expectSameProblem } from '../support/same-problem.ts';
import { startService, type TestService, type TestUser } from '../support/service.ts';

let service: TestService;
let user: TestUser;

beforeAll(async () => {
  service = await startService({ trustedProxies: ['loopback'] });
  user = await service.createUser();
});
afterAll(() => service.stop());

let made = 0;

async function makeWebsite(settings: Record<string, string> = { privacy: '2', password: 'open sesame' }) {
  const { body } = await user.api.post('/api/v1/websites', { form: { domain: `door-${++made}.example`, ...settings } });
  const path = `/api/v1/websites/${body.data.id}`;
  const attempt = (password: string, visitor?: string, from?: string, api: ApiClient = user.api) =>
    api.post(`${path}/verify-password`, {
      form: { password, ...(visitor !== undefined && { visitor }) },
      headers: { ...(from !== undefined && { 'X-Forwarded-For': from }) },
    });
  const fail = async (times: number, visitor?: string, from?: string) => {
    const answers = await Promise.all(Array.from({ length: times }, () => attempt('wrong', visitor, from)));
    return answers.map(({ status }) => status);
  };
  return { path, attempt, fail, update: (form: Record<string, string>) => user.api.patch(path, { form }) };
}

describe('Trying a password', () => {
  test('200: the right one opens, a wrong one does not', async () => {
    const { attempt } = await makeWebsite();
    const right = await attempt('open sesame');
    expect([right.status, right.body]).toEqual([200, { data: { opens: true } }]);
    for (const wrong of ['Open sesame', 'open sesame ', 'open', 'x'.repeat(128)]) {
      const { status, body } = await attempt(wrong);
      expect([status, body]).toEqual([200, { data: { opens: false } }]);
    }
  });

  test.each(['0', '1'])('with privacy %s the right one does not open', async (privacy) => {
    const { attempt, update } = await makeWebsite();
    await update({ privacy });
    expect((await attempt('open sesame')).body.data.opens).toBe(false);
    await update({ privacy: '2' });
    expect((await attempt('open sesame')).body.data.opens).toBe(true);
  });

  test('without a password stored nothing opens', async () => {
    const { attempt } = await makeWebsite({});
    expect((await attempt('open sesame')).body.data.opens).toBe(false);
  });

  test('it neither changes the website nor carries an ETag', async () => {
    const { path, attempt } = await makeWebsite();
    expect((await attempt('open sesame')).headers.get('ETag')).toBeNull();
    expect((await user.api.get(path)).headers.get('ETag')).toBe('"1"');
  });
});

describe('Limits on trying', () => {
  test('429 with Retry-After after 5 wrong ones of a visitor, for the right one too; another visitor goes on', async () => {
    const { attempt, fail } = await makeWebsite();
    expect(await fail(5, 'ann')).toEqual(Array(5).fill(200));
    const { status, body, headers } = await attempt('open sesame', 'ann');
    expect([status, body.code]).toEqual([429, 'rate_limited']);
    expect(Number(headers.get('Retry-After'))).toBeGreaterThan(14 * 60);
    expect(Number(headers.get('Retry-After'))).toBeLessThanOrEqual(15 * 60);
    expect((await attempt('open sesame', 'bob')).body.data.opens).toBe(true);
  });

  test('only wrong ones count', async () => {
    const { attempt, fail } = await makeWebsite();
    await fail(4, 'ann');
    for (let time = 0; time < 10; time++) expect((await attempt('open sesame', 'ann')).body.data.opens).toBe(true);
    expect(await fail(2, 'ann')).toContain(429);
  });

  test('20 wrong ones at once: 5 are tried', async () => {
    const { fail } = await makeWebsite();
    expect((await fail(20, 'ann')).filter((status) => status === 200)).toHaveLength(5);
  });

  test('without a visitor the calling address counts, IPv6 by its /64', async () => {
    const { attempt, fail } = await makeWebsite();
    await fail(5, undefined, '192.0.2.1');
    expect((await attempt('open sesame', undefined, '192.0.2.1')).status).toBe(429);
    expect((await attempt('open sesame', undefined, '192.0.2.2')).status).toBe(200);
    await fail(5, undefined, '2001:db8::1');
    expect((await attempt('open sesame', undefined, '2001:db8::2')).status).toBe(429);
    expect((await attempt('open sesame', undefined, '2001:db8:0:1::1')).status).toBe(200);
  });

  test('a visitor is not interpreted: one named like an address is not that address', async () => {
    const { attempt, fail } = await makeWebsite();
    await fail(5, '192.0.2.1');
    expect((await attempt('open sesame', undefined, '192.0.2.1')).status).toBe(200);
    expect((await attempt('open sesame', '192.0.2.1', '192.0.2.9')).status).toBe(429);
  });

  test('each website counts for itself', async () => {
    const [one, other] = [await makeWebsite(), await makeWebsite()];
    await one.fail(5, 'ann');
    expect((await other.attempt('open sesame', 'ann')).status).toBe(200);
  });

  test('429 after 100 wrong ones on a website, whoever comes; one who is shut out uses none of them up', async () => {
    const { attempt, fail } = await makeWebsite();
    expect((await fail(50, 'ann')).filter((status) => status === 200)).toHaveLength(5);
    for (let visitor = 1; visitor < 20; visitor++) expect(await fail(5, `visitor ${visitor}`)).toEqual(Array(5).fill(200));
    const { status, headers } = await attempt('open sesame', 'somebody else');
    expect(status).toBe(429);
    expect(Number(headers.get('Retry-After'))).toBeGreaterThan(50 * 60);
  });

  test('where no password opens the website, nothing counts', async () => {
    const { attempt, fail, update } = await makeWebsite({ privacy: '1', password: 'open sesame' });
    expect(await fail(20, 'ann')).toEqual(Array(20).fill(200));
    await update({ privacy: '2' });
    expect((await attempt('open sesame', 'ann')).body.data.opens).toBe(true);
  });
});

describe('Keys', () => {
  test('401 without a key, 403 without the scope websites:read, which is enough', async () => {
    const { attempt } = await makeWebsite();
    expect((await attempt('open sesame', undefined, undefined, service.stranger)).status).toBe(401);
    const refused = await attempt('open sesame', undefined, undefined, await user.withScopes('websites:write'));
    expect([refused.status, refused.body.code]).toEqual([403, 'missing_scope']);
    expect((await attempt('open sesame', undefined, undefined, await user.withScopes('websites:read'))).body.data.opens).toBe(true);
  });

  test("404 for another user's website, the same as for an unknown id, and it counts for nobody", async () => {
    const { path, attempt } = await makeWebsite();
    const other = await service.createUser();
    for (let time = 0; time < 6; time++) {
      const foreign = await attempt('wrong', 'ann', undefined, other.api);
      expect(foreign.status).toBe(404);
      const form = { password: 'wrong', visitor: 'ann' };
      expectSameProblem(foreign, await other.api.post('/api/v1/websites/999999/verify-password', { form }));
    }
    expect((await attempt('open sesame', 'ann')).body.data.opens).toBe(true);
    expect((await new ApiClient(service.url).post(`${path}/verify-password`, { form: { password: 'x' } })).status).toBe(401);
  });
});

describe('Bad input', () => {
  test.each([
    ['password', ''],
    ['password', 'password='],
    ['password', `password=${'x'.repeat(129)}`],
    ['password', 'password=a%00b'],
    ['password', 'password=a&password=a'],
    ['visitor', 'password=a&visitor='],
    ['visitor', `password=a&visitor=${'x'.repeat(129)}`],
    ['colour', 'password=a&colour=red'],
  ])('422 at /%s for %j', async (field, form) => {
    const { path } = await makeWebsite();
    const { status, body } = await user.api.post(`${path}/verify-password`, { form });
    expect([status, body.errors[0].pointer]).toEqual([422, `/${field}`]);
  });

  test('415 for JSON, 400 for a form that is not UTF-8, 422 for an id that is no number', async () => {
    const { path } = await makeWebsite();
    expect((await user.api.post(`${path}/verify-password`, { json: { password: 'a' } })).status).toBe(415);
    const headers = { 'Content-Type': 'application/x-www-form-urlencoded' };
    expect((await user.api.post(`${path}/verify-password`, { headers, raw: 'password=%FF' })).status).toBe(400);
    expect((await user.api.post('/api/v1/websites/abc/verify-password', { form: { password: 'a' } })).status).toBe(422);
  });
});
