import { afterAll, beforeAll, expect, test } from 'vitest';
import { ApiClient } from '../support/api-client.ts';
import { startService, type TestService, type TestUser } from '../support/service.ts';
import { password, signIn } from '../support/valid-requests.ts';
import { createKeyWith, type TestKey } from './key-factory.ts';

let service: TestService;
let user: TestUser;

beforeAll(async () => {
  service = await startService();
  user = await service.createUser();
});
afterAll(() => service.stop());

const hour = 3_600_000;
const inHours = (hours: number) => new Date(Date.now() + hours * hour).toISOString();

test('returns 201 with a key that works immediately and is never shown again', async () => {
  const { status, headers, body } = await user.api.post('/api/keys', {
    json: { name: 'Deploy', scopes: ['monitors:read', 'websites:read'] },
  });
  expect([status, headers.get('Cache-Control')]).toEqual([201, 'no-store']);
  expect(body.data).toMatchObject({ name: 'Deploy', scopes: ['monitors:read', 'websites:read'], last_used_at: null, expires_at: null });
  expect(body.data.key).toMatch(/^stkp_[0-9A-Za-z]{36}$/);
  expect(body.data.prefix).toBe(body.data.key.slice(0, 9));
  const withNewKey = new ApiClient(service.url, { Authorization: `Bearer ${body.data.key}` });
  expect((await withNewKey.get('/api/monitors')).status).toBe(200);
  const list = await user.api.get('/api/keys');
  expect(list.text).not.toContain(body.data.key);
  expect(list.body.data[0]).toMatchObject({ id: body.data.id, name: 'Deploy' });
});

test('stores only a hash of the key', async () => {
  const { key } = await createKeyWith(user.api, service);
  const rows = await service.database.asUser(user.id, (em) => em.execute('select row_to_json(k)::text as row from api_keys k'));
  expect(JSON.stringify(rows)).not.toContain(key);
  expect(JSON.stringify(rows)).not.toContain(key.slice(9));
});

test.each([
  [['monitors:read', 'monitors:write'], 'The calling key does not have the scope "monitors:write", so it cannot grant it.'],
  [
    ['monitors:write', 'websites:read'],
    'The calling key does not have the scopes "monitors:write", "websites:read", so it cannot grant them.',
  ],
])('returns 403 for scopes that the calling key does not have, and creates nothing: %j', async (scopes, detail) => {
  const limited = await user.withScopes('monitors:read', 'providers:read');
  const before = (await user.api.get('/api/keys')).body.meta.total;
  const { status, body } = await limited.post('/api/keys', { json: { name: 'More', scopes } });
  expect([status, body.code, body.detail]).toEqual([403, 'scope_not_held', detail]);
  expect((await user.api.get('/api/keys')).body.meta.total).toBe(before);
});

test('a key created by an expiring key expires with it by default, and never later', async () => {
  const expires_at = inHours(1);
  const expiring = await createKeyWith(user.api, service, { expires_at });
  const child = await expiring.api.post('/api/keys', { json: { name: 'Child', scopes: ['monitors:read'] } });
  expect(child.body.data.expires_at).toBe(expires_at);
  const { status, body } = await expiring.api.post('/api/keys', {
    json: { name: 'Later', scopes: ['monitors:read'], expires_at: inHours(2) },
  });
  expect([status, body.code]).toEqual([403, 'expiry_beyond_own']);
  expect(body.detail).toBe(`The calling key expires at ${expires_at}. A key that it creates can expire no later.`);
});

test('returns 409 for the 101st key, even if many requests arrive at once', async () => {
  const { id, api } = await service.createUser();
  await createKeys(id, 95);
  const responses = await Promise.all(
    Array.from({ length: 8 }, () => api.post('/api/keys', { json: { name: 'More', scopes: ['monitors:read'] } })),
  );
  expect(responses.filter(({ status }) => status === 201)).toHaveLength(4);
  const rejected = responses.filter(({ status }) => status === 409);
  expect(rejected).toHaveLength(4);
  for (const { body } of rejected) expect([body.code, body.detail]).toEqual(['quota_exceeded', 'A user can have at most 100 keys.']);
});

test('expired keys do not count, and are deleted when a key is created', async () => {
  const { id, api } = await service.createUser();
  await createKeys(id, 99);
  expect((await tryToCreate(api)).body.detail).toBe('A user can have at most 100 keys.');
  await service.database.asUser(id, (em) =>
    em.execute(`update api_keys set expires_at = now() - interval '1 second' where name in ('Key 1', 'Key 2')`, [], 'run'),
  );
  expect((await api.get('/api/keys')).body.meta.total).toBe(100);
  expect((await tryToCreate(api)).status).toBe(201);
  expect((await api.get('/api/keys')).body.meta.total).toBe(99);
  expect((await tryToCreate(api)).status).toBe(201);
  expect((await tryToCreate(api)).status).toBe(409);
});

const descendantQuota =
  'The key that you use, or one that it was created with, has 10 keys that were created with it. Delete one of them, or sign in to create more.';

test('a key can have 10 keys that were created with it, even if many requests arrive at once', async () => {
  const { api, withScopes } = await service.createUser();
  const responses = await Promise.all(Array.from({ length: 14 }, () => tryToCreate(api)));
  expect(responses.filter(({ status }) => status === 201)).toHaveLength(10);
  const rejected = responses.filter(({ status }) => status === 409);
  for (const { body } of rejected) expect([body.code, body.detail]).toEqual(['quota_exceeded', descendantQuota]);
  expect(rejected).toHaveLength(4);
  // Another key of the same user that was not created with this one has its own quota.
  expect((await tryToCreate(await withScopes('monitors:read'))).status).toBe(201);
});

test('keys that were created through others count for each key above them', async () => {
  const { api: grandparent } = await service.createUser();
  const parents = [await createKeyWith(grandparent, service), await createKeyWith(grandparent, service)] as [TestKey, TestKey];
  for (let count = 0; count < 4; count++) for (const parent of parents) await createKeyWith(parent.api, service);
  // The grandparent has 2 + 8, each parent has 4.
  for (const calling of [grandparent, ...parents.map(({ api }) => api)]) {
    const { status, body } = await tryToCreate(calling);
    expect([status, body.code, body.detail]).toEqual([409, 'quota_exceeded', descendantQuota]);
  }
  expect((await grandparent.delete(`/api/keys/${parents[0].id}`)).status).toBe(200);
  expect((await tryToCreate(parents[1].api)).status).toBe(201);
});

test('a chain of keys has at most 10 below the first', async () => {
  let { api: last } = await service.createUser();
  for (let count = 0; count < 10; count++) last = (await createKeyWith(last, service)).api;
  expect((await tryToCreate(last)).status).toBe(409);
});

test('expired keys do not count for the key that created them', async () => {
  const { id, api } = await service.createUser();
  for (let count = 0; count < 10; count++) await createKeyWith(api, service, { name: `Child ${count}` });
  expect((await tryToCreate(api)).status).toBe(409);
  await service.database.asUser(id, (em) =>
    em.execute(`update api_keys set expires_at = now() - interval '1 second' where name = 'Child 0'`, [], 'run'),
  );
  expect((await tryToCreate(api)).status).toBe(201);
  expect((await tryToCreate(api)).status).toBe(409);
});

test('a session can create 100 keys', async () => {
  const account = await service.createUser(password);
  const session = new ApiClient(service.url, await signIn(service, account.email));
  // A session has more than the 10 of a key. The operator creates the others, and createUser has created one.
  for (let count = 0; count < 12; count++) await createKeyWith(session, service);
  await createKeys(account.id, 86);
  expect((await tryToCreate(session)).status).toBe(201);
  const { status, body } = await tryToCreate(session);
  expect([status, body.code, body.detail]).toEqual([409, 'quota_exceeded', 'A user can have at most 100 keys.']);
});

/** Creates keys as the operator does, so that no other key has created them. */
async function createKeys(userId: number, count: number) {
  await service.database.asUser(userId, (em) =>
    em.execute(
      `insert into api_keys (user_id, name, scopes, prefix, key_hash)
       select ?, 'Key ' || n, '{monitors:read}', 'stkp_test', sha256(('key ' || n || ' of ' || ?)::bytea) from generate_series(1, ?) n`,
      [userId, userId, count],
      'run',
    ),
  );
}

function tryToCreate(api: ApiClient) {
  return api.post('/api/keys', { json: { name: 'More', scopes: ['monitors:read'] } });
}

const scopes = ['monitors:read'];
const nameMessage = 'must contain a character other than spaces, and no control characters';
const invalidTime = 'must be a date and time, such as 2099-12-31T00:00:00Z, before the year 10000';

test.each([
  ['no name', { scopes }, '/name', 'required', 'is required'],
  ['an empty name', { name: '', scopes }, '/name', 'min_length', 'must have at least 1 character'],
  ['a name of 101 characters', { name: 'x'.repeat(101), scopes }, '/name', 'max_length', 'must have at most 100 characters'],
  ['a line break in the name', { name: 'a\nb', scopes }, '/name', 'pattern', nameMessage],
  ['a name of spaces', { name: ' \u00a0\u3000', scopes }, '/name', 'pattern', nameMessage],
  ['no scopes', { name: 'a' }, '/scopes', 'required', 'is required'],
  ['an empty list of scopes', { name: 'a', scopes: [] }, '/scopes', 'min_items', 'must have at least 1 item'],
  [
    'an unknown scope',
    { name: 'a', scopes: ['monitors:all'] },
    '/scopes/0',
    'enum',
    expect.stringMatching(/^must be one of monitors:read, /),
  ],
  [
    'a repeated scope',
    { name: 'a', scopes: [...scopes, ...scopes] },
    '/scopes',
    'repeated',
    'must not contain duplicates, but has the same item at the indexes 0 and 1',
  ],
  ['scopes that are not a list', { name: 'a', scopes: 'monitors:read' }, '/scopes', 'type', 'must be an array'],
  [
    'an expiry in the past',
    { name: 'a', scopes, expires_at: '2020-01-01T00:00:00Z' },
    '/expires_at',
    'not_in_future',
    'must be in the future',
  ],
  [
    'an expiry in a year of five digits',
    { name: 'a', scopes, expires_at: '9999-12-31T23:59:59-12:00' },
    '/expires_at',
    'invalid_time',
    invalidTime,
  ],
  ['an expiry at a leap second', { name: 'a', scopes, expires_at: '9998-12-31T23:59:60Z' }, '/expires_at', 'invalid_time', invalidTime],
  [
    'an expiry that is not a time',
    { name: 'a', scopes, expires_at: 'tomorrow' },
    '/expires_at',
    'format',
    'must be a date and time such as 2099-12-31T00:00:00Z',
  ],
  ['an unknown field', { name: 'a', scopes, key: 'stkp_mine' }, '/key', 'unknown_field', 'is not a known field'],
])('returns 422 for %s', async (_, json, pointer, code, message) => {
  const { status, body } = await user.api.post('/api/keys', { json });
  expect([status, body.code]).toEqual([422, 'validation_failed']);
  expect(body.errors).toContainEqual({ in: 'body', pointer, code, message });
});

test('returns 401 without credentials', async () => {
  const { status, body } = await service.anonymous.post('/api/keys', { json: { name: 'a', scopes } });
  expect([status, body.code]).toEqual([401, 'unauthenticated']);
});
