import type { RateLimiterAbstract } from 'rate-limiter-flexible';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { hashPassword } from '../../src/auth/passwords.ts';
import { SignIn } from '../../src/auth/sign-in.ts';
import type { RetryLaterError } from '../../src/errors.ts';
import { type Limiters, memoryLimiters } from '../../src/limits/limiters.ts';
import { ApiClient } from '../support/api-client.ts';
import { startService, type TestService, type TestUser } from '../support/service.ts';
import { expectCookie } from '../support/session-cookie.ts';
import { password, signIn } from '../support/valid-requests.ts';

let service: TestService;
let user: TestUser;

beforeAll(async () => {
  service = await startService();
});
// Failed attempts are counted per account, so each test has its own.
beforeEach(async () => {
  user = await service.createUser(password);
});
afterAll(() => service.stop());

const wrongPassword = 'wrong password';
const createSession = (email: string, given: string, api = service.anonymous) =>
  api.post('/api/session', { json: { email, password: given } });

test('returns 201 with the user and a cookie that scripts cannot read', async () => {
  const { status, body, headers } = await createSession(user.email.toUpperCase(), password);
  expect([status, body.data.user]).toEqual([201, { id: user.id, email: user.email }]);
  expectCookie(headers, /^sitekeeper_session=[\w-]{43}; path=\/; expires=[^;]+; samesite=lax; httponly$/);
  expect(Date.parse(body.data.expires_at) - Date.parse(body.data.created_at)).toBe(7 * 24 * 3600 * 1000);
});

test('ends the oldest session if the user has more than 100', async () => {
  const [first, second] = [await signIn(service, user.email), await signIn(service, user.email)];
  await service.database.asUser(user.id, (em) =>
    em.execute(
      `insert into sessions (user_id, token_hash) select ?, decode(md5(n::text || ?), 'hex') from generate_series(1, 98) n`,
      [user.id, user.email],
      'run',
    ),
  );
  const statuses = async () => [
    (await service.anonymous.get('/api/session', { headers: first })).status,
    (await service.anonymous.get('/api/session', { headers: second })).status,
  ];
  expect(await statuses()).toEqual([200, 200]);
  await signIn(service, user.email);
  // On PostgreSQL the notification that the session was deleted may arrive after the response.
  await expect.poll(statuses, { timeout: 5000 }).toEqual([401, 200]);
});

test('the cookie is Secure and bound to the host if the public URL is https', async () => {
  const secure = await startService({}, { database: service.database, publicUrl: 'https://sitekeeper.example.com' });
  try {
    const account = await secure.createUser(password);
    const { headers } = await createSession(account.email, password, secure.anonymous);
    expectCookie(headers, /^__Host-sitekeeper_session=[\w-]{43}; path=\/; expires=[^;]+; samesite=lax; secure; httponly$/);
  } finally {
    await secure.stop();
  }
});

test('stores only hashes of the cookie and the password', async () => {
  const { Cookie } = await signIn(service, user.email);
  const rows = await service.database.asUser(user.id, (em) =>
    em.execute('select row_to_json(s)::text || (select row_to_json(u)::text from users u) as row from sessions s'),
  );
  expect(Cookie).toMatch(/=.{43}$/);
  expect(JSON.stringify(rows)).not.toContain(Cookie.split('=')[1]);
  expect(JSON.stringify(rows)).not.toContain(password);
  expect(JSON.stringify(rows)).toContain('$argon2id$');
});

test('returns the same 401 for a wrong password, an unknown account and an account without a password', async () => {
  const withoutPassword = await service.createUser();
  const responses = [];
  for (const json of [
    { email: user.email, password: wrongPassword },
    { email: 'nobody@example.com', password },
    { email: withoutPassword.email, password },
  ]) {
    // With the same request id the bodies can be compared byte by byte.
    responses.push(await service.anonymous.post('/api/session', { json, headers: { 'X-Request-Id': 'same' } }));
  }
  expect(new Set(responses.map(({ status, text }) => `${status} ${text}`)).size).toBe(1);
  expect([responses[0]?.status, responses[0]?.body.code]).toEqual([401, 'invalid_credentials']);
  expect(responses[0]?.body.detail).toBe('The e-mail address or the password is wrong.');
});

test('checks a password also for an unknown account, so that the time does not tell whether an account exists', async () => {
  const attempts = new SignIn(service.database, memoryLimiters());
  for (let attempt = 0; attempt < 5; attempt++) {
    // These occupy every slot for hashing, so whoever checks a password waits until one of them has ended.
    let ended = 0;
    const others = Array.from({ length: 6 }, () => hashPassword(password, { userId: user.id }).then(() => ended++));
    expect(await attempts.check(`unknown${attempt}@example.com`, password, '192.0.2.1')).toBeUndefined();
    expect(ended).toBeGreaterThan(0);
    await Promise.all(others);
  }
});

test('50 failures in an hour lock the account for every address, however it is written', async () => {
  const limiters = memoryLimiters();
  const created = new Map<string, RateLimiterAbstract>();
  const create: Limiters['create'] = (name, points, seconds) => {
    const limiter = limiters.create(name, points, seconds);
    created.set(name, limiter);
    return limiter;
  };
  const attempts = new SignIn(service.database, { ...limiters, create });
  const check = (given: string, address: string) => attempts.check(user.email.toUpperCase(), given, address);
  // The failures from other addresses.
  await created.get('sign-in-account')?.penalty(user.email, 49);
  expect(await check(wrongPassword, '192.0.2.1')).toBeUndefined();
  const locked = await check(password, '192.0.2.2').catch((error: RetryLaterError) => error);
  expect(locked).toMatchObject({ code: 'rate_limited', retryAfterSeconds: expect.any(Number) });
  expect((locked as RetryLaterError).retryAfterSeconds).toBeGreaterThan(3500);
});

test('a client that is locked out does not lock the account for others, however often it tries', async () => {
  const attempts = new SignIn(service.database, memoryLimiters());
  const results = await Promise.allSettled(Array.from({ length: 60 }, () => attempts.check(user.email, wrongPassword, '192.0.2.1')));
  expect(results.filter(({ status }) => status === 'rejected')).toHaveLength(55);
  expect(await attempts.check(user.email, password, '192.0.2.2')).toMatchObject({ id: user.id });
});

test('the addresses of an IPv6 network share the limit of 5 failures', async () => {
  const attempts = new SignIn(service.database, memoryLimiters());
  for (let host = 1; host <= 5; host++) expect(await attempts.check(user.email, wrongPassword, `2001:db8::${host}`)).toBeUndefined();
  await expect(attempts.check(user.email, password, '2001:db8::6')).rejects.toMatchObject({ code: 'rate_limited' });
  expect(await attempts.check(user.email, password, '2001:db8:0:1::6')).toMatchObject({ id: user.id });
});

test('after 5 failures in 15 minutes, locks the account for that client address, even for the right password', async () => {
  const behindProxy = await startService({ trustedProxies: ['loopback'] }, { database: service.database });
  try {
    const createFrom = (address: string, given: string) =>
      createSession(user.email, given, new ApiClient(behindProxy.url, { 'X-Forwarded-For': address }));
    for (let failure = 0; failure < 5; failure++) expect((await createFrom('192.0.2.1', wrongPassword)).status).toBe(401);
    const { status, headers, body } = await createFrom('192.0.2.1', password);
    expect([status, body.code]).toEqual([429, 'rate_limited']);
    expect(Number(headers.get('Retry-After'))).toBeGreaterThan(800);
    expect(body.detail).toBe(`Too many failed attempts. Retry in ${headers.get('Retry-After')} seconds.`);
    expect((await createFrom('192.0.2.2', password)).status).toBe(201);
  } finally {
    await behindProxy.stop();
  }
});

test('counts concurrent failures exactly, and does not count successes', async () => {
  const responses = await Promise.all(Array.from({ length: 12 }, () => createSession(user.email, wrongPassword)));
  expect(responses.filter(({ status }) => status === 401)).toHaveLength(5);
  expect(responses.filter(({ status }) => status === 429)).toHaveLength(7);
  const other = await service.createUser(password);
  for (let call = 0; call < 8; call++) expect((await createSession(other.email, password)).status).toBe(201);
});

test('returns 403 for a request from another origin', async () => {
  const { status, body } = await service.anonymous.post('/api/session', {
    json: { email: user.email, password },
    headers: { Origin: 'https://evil.example.com' },
  });
  expect([status, body.code]).toEqual([403, 'cross_origin']);
});

test.each([
  ['no password', { email: 'a@example.com' }, '/password', 'is required'],
  ['no e-mail address', { password }, '/email', 'is required'],
  ['an invalid e-mail address', { email: 'a', password }, '/email', 'must be an e-mail address'],
  ['an unknown field', { email: 'a@example.com', password, remember: true }, '/remember', 'is not a known field'],
])('returns 422 for %s', async (_, json, pointer, message) => {
  const { status, body } = await service.anonymous.post('/api/session', { json });
  expect(status).toBe(422);
  expect(body.errors).toEqual([expect.objectContaining({ in: 'body', pointer, message })]);
});
