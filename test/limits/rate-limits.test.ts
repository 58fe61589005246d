import { afterAll, beforeAll, expect, test } from 'vitest';
import { readConfig } from '../../src/config/config.ts';
import type { Database } from '../../src/db/database.ts';
import { DatabaseOutage } from '../../src/errors.ts';
import { memoryLimiters } from '../../src/limits/limiters.ts';
import { RateLimits } from '../../src/limits/rate-limits.ts';
import { ApiClient } from '../support/api-client.ts';
import { createDatabase } from '../support/database.ts';
import { startService } from '../support/service.ts';
import { password, signIn } from '../support/valid-requests.ts';

let database: Database;

beforeAll(async () => {
  database = await createDatabase();
});
afterAll(() => database.close());

test('returns 429 with Retry-After over the limit, and every response reports what is left', async () => {
  const service = await startService({ rateLimitPerMinute: 50 }, { database });
  try {
    const { api } = await service.createUser();
    const responses = await Promise.all(Array.from({ length: 100 }, () => api.get('/api/monitors')));
    const rejected = responses.filter(({ status }) => status === 429);
    expect(responses.filter(({ status }) => status === 200)).toHaveLength(50);
    expect(rejected).toHaveLength(50);
    for (const { headers } of responses) expect(headers.get('RateLimit-Policy')).toBe('"key";q=50;w=60, "user";q=100;w=60');
    const retryAfter = Number(rejected[0]?.headers.get('Retry-After'));
    expect(retryAfter).toBeGreaterThan(20);
    expect(rejected[0]?.body).toMatchObject({
      code: 'rate_limited',
      detail: `The limit for this key is 50 requests per minute. Retry in ${retryAfter} seconds.`,
    });
    expect(rejected[0]?.headers.get('X-RateLimit-Remaining')).toBe('0');
  } finally {
    await service.stop();
  }
});

test('a session has the limit of a key: beyond it, requests with its cookie get 429', async () => {
  const service = await startService({ rateLimitPerMinute: 10 }, { database });
  try {
    const { email } = await service.createUser(password);
    const headers = await signIn(service, email);
    const responses = [];
    for (let count = 0; count < 11; count++) responses.push(await service.anonymous.get('/api/monitors', { headers }));
    expect(responses.map(({ status }) => status)).toEqual([...Array(10).fill(200), 429]);
    const last = responses.at(-1);
    expect(last?.headers.get('RateLimit-Policy')).toBe('"session";q=10;w=60, "user";q=20;w=60');
    expect(last?.body.detail).toMatch(/^The limit for this session is 10 requests per minute\. Retry in \d+ seconds\.$/);
  } finally {
    await service.stop();
  }
});

test('without lookups left, a credential that is not familiar gets 429 instead of being called unknown', async () => {
  const rateLimits = new RateLimits(10, memoryLimiters());
  for (let count = 0; count < 10; count++) await rateLimits.countLookup('192.0.2.7');
  await expect(rateLimits.countLookup('192.0.2.7')).rejects.toThrow(
    /^Too many unknown keys or sessions came from your address\. Retry in \d+ seconds\.$/,
  );
  await rateLimits.countLookup('192.0.2.8');
  await rateLimits.refundLookup('192.0.2.7');
  await rateLimits.refundLookup('192.0.2.7');
  await rateLimits.countLookup('192.0.2.7');
});

test('lookups of valid keys do not count: an address can use more of them than it has lookups', async () => {
  const service = await startService({ rateLimitPerMinute: 10 }, { database });
  try {
    const statuses = [];
    for (let count = 0; count < 15; count++) statuses.push((await (await service.createUser()).api.get('/api/monitors')).status);
    expect(statuses).toEqual(Array(15).fill(200));
  } finally {
    await service.stop();
  }
});

test('the keys of one user share the limit of the user, and rejected requests count', async () => {
  const service = await startService({ rateLimitPerMinute: 10 }, { database });
  try {
    const user = await service.createUser();
    const clients = await Promise.all([1, 2, 3].map(() => user.withScopes('providers:read')));
    const statuses = [];
    for (const client of clients) for (let call = 0; call < 10; call++) statuses.push((await client.get('/api/monitors')).status);
    expect(statuses).toEqual([...Array(20).fill(403), ...Array(10).fill(429)]);
  } finally {
    await service.stop();
  }
});

test('the headers report the limit with the fewest requests left', async () => {
  const service = await startService({ rateLimitPerMinute: 10 }, { database });
  try {
    const user = await service.createUser();
    const clients = await Promise.all([1, 2, 3].map(() => user.withScopes('monitors:read')));
    const reported = [];
    for (const client of clients) {
      for (let call = 0; call < 6; call++) reported.push((await client.get('/api/monitors')).headers.get('RateLimit')?.split(';t=')[0]);
    }
    // The first two keys have used 12 of the 20 requests of the user. So the third key, with 10 of its own, has 8.
    expect([reported[0], reported[11], reported[12], reported[17]]).toEqual(['"key";r=9', '"key";r=4', '"user";r=7', '"user";r=2']);
  } finally {
    await service.stop();
  }
});

test('a key over its own limit does not use up the limit of the user', async () => {
  const service = await startService({ rateLimitPerMinute: 10 }, { database });
  try {
    const user = await service.createUser();
    const [exceeding, other] = [await user.withScopes('monitors:read'), await user.withScopes('monitors:read')];
    const statuses = [];
    for (let call = 0; call < 30; call++) statuses.push((await exceeding.get('/api/monitors')).status);
    expect(statuses).toEqual([...Array(10).fill(200), ...Array(20).fill(429)]);
    for (let call = 0; call < 10; call++) expect((await other.get('/api/monitors')).status).toBe(200);
    expect((await user.api.get('/api/monitors')).status).toBe(429);
  } finally {
    await service.stop();
  }
});

test('public operations and OPTIONS count toward the limit of the address', async () => {
  const service = await startService({ rateLimitPerMinute: 20 }, { database });
  try {
    const signIn = () => service.anonymous.post('/api/session', { json: {} });
    const options = () => service.anonymous.request('OPTIONS', '/api/monitors');
    expect([(await signIn()).status, (await options()).status, (await signIn()).status, (await options()).status]).toEqual([
      422, 204, 429, 429,
    ]);
  } finally {
    await service.stop();
  }
});

test('a lookup that fails because of the database does not count', async () => {
  const failing: Database = {
    ...database,
    concurrency: database.concurrency,
    asUser: (userId, work) => database.asUser(userId, work),
    asAuthenticator: (work) => database.asAuthenticator(work),
    query: (userId) => database.query(userId),
    listen: (channel, listener) => database.listen(channel, listener),
    now: () => database.now(),
  };
  const service = await startService({ rateLimitPerMinute: 3 }, { database: failing });
  try {
    const { api } = await service.createUser();
    failing.query = () => () => Promise.reject(new DatabaseOutage('unavailable', 'injected', 1));
    for (let count = 0; count < 5; count++) expect((await api.get('/api/monitors')).status).toBe(503);
    failing.query = (userId) => database.query(userId);
    expect((await api.get('/api/monitors')).status).toBe(200);
  } finally {
    await service.stop();
  }
});

test('requests without a key share the limit of their address; health checks are exempt', async () => {
  const service = await startService({ rateLimitPerMinute: 50 }, { database });
  try {
    const statuses = [];
    for (let call = 0; call < 8; call++) statuses.push((await service.anonymous.get(call % 2 ? '/api/nope' : '/api/monitors')).status);
    expect(statuses).toEqual([401, 404, 401, 404, 401, 429, 429, 429]);
    expect((await service.anonymous.get('/healthz')).status).toBe(200);
    const { api } = await service.createUser();
    expect((await api.get('/api/monitors')).status).toBe(200);
  } finally {
    await service.stop();
  }
});

test('X-Forwarded-For counts as many entries from the right as there are proxies, and is used only behind a trusted proxy, and IPv6 addresses count by their /64 network', async () => {
  const statusesFrom = async (setting: string, addresses: string[]) => {
    const { trustedProxies, proxyHops } = readConfig({ TRUSTED_PROXIES: setting });
    const service = await startService({ rateLimitPerMinute: 10, trustedProxies, proxyHops }, { database });
    try {
      const statuses = [];
      for (const address of addresses)
        statuses.push((await new ApiClient(service.url, { 'X-Forwarded-For': address }).get('/api/monitors')).status);
      return statuses;
    } finally {
      await service.stop();
    }
  };
  expect(await statusesFrom('', ['192.0.2.1', '192.0.2.2'])).toEqual([401, 429]);
  expect(await statusesFrom('loopback', ['192.0.2.1', '192.0.2.2', '192.0.2.1'])).toEqual([401, 401, 429]);
  expect(await statusesFrom('127.0.0.0/8', ['2001:db8::1', '2001:db8::2', '2001:db8:0:1::1'])).toEqual([401, 429, 401]);
  // A proxy appends the address that it sees. What its client sent is further left, and does not count.
  const appended = ['192.0.2.1, 10.0.0.7', '192.0.2.2, 10.0.0.7', '192.0.2.1, 10.0.0.8'];
  for (const setting of ['1', 'loopback', 'loopback,uniquelocal', '1, 10.0.0.0/8, 127.0.0.1']) {
    expect([setting, await statusesFrom(setting, appended)]).toEqual([setting, [401, 429, 401]]);
  }
  // Behind two proxies, the outer one has appended the address of the client, and the inner one that of the outer one.
  const chained = ['192.0.2.9, 192.0.2.1, 10.0.0.7', '192.0.2.8, 192.0.2.1, 10.0.0.7', '192.0.2.9, 192.0.2.2, 10.0.0.7'];
  expect(await statusesFrom('2', chained)).toEqual([401, 429, 401]);
  expect(await statusesFrom('2, loopback, 10.0.0.0/8', chained)).toEqual([401, 429, 401]);
  expect(await statusesFrom('2, loopback', chained)).toEqual([401, 429, 429]);
  // With fewer entries than proxies, the leftmost counts; without a valid address, that of the connection.
  expect(await statusesFrom('3', ['192.0.2.1', '192.0.2.1', '192.0.2.2'])).toEqual([401, 429, 401]);
  expect(await statusesFrom('1', ['unknown', 'x'.repeat(2000), ''])).toEqual([401, 429, 429]);
});

test('each token has 60 requests a minute, whatever the limit of a key is, and rejected ones count', async () => {
  for (const perMinute of [10, 100_000]) {
    const rateLimits = new RateLimits(perMinute, memoryLimiters());
    const exceeded: boolean[] = [];
    for (let count = 0; count < 62; count++) exceeded.push((await rateLimits.countToken('a')).tightest.isExceeded);
    expect(exceeded).toEqual([...Array(60).fill(false), true, true]);
    expect(await rateLimits.countToken('b')).toMatchObject({
      policy: '"token";q=60;w=60',
      tightest: { name: 'token', limit: 60, remaining: 59, isExceeded: false },
    });
  }
});

test('the limiters of tokens see only their hashes', async () => {
  const seen: string[] = [];
  const limiters = memoryLimiters();
  const create: typeof limiters.create = (...args) => {
    const limiter = limiters.create(...args);
    const consume = limiter.consume.bind(limiter);
    limiter.consume = (key, ...rest) => {
      seen.push(String(key));
      return consume(key, ...rest);
    };
    return limiter;
  };
  await new RateLimits(10, { ...limiters, create }).countToken('my-token');
  expect(seen).toEqual([expect.stringMatching(/^[\w-]{43}$/)]);
});
