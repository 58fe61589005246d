import { hash } from '@node-rs/argon2';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { hashPassword } from '../../src/auth/passwords.ts';
import { memoryLimiters } from '../../src/limits/limiters.ts';
import { PasswordAttempts } from '../../src/websites/password-attempts.ts';
import type { ApiClient } from '../support/api-client.ts';
import { expectSameProblem } from '../support/same-problem.ts';
import { startService, type TestService, type TestUser } from '../support/service.ts';

let service: TestService;
let user: TestUser;
/** A hash tells how much its verification costs. */
let quickHash: string;

beforeAll(async () => {
  service = await startService({ trustedProxies: ['loopback'] });
  user = await service.createUser();
  quickHash = await hash('open sesame', { memoryCost: 8, timeCost: 1, parallelism: 1 });
});
afterAll(() => service.stop());

interface Attempt {
  visitor?: string;
  /** The address of the client, which a trusted proxy reports. */
  address?: string;
  api?: ApiClient;
}

let domainCount = 0;

/** Without settings, the website is open to those who know the password "open sesame", whose hash is verified quickly. */
async function createWebsite(settings?: Record<string, string>) {
  const { body } = await user.api.post('/api/v1/websites', { form: { domain: `verify-${++domainCount}.example`, ...settings } });
  if (!settings) {
    await service.database.asUser(user.id, (em) =>
      em.execute('update websites set privacy = 2, password_hash = ? where id = ?', [quickHash, body.data.id], 'run'),
    );
  }
  const path = `/api/v1/websites/${body.data.id}`;
  const verify = (password: string, { visitor, address, api = user.api }: Attempt = {}) =>
    api.post(`${path}/verify-password`, {
      form: { password, ...(visitor !== undefined && { visitor }) },
      headers: { ...(address !== undefined && { 'X-Forwarded-For': address }) },
    });
  /** Sends wrong passwords concurrently and returns the statuses. */
  const fail = async (times: number, attempt: Attempt = {}) => {
    const responses = await Promise.all(Array.from({ length: times }, () => verify('wrong', attempt)));
    return responses.map(({ status }) => status);
  };
  return { id: body.data.id as number, path, verify, fail, update: (form: Record<string, string>) => user.api.patch(path, { form }) };
}

describe('result', () => {
  test('is 200 with opens true for the right password and false for a wrong one', async () => {
    const { verify } = await createWebsite({ privacy: '2', password: 'open sesame' });
    const right = await verify('open sesame');
    expect([right.status, right.body]).toEqual([200, { data: { opens: true } }]);
    for (const wrong of ['Open sesame', 'open sesame ', 'open', 'x'.repeat(128)]) {
      const { status, body } = await verify(wrong);
      expect([status, body]).toEqual([200, { data: { opens: false } }]);
    }
  });

  test.each(['0', '1'])('is false for the right password while privacy is %s', async (privacy) => {
    const { verify, update } = await createWebsite();
    await update({ privacy });
    expect((await verify('open sesame')).body.data.opens).toBe(false);
    await update({ privacy: '2' });
    expect((await verify('open sesame')).body.data.opens).toBe(true);
  });

  test('is false if no password is stored', async () => {
    const { verify } = await createWebsite({});
    expect((await verify('open sesame')).body.data.opens).toBe(false);
  });

  test('has no ETag, and the website does not change', async () => {
    const { path, verify } = await createWebsite();
    const before = (await user.api.get(path)).headers.get('ETag');
    expect((await verify('open sesame')).headers.get('ETag')).toBeNull();
    expect((await user.api.get(path)).headers.get('ETag')).toBe(before);
  });
});

describe('rate limits', () => {
  test('after 5 wrong passwords a visitor gets 429 with Retry-After, even for the right one; other visitors do not', async () => {
    const { verify, fail } = await createWebsite();
    expect(await fail(5, { visitor: 'ann' })).toEqual(Array(5).fill(200));
    const { status, body, headers } = await verify('open sesame', { visitor: 'ann' });
    expect([status, body.code]).toEqual([429, 'rate_limited']);
    expect(body.detail).toBe(`Too many failed attempts. Retry in ${headers.get('Retry-After')} seconds.`);
    expect(Number(headers.get('Retry-After'))).toBeGreaterThan(14 * 60);
    expect(Number(headers.get('Retry-After'))).toBeLessThanOrEqual(15 * 60);
    expect((await verify('open sesame', { visitor: 'bob' })).body.data.opens).toBe(true);
  });

  test('only wrong passwords count', async () => {
    const { verify, fail } = await createWebsite();
    await fail(4, { visitor: 'ann' });
    for (let time = 0; time < 10; time++) expect((await verify('open sesame', { visitor: 'ann' })).body.data.opens).toBe(true);
    expect(await fail(2, { visitor: 'ann' })).toContain(429);
  });

  test('of 20 concurrent wrong passwords 5 are checked', async () => {
    const { fail } = await createWebsite();
    expect((await fail(20, { visitor: 'ann' })).filter((status) => status === 200)).toHaveLength(5);
  });

  test("without a visitor, the client's address counts, and for IPv6 its /64", async () => {
    const { verify, fail } = await createWebsite();
    await fail(5, { address: '192.0.2.1' });
    expect((await verify('open sesame', { address: '192.0.2.1' })).status).toBe(429);
    expect((await verify('open sesame', { address: '192.0.2.2' })).status).toBe(200);
    await fail(5, { address: '2001:db8::1' });
    expect((await verify('open sesame', { address: '2001:db8::2' })).status).toBe(429);
    expect((await verify('open sesame', { address: '2001:db8:0:1::1' })).status).toBe(200);
  });

  test('a visitor that is named like an address does not share its limit', async () => {
    const { verify, fail } = await createWebsite();
    await fail(5, { visitor: '192.0.2.1' });
    expect((await verify('open sesame', { address: '192.0.2.1' })).status).toBe(200);
    expect((await verify('open sesame', { visitor: '192.0.2.1', address: '192.0.2.9' })).status).toBe(429);
  });

  test('each website has its own limits', async () => {
    const [first, second] = [await createWebsite(), await createWebsite()];
    await first.fail(5, { visitor: 'ann' });
    expect((await second.verify('open sesame', { visitor: 'ann' })).status).toBe(200);
  });

  test('returns 429 after 100 wrong passwords of all visitors; rejected attempts do not count', async () => {
    const { verify, fail } = await createWebsite();
    expect((await fail(50, { visitor: 'ann' })).filter((status) => status === 200)).toHaveLength(5);
    for (let index = 1; index < 20; index++) expect(await fail(5, { visitor: `visitor ${index}` })).toEqual(Array(5).fill(200));
    const { status, headers } = await verify('open sesame', { visitor: 'another' });
    expect(status).toBe(429);
    expect(Number(headers.get('Retry-After'))).toBeGreaterThan(50 * 60);
  });

  test('nothing counts while no password gives access', async () => {
    const { verify, fail, update } = await createWebsite({ privacy: '1', password: 'open sesame' });
    expect(await fail(20, { visitor: 'ann' })).toEqual(Array(20).fill(200));
    await update({ privacy: '2' });
    expect((await verify('open sesame', { visitor: 'ann' })).body.data.opens).toBe(true);
  });
});

test('a password waits among those of the owner of the website, who can have 20 waiting, and not behind other owners', async () => {
  const attempts = new PasswordAttempts(memoryLimiters());
  const verify = (userId: number) =>
    attempts.verify({ id: userId, userId, privacy: 2, passwordHash: quickHash }, 'open sesame', { address: '192.0.2.1' });
  // At most 3 of them run at a time. The rest waits, or is rejected.
  const others = Promise.allSettled(Array.from({ length: 23 }, () => hashPassword('open sesame', { userId: 1 })));
  const [own, foreign] = await Promise.allSettled([verify(1), verify(2)]);
  expect(own).toMatchObject({ status: 'rejected', reason: { code: 'rate_limited' } });
  expect(foreign).toEqual({ status: 'fulfilled', value: true });
  await others;
});

describe('access', () => {
  test('returns 401 without a key, 403 without the scope websites:read, and 200 with only that scope', async () => {
    const { verify } = await createWebsite();
    expect((await verify('open sesame', { api: service.anonymous })).status).toBe(401);
    const { status, body } = await verify('open sesame', { api: await user.withScopes('websites:write') });
    expect([status, body.code]).toEqual([403, 'missing_scope']);
    expect((await verify('open sesame', { api: await user.withScopes('websites:read') })).body.data.opens).toBe(true);
  });

  test("returns 404 for another user's website, as for an unknown id, and does not count the attempt", async () => {
    const { id, verify } = await createWebsite();
    const other = await service.createUser();
    for (let time = 0; time < 6; time++) {
      const foreign = await verify('wrong', { visitor: 'ann', api: other.api });
      expect([foreign.status, foreign.body.detail]).toEqual([404, `Website ${id} was not found.`]);
      const form = { password: 'wrong', visitor: 'ann' };
      expectSameProblem(foreign, await other.api.post('/api/v1/websites/999999/verify-password', { form }));
    }
    expect((await verify('open sesame', { visitor: 'ann' })).body.data.opens).toBe(true);
  });
});

describe('invalid input', () => {
  test.each([
    ['password', ''],
    ['password', 'password='],
    ['password', `password=${'x'.repeat(129)}`],
    ['password', 'password=a%00b'],
    ['password', 'password=a&password=a'],
    ['visitor', 'password=a&visitor='],
    ['visitor', `password=a&visitor=${'x'.repeat(129)}`],
    ['colour', 'password=a&colour=red'],
  ])('returns 422 at /%s for %j', async (field, form) => {
    const { path } = await createWebsite();
    const { status, body } = await user.api.post(`${path}/verify-password`, { form });
    expect([status, body.errors[0].pointer]).toEqual([422, `/${field}`]);
  });

  test('returns 415 for JSON, 400 for a form that is not UTF-8, and 422 for an id that is not a number', async () => {
    const { path } = await createWebsite();
    expect((await user.api.post(`${path}/verify-password`, { json: { password: 'a' } })).status).toBe(415);
    const headers = { 'Content-Type': 'application/x-www-form-urlencoded' };
    expect((await user.api.post(`${path}/verify-password`, { headers, raw: 'password=%FF' })).status).toBe(400);
    expect((await user.api.post('/api/v1/websites/abc/verify-password', { form: { password: 'a' } })).status).toBe(422);
  });
});
