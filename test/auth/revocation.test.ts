import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ApiKeyEntity } from '../../src/accounts/api-key.entity.ts';
import { UserEntity } from '../../src/accounts/user.entity.ts';
import { deleteUser } from '../../src/accounts/users.ts';
import { ApiClient } from '../support/api-client.ts';
import { meanwhile, reopen } from '../support/database.ts';
import { startService, type TestService, type TestUser } from '../support/service.ts';

let one: TestService;
let user: TestUser;
const others: TestService[] = [];

beforeAll(async () => {
  one = await startService();
  user = await one.createUser('a good password');
});
afterAll(async () => {
  for (const other of others) {
    await other.stop();
    if (other.database !== one.database) await other.database.close();
  }
  await one.stop();
});

/** A second process on the same database, as far as the database can tell. */
async function another(cutOff = false): Promise<TestService> {
  const database = await reopen(one.database);
  const listen = database.listen;
  if (cutOff) database.listen = async () => {};
  const service = await startService({}, { database });
  database.listen = listen;
  others.push(service);
  return service;
}

async function makeKey(owner = user): Promise<{ id: number; key: string }> {
  const { body } = await owner.api.post('/api/keys', { json: { name: 'Short-lived', scopes: ['monitors:read'] } });
  return body.data;
}

const status = async (service: TestService, key: string) =>
  (await new ApiClient(service.url, { Authorization: `Bearer ${key}` }).get('/api/monitors')).status;

/** A second on a machine that does not stand still. Without being told, a process would believe a key for 4 seconds. */
const told = { timeout: 3500 };

test('a deleted key is refused within 1 second by every process', async () => {
  const two = await another();
  const { id, key } = await makeKey();
  expect([await status(one, key), await status(two, key)]).toEqual([200, 200]);
  await user.api.delete(`/api/keys/${id}`);
  expect(await status(one, key)).toBe(401);
  await expect.poll(() => status(two, key), told).toBe(401);
});

test('a deleted key is refused within 5 seconds by a process that hears nothing', async () => {
  const deaf = await another(true);
  const { id, key } = await makeKey();
  expect(await status(deaf, key)).toBe(200);
  await user.api.delete(`/api/keys/${id}`);
  await pause(4500);
  expect(await status(deaf, key)).toBe(401);
});

test('an ended session is refused within 1 second by every process', async () => {
  const two = await another();
  const signedIn = await one.stranger.post('/api/session', { json: { email: user.email, password: 'a good password' } });
  const cookie = { Cookie: signedIn.headers.get('Set-Cookie')?.split(';')[0] ?? '' };
  const [here, there] = [new ApiClient(one.url, cookie), new ApiClient(two.url, cookie)];
  expect([(await here.get('/api/session')).status, (await there.get('/api/session')).status]).toEqual([200, 200]);
  await here.delete('/api/session');
  await expect.poll(async () => (await there.get('/api/session')).status, told).toBe(401);
});

test('a deleted user is refused within 1 second by every process: key, session and password', async () => {
  const two = await another();
  const leaving = await one.createUser('a good password');
  const signIn = () => two.stranger.post('/api/session', { json: { email: leaving.email, password: 'a good password' } });
  const cookie = { Cookie: (await signIn()).headers.get('Set-Cookie')?.split(';')[0] ?? '' };
  const { key } = await makeKey(leaving);
  const statuses = async () => [await status(two, key), (await new ApiClient(two.url, cookie).get('/api/session')).status];
  expect(await statuses()).toEqual([200, 200]);
  await deleteUser(one.database, leaving.id);
  expect((await signIn()).status).toBe(401);
  await expect.poll(statuses, told).toEqual([401, 401]);
});

test('a busy key costs no look-up at every request', async () => {
  const { key } = await makeKey();
  await status(one, key);
  let lookUps = 0;
  const { asAuthenticator } = one.database;
  one.database.asAuthenticator = (work) => {
    lookUps++;
    return asAuthenticator.call(one.database, work) as never;
  };
  for (let call = 0; call < 20; call++) await status(one, key);
  one.database.asAuthenticator = asAuthenticator;
  expect(lookUps).toBeLessThanOrEqual(1);
});

describe.runIf(process.env.TEST_DATABASE_URL)('on PostgreSQL, where requests run side by side', () => {
  test.each([
    ['POST /api/v1/websites', (api: ApiClient) => api.post('/api/v1/websites', { form: { domain: 'example.com' } })],
    ['POST /api/monitors', (api: ApiClient) => api.post('/api/monitors', { json: { friendly_name: 'M', url: 'https://example.com/' } })],
    ['POST /api/keys', (api: ApiClient) => api.post('/api/keys', { json: { name: 'K', scopes: ['monitors:read'] } })],
  ])('a user who is deleted while %s runs hears that the key does not work', async (_, send) => {
    const gone = await one.createUser();
    const { status, body } = await meanwhile(
      one.database,
      gone.id,
      (em) => em.nativeDelete(UserEntity, { id: gone.id }),
      () => send(gone.api),
    );
    expect([status, body.code]).toEqual([401, 'invalid_key']);
  });

  test('a key that is deleted while it makes another makes none', async () => {
    const { body } = await user.api.post('/api/keys', { json: { name: 'Maker', scopes: ['monitors:write'] } });
    const api = new ApiClient(one.url, { Authorization: `Bearer ${body.data.key}` });
    const answer = await meanwhile(
      one.database,
      user.id,
      (em) => em.nativeDelete(ApiKeyEntity, { id: body.data.id }),
      () => api.post('/api/keys', { json: { name: 'Made', scopes: ['monitors:write'] } }),
    );
    expect([answer.status, answer.body.code]).toEqual([401, 'invalid_key']);
  });
});
