import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Database } from '../../src/db/database.ts';
import { ApiClient } from '../support/api-client.ts';
import { createDatabase } from '../support/database.ts';
import { startService } from '../support/service.ts';

let database: Database;

beforeAll(async () => {
  database = await createDatabase();
});
afterAll(() => database.close());

test('over the limit: 429 with Retry-After, and every answer says how much is left', async () => {
  const service = await startService({ rateLimitPerMinute: 50 }, { database });
  try {
    const { api } = await service.createUser();
    const answers = await Promise.all(Array.from({ length: 100 }, () => api.get('/api/monitors')));
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(50);
    const refused = answers.filter(({ status }) => status === 429);
    expect(refused).toHaveLength(50);
    expect(answers[0]?.headers.get('RateLimit-Policy')).toBe('"key";q=50;w=60, "user";q=100;w=60');
    expect(refused[0]?.body.code).toBe('rate_limited');
    expect(Number(refused[0]?.headers.get('Retry-After'))).toBeGreaterThan(50);
    expect(refused[0]?.headers.get('X-RateLimit-Remaining')).toBe('0');
  } finally {
    await service.stop();
  }
});

test('two keys of one user share the limit of the user, refusals count too', async () => {
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

test('a key over its own limit does not shut out the other keys of its user', async () => {
  const service = await startService({ rateLimitPerMinute: 10 }, { database });
  try {
    const user = await service.createUser();
    const [runaway, other] = [await user.withScopes('monitors:read'), await user.withScopes('monitors:read')];
    const statuses = [];
    for (let call = 0; call < 30; call++) statuses.push((await runaway.get('/api/monitors')).status);
    expect(statuses).toEqual([...Array(10).fill(200), ...Array(20).fill(429)]);
    for (let call = 0; call < 10; call++) expect((await other.get('/api/monitors')).status).toBe(200);
    expect((await user.api.get('/api/monitors')).status).toBe(429);
  } finally {
    await service.stop();
  }
});

test('callers without a key share the limit of their address; health checks are exempt', async () => {
  const service = await startService({ rateLimitPerMinute: 50 }, { database });
  try {
    const statuses = [];
    for (let call = 0; call < 8; call++) statuses.push((await service.stranger.get(call % 2 ? '/api/nope' : '/api/monitors')).status);
    expect(statuses).toEqual([401, 404, 401, 404, 401, 429, 429, 429]);
    expect((await service.stranger.get('/healthz')).status).toBe(200);
    const { api } = await service.createUser();
    expect((await api.get('/api/monitors')).status).toBe(200);
  } finally {
    await service.stop();
  }
});

test('X-Forwarded-For counts only behind a trusted proxy, IPv6 by its /64', async () => {
  const calls = async (trustedProxies: string[], addresses: string[]) => {
    const service = await startService({ rateLimitPerMinute: 10, trustedProxies }, { database });
    try {
      const statuses = [];
      for (const address of addresses)
        statuses.push((await new ApiClient(service.url, { 'X-Forwarded-For': address }).get('/api/monitors')).status);
      return statuses;
    } finally {
      await service.stop();
    }
  };
  expect(await calls([], ['192.0.2.1', '192.0.2.2'])).toEqual([401, 429]);
  expect(await calls(['loopback'], ['192.0.2.1', '192.0.2.2', '192.0.2.1'])).toEqual([401, 401, 429]);
  expect(await calls(['127.0.0.0/8'], ['2001:db8::1', '2001:db8::2', '2001:db8:0:1::1'])).toEqual([401, 429, 401]);
});
