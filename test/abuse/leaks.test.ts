// What one user, or somebody who reads the log, must not learn about another.
import { afterAll, beforeAll, expect } from 'vitest';
import { ApiClient } from '../support/api-client.ts';
import { guarantee } from '../support/guarantee.ts';
import { type AbusedService, startAbusedService } from './support/service.ts';

let service: AbusedService;

beforeAll(async () => {
  service = await startAbusedService({ users: 2 });
});
afterAll(() => service?.remove());

guarantee(1, 'No two resources, states of one or lists with different contents share an ETag, and caches keep users apart', async () => {
  const [a, b] = service.users.map((user) => service.as(user));
  const form = { domain: 'shared.example' };
  const created = await a?.post('/api/v1/websites', { form });
  await b?.post('/api/v1/websites', { form: { ...form, privacy: '1' } });
  const lookUp = (api: ApiClient | undefined, etag = '') =>
    api?.get('/api/v1/domains/shared.example', { headers: etag ? { 'If-None-Match': etag } : {} });
  const ofA = await lookUp(a);
  const etag = ofA?.headers.get('ETag') ?? '';
  expect((await lookUp(a, etag))?.status).toBe(304);
  const ofB = await lookUp(b, etag);
  expect([ofB?.status, ofB?.body.data.privacy]).toEqual([200, 1]);
  expect(ofB?.headers.get('Vary')).toBe('Authorization, Cookie, Origin');

  await a?.delete(`/api/v1/websites/${created?.body.data.id}`);
  await a?.post('/api/v1/websites', { form: { ...form, privacy: '1' } });
  const recreated = await lookUp(a, etag);
  expect([recreated?.status, recreated?.body.data.privacy]).toEqual([200, 1]);

  const updated = await a?.patch(`/api/v1/websites/${recreated?.body.data.id}`, { form: { favorite: '1' } });
  const etags = [ofA, ofB, recreated, updated].map((response) => response?.headers.get('ETag'));

  const lists = ['/api/v1/websites', '/api/monitors', '/api/keys', '/api/providers'];
  for (const path of lists) {
    const list = await a?.get(path);
    const listTag = list?.headers.get('ETag') ?? '';
    const listOfB = await b?.get(path);
    etags.push(listTag);
    if (listOfB?.text !== list?.text) etags.push(listOfB?.headers.get('ETag')); // Empty lists are the same.
    expect((await a?.get(path, { headers: { 'If-None-Match': listTag } }))?.status, path).toBe(304);
    expect(list?.headers.get('Vary'), path).toBe('Authorization, Cookie, Origin');
  }
  expect(etags).not.toContain(null);
  expect(new Set(etags).size, etags.join(' ')).toBe(etags.length);
  return `2 users with one domain, one of which is deleted, created again and updated, and lists of both: ${etags.length} different ETags`;
});

guarantee(3, 'An API key in a path, a request id or a field name appears neither in the response nor in the log', async () => {
  const [user] = service.users;
  const key = user?.key ?? '';
  const api = service.as(user);
  const responses = [
    await api.get(`/api/monitors/${key}`),
    await api.get(`/api/v1/domains/${key}`),
    await api.get(`/api/v1/domains/${key}.example`),
    await api.get(`/${key}`),
    await api.get('/api/monitors', { headers: { 'X-Request-Id': key } }),
    await api.post('/api/keys', { json: { [key]: 1 } }),
    await api.post('/api/keys', { raw: `{"a": ${key}}`, headers: { 'Content-Type': 'application/json' } }),
    await api.post('/api/v1/websites', { raw: 'x', headers: { 'Content-Type': `text/${key}` } }),
  ];
  for (const { text, headers } of responses) expect(text + [...headers].flat().join()).not.toContain(key.slice(9));
  expect(responses[0]?.body.instance).toBe(`/api/monitors/${key.slice(0, 9)}****`);
  await expect.poll(() => service.printed(), { timeout: 10_000 }).toContain(`/${key.slice(0, 9)}****`);
  // The log lines of the requests before this one have arrived when its own has.
  await service.as(user).get('/healthz', { headers: { 'X-Request-Id': 'the-last-one' } });
  await expect.poll(() => service.printed(), { timeout: 10_000 }).toContain('the-last-one');
  expect(service.printed()).not.toContain(key.slice(9));
  return `${responses.length} requests, 0 of their responses and log lines contain the key`;
});

guarantee(5, 'A password change replaces the session, a new key is not stored by caches, and responses are not sniffed', async () => {
  const [user] = service.users;
  const { email = '', password = '' } = user ?? {};
  const anonymous = service.as(undefined);
  const signedIn = await anonymous.post('/api/session', { json: { email, password } });
  const cookieOf = (headers: Headers) => headers.get('Set-Cookie')?.split(';')[0] ?? '';
  const withCookie = (cookie: string) => new ApiClient(service.url, { Cookie: cookie });
  const stolen = cookieOf(signedIn.headers);
  const changed = await withCookie(stolen).put('/api/session/password', { json: { current: password, new: `new ${password}` } });
  const replaced = cookieOf(changed.headers);
  expect(changed.status).toBe(200);
  expect(replaced).not.toBe(stolen);
  expect((await withCookie(stolen).get('/api/session')).status).toBe(401);
  expect((await withCookie(replaced).get('/api/session')).status).toBe(200);

  const created = await service.as(user).post('/api/keys', { json: { name: 'Secret', scopes: ['monitors:read'] } });
  expect([created.status, created.headers.get('Cache-Control')]).toEqual([201, 'no-store']);
  const responses = [
    created,
    changed,
    await anonymous.get('/api/monitors'),
    await anonymous.get('/nowhere'),
    await anonymous.get('/healthz'),
  ];
  for (const { headers } of responses) expect(headers.get('X-Content-Type-Options')).toBe('nosniff');
  return `the old session gets 401, the new one 200; nosniff on ${responses.length} of ${responses.length} responses`;
});
