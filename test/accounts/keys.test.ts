import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createKey } from '../../src/accounts/keys.ts';
import { ApiClient } from '../support/api-client.ts';
import { expectSameProblem } from '../support/same-problem.ts';
import { startService, type TestService, type TestUser } from '../support/service.ts';

let service: TestService;
let user: TestUser;

beforeAll(async () => {
  service = await startService();
  user = await service.createUser();
});
afterAll(() => service.stop());

const withKey = (key: string) => new ApiClient(service.url, { Authorization: `Bearer ${key}` });

async function make(api: ApiClient, wanted: object): Promise<{ id: number; key: string; api: ApiClient }> {
  const { status, body } = await api.post('/api/keys', { json: { name: 'Key', ...wanted } });
  expect(status).toBe(201);
  return { id: body.data.id, key: body.data.key, api: withKey(body.data.key) };
}

test('createKey: 201 with the key, once; it works at once and is never shown again', async () => {
  const { status, body } = await user.api.post('/api/keys', { json: { name: 'Deploy', scopes: ['monitors:read', 'websites:read'] } });
  expect(status).toBe(201);
  expect(body.data).toMatchObject({ name: 'Deploy', scopes: ['monitors:read', 'websites:read'], last_used_at: null, expires_at: null });
  expect(body.data.key).toMatch(/^stkp_[0-9A-Za-z]{36}$/);
  expect(body.data.prefix).toBe(body.data.key.slice(0, 9));
  expect((await withKey(body.data.key).get('/api/monitors')).status).toBe(200);
  const listed = await user.api.get('/api/keys');
  expect(listed.text).not.toContain(body.data.key);
  expect(listed.body.data[0]).toMatchObject({ id: body.data.id, name: 'Deploy' });
});

test('only a hash of the key is stored', async () => {
  const { key } = await make(user.api, { scopes: ['monitors:read'] });
  const rows = await service.database.asUser(user.id, (em) => em.execute('select row_to_json(k)::text as row from api_keys k'));
  expect(JSON.stringify(rows)).not.toContain(key);
  expect(JSON.stringify(rows)).not.toContain(key.slice(9));
});

test('createKey: 403 for a scope that the calling key does not hold, and nothing is made', async () => {
  const weak = await user.withScopes('monitors:read', 'providers:read');
  const before = (await user.api.get('/api/keys')).body.meta.total;
  const { status, body } = await weak.post('/api/keys', { json: { name: 'More', scopes: ['monitors:read', 'monitors:write'] } });
  expect([status, body.code]).toEqual([403, 'scope_not_held']);
  expect(body.detail).toContain('"monitors:write"');
  expect((await user.api.get('/api/keys')).body.meta.total).toBe(before);
});

test('createKey: what a key makes ends with it at the latest, and by default', async () => {
  const expires = new Date(Date.now() + 3_600_000).toISOString();
  const short = await make(user.api, { scopes: ['monitors:read'], expires_at: expires });
  const heir = await short.api.post('/api/keys', { json: { name: 'Heir', scopes: ['monitors:read'] } });
  expect(heir.body.data.expires_at).toBe(expires);
  const longer = await short.api.post('/api/keys', {
    json: { name: 'Longer', scopes: ['monitors:read'], expires_at: new Date(Date.now() + 7_200_000).toISOString() },
  });
  expect([longer.status, longer.body.code]).toEqual([403, 'expiry_beyond_own']);
});

test('a key stops working when it expires', async () => {
  const expires = Date.now() + 5000;
  const { api } = await make(user.api, { scopes: ['monitors:read'], expires_at: new Date(expires).toISOString() });
  expect((await api.get('/api/monitors')).status).toBe(200);
  // Used up to the end, so that it is still remembered then.
  while (Date.now() < expires) {
    await api.get('/api/monitors');
    await pause(200);
  }
  expect((await api.get('/api/monitors')).body.code).toBe('invalid_key');
});

test('deleteKey: takes along what the key made, directly or through others, and all of it stops working', async () => {
  const parent = await make(user.api, { scopes: ['monitors:read'] });
  const child = await make(parent.api, { scopes: ['monitors:read'] });
  const grandchild = await make(child.api, { scopes: ['monitors:read'] });
  for (const { api } of [parent, child, grandchild]) expect((await api.get('/api/monitors')).status).toBe(200);
  const { status, body } = await user.api.delete(`/api/keys/${parent.id}`);
  expect([status, body]).toEqual([200, { id: parent.id, object: 'key', deleted: true }]);
  for (const { api } of [parent, child, grandchild]) expect((await api.get('/api/monitors')).status).toBe(401);
});

test('deleteKey: a key may delete itself and what it made, and nothing else', async () => {
  const [one, other] = [await make(user.api, { scopes: ['monitors:read'] }), await make(user.api, { scopes: ['monitors:read'] })];
  const child = await make(one.api, { scopes: ['monitors:read'] });
  const grandchild = await make(child.api, { scopes: ['monitors:read'] });
  expect((await one.api.delete(`/api/keys/${other.id}`)).body.code).toBe('not_your_key');
  expect((await child.api.delete(`/api/keys/${one.id}`)).body.code).toBe('not_your_key');
  expect((await one.api.delete(`/api/keys/${grandchild.id}`)).status).toBe(200);
  expect((await one.api.delete(`/api/keys/${one.id}`)).status).toBe(200);
  expect((await child.api.get('/api/monitors')).status).toBe(401);
  expect((await other.api.get('/api/monitors')).status).toBe(200);
});

test("deleteKey: another user's key is 404, byte for byte like one that does not exist", async () => {
  const other = await service.createUser();
  const theirs = await make(other.api, { scopes: ['monitors:read'] });
  const remove = (id: number) => user.api.delete(`/api/keys/${id}`);
  expectSameProblem(await remove(theirs.id), await remove(999_999_999));
  expect((await theirs.api.get('/api/monitors')).status).toBe(200);
});

test('listKeys: every key of the user in pages, newest first, none of another user', async () => {
  const { api } = await service.createUser();
  for (const name of ['a', 'b', 'c']) await make(api, { name, scopes: ['monitors:read'] });
  const first = await api.get('/api/keys?pageSize=2');
  expect(first.body.data.map(({ name }: { name: string }) => name)).toEqual(['c', 'b']);
  expect(first.body.meta).toEqual({ page: 1, pageSize: 2, pageCount: 2, total: 4 });
  const second = await api.get(first.body.links.next);
  expect(second.body.data.map(({ name }: { name: string }) => name)).toEqual(['a', 'Test']);
});

test('the last use is written, at most once a minute', async () => {
  const { id, api } = await make(user.api, { scopes: ['monitors:read'] });
  const lastUse = async () => (await user.api.get('/api/keys')).body.data.find((key: { id: number }) => key.id === id).last_used_at;
  await api.get('/api/monitors');
  await expect.poll(lastUse, { timeout: 15_000 }).not.toBeNull();
  const first = await lastUse();
  for (let call = 0; call < 5; call++) await api.get('/api/monitors');
  await pause(300);
  expect(await lastUse()).toBe(first);
});

test('createKey: 409 over 100 keys, however many ask at once', async () => {
  const { id, api } = await service.createUser();
  await service.database.asUser(id, async (em) => {
    for (let number = 1; number < 96; number++) await createKey(em, { userId: id, name: `Key ${number}`, scopes: ['monitors:read'] });
  });
  const answers = await Promise.all(
    Array.from({ length: 8 }, () => api.post('/api/keys', { json: { name: 'More', scopes: ['monitors:read'] } })),
  );
  expect(answers.filter(({ status }) => status === 201)).toHaveLength(4);
  expect(answers.filter(({ body }) => body.code === 'quota_exceeded')).toHaveLength(4);
});

test.each([
  ['no name', { scopes: ['monitors:read'] }, '/name'],
  ['an empty name', { name: '', scopes: ['monitors:read'] }, '/name'],
  ['a name of 101 characters', { name: 'x'.repeat(101), scopes: ['monitors:read'] }, '/name'],
  ['a line break in the name', { name: 'a\nb', scopes: ['monitors:read'] }, '/name'],
  ['no scopes', { name: 'a' }, '/scopes'],
  ['an empty list of scopes', { name: 'a', scopes: [] }, '/scopes'],
  ['an unknown scope', { name: 'a', scopes: ['monitors:all'] }, '/scopes/0'],
  ['a scope twice', { name: 'a', scopes: ['monitors:read', 'monitors:read'] }, '/scopes'],
  ['scopes that are no list', { name: 'a', scopes: 'monitors:read' }, '/scopes'],
  ['an expiry in the past', { name: 'a', scopes: ['monitors:read'], expires_at: '2020-01-01T00:00:00Z' }, '/expires_at'],
  ['an expiry in a year of five digits', { name: 'a', scopes: ['monitors:read'], expires_at: '9999-12-31T23:59:59-12:00' }, '/expires_at'],
  ['an expiry at a leap second', { name: 'a', scopes: ['monitors:read'], expires_at: '2030-12-31T23:59:60Z' }, '/expires_at'],
  ['an expiry that is no time', { name: 'a', scopes: ['monitors:read'], expires_at: 'tomorrow' }, '/expires_at'],
  ['an unknown field', { name: 'a', scopes: ['monitors:read'], key: 'stkp_mine' }, '/key'],
])('createKey: 422 for %s', async (_, json, pointer) => {
  const { status, body } = await user.api.post('/api/keys', { json });
  expect(status).toBe(422);
  expect(body.errors).toContainEqual(expect.objectContaining({ in: 'body', pointer }));
});

test.each(['GET', 'POST', 'DELETE'])('401 for %s without a key', async (method) => {
  expect((await service.stranger.request(method, method === 'DELETE' ? '/api/keys/1' : '/api/keys')).status).toBe(401);
});

test('a key in the query is no key', async () => {
  const { key } = await make(user.api, { scopes: ['monitors:read'] });
  expect((await service.stranger.get(`/api/monitors?api_key=${key}&access_token=${key}`)).status).toBe(401);
});
