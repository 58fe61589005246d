import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { ApiKeyEntity } from '../../src/accounts/api-key.entity.ts';
import { UserEntity } from '../../src/accounts/user.entity.ts';
import { deleteUser } from '../../src/accounts/users.ts';
import { Deployment } from '../faults/support/deployment.ts';
import { startProxy } from '../faults/support/proxy.ts';
import { ApiClient } from '../support/api-client.ts';
import { reopen, sendDuringTransaction, urlOf } from '../support/database.ts';
import { startService, type TestService, type TestUser } from '../support/service.ts';
import { type Elapsed, expectWithin, startStopwatch } from '../support/stall.ts';
import { startTestClock } from '../support/test-clock.ts';
import { password, signIn } from '../support/valid-requests.ts';

let first: TestService;
let user: TestUser;
const others: TestService[] = [];

beforeAll(async () => {
  first = await startService();
  user = await first.createUser(password);
});
afterAll(async () => {
  for (const other of others) {
    await other.stop();
    if (other.database !== first.database) await other.database.close();
  }
  await first.stop();
});

/** Starts a second service on the same database, which the database cannot tell from a second process. */
async function startAnother({ receivesNotifications = true } = {}): Promise<TestService> {
  const database = await reopen(first.database);
  const { listen } = database;
  if (!receivesNotifications) database.listen = async () => {};
  const service = await startService({}, { database });
  database.listen = listen;
  others.push(service);
  return service;
}

async function createKey(owner = user): Promise<{ id: number; key: string }> {
  const { body } = await owner.api.post('/api/keys', { json: { name: 'Short-lived', scopes: ['monitors:read'] } });
  return body.data;
}

const statusWith = async ({ url }: { url: string }, key: string) =>
  (await new ApiClient(url, { Authorization: `Bearer ${key}` }).get('/api/monitors')).status;

/** Waits until requests are rejected. A request that was sent in time counts, however long its response takes. */
async function timeUntilRejected(statuses: () => Promise<number[]>): Promise<Elapsed> {
  const elapsed = startStopwatch();
  for (;;) {
    const sentAfter = elapsed();
    if ((await statuses()).every((status) => status === 401)) return sentAfter;
    if (sentAfter.ms > 30_000) throw new Error('The requests are still accepted.');
    await delay(20);
  }
}

test('every process rejects a deleted key within 1 second', async () => {
  const second = await startAnother();
  const { id, key } = await createKey();
  expect([await statusWith(first, key), await statusWith(second, key)]).toEqual([200, 200]);
  await user.api.delete(`/api/keys/${id}`);
  expectWithin(1, await timeUntilRejected(async () => [await statusWith(second, key)]));
  expect(await statusWith(first, key)).toBe(401);
});

test('a process that gets no notifications rejects a deleted key within 5 seconds', async () => {
  const isolated = await startAnother({ receivesNotifications: false });
  const { id, key } = await createKey();
  const clock = startTestClock();
  onTestFinished(() => clock.stop());
  expect(await statusWith(isolated, key)).toBe(200);
  await user.api.delete(`/api/keys/${id}`);
  clock.advance(4500);
  expect(await statusWith(isolated, key)).toBe(401);
});

test('the process that deletes a key, ends a session or changes a password drops its cache without a notification', async () => {
  const isolated = await startAnother({ receivesNotifications: false });
  const owner = await isolated.createUser(password);
  const { id, key } = await createKey(owner);
  const [ended, replaced] = [await signIn(isolated, owner.email), await signIn(isolated, owner.email)];
  const sessionStatus = async (headers: Record<string, string>) => (await isolated.anonymous.get('/api/session', { headers })).status;
  expect([await statusWith(isolated, key), await sessionStatus(ended), await sessionStatus(replaced)]).toEqual([200, 200, 200]);
  await owner.api.delete(`/api/keys/${id}`);
  expect(await statusWith(isolated, key)).toBe(401);
  await isolated.anonymous.delete('/api/session', { headers: ended });
  expect([await sessionStatus(ended), await sessionStatus(replaced)]).toEqual([401, 200]);
  const changed = await isolated.anonymous.put('/api/session/password', {
    json: { current: password, new: 'another password' },
    headers: replaced,
  });
  expect([changed.status, await sessionStatus(replaced)]).toEqual([200, 401]);
});

test('every process rejects an ended session within 1 second', async () => {
  const second = await startAnother();
  const headers = await signIn(first, user.email);
  const statusOn = async ({ anonymous }: TestService) => (await anonymous.get('/api/session', { headers })).status;
  expect([await statusOn(first), await statusOn(second)]).toEqual([200, 200]);
  await first.anonymous.delete('/api/session', { headers });
  expectWithin(1, await timeUntilRejected(async () => [await statusOn(first), await statusOn(second)]));
});

test('every process rejects a deleted user within 1 second: key, session and password', async () => {
  const second = await startAnother();
  const deleted = await first.createUser(password);
  const headers = await signIn(second, deleted.email);
  const { key } = await createKey(deleted);
  const statusesOn = async (process: TestService) => [
    await statusWith(process, key),
    (await process.anonymous.get('/api/session', { headers })).status,
  ];
  const statuses = async () => [...(await statusesOn(first)), ...(await statusesOn(second))];
  expect(await statuses()).toEqual([200, 200, 200, 200]);
  await deleteUser(first.database, deleted.id);
  expectWithin(1, await timeUntilRejected(statuses));
  expect((await second.anonymous.post('/api/session', { json: { email: deleted.email, password } })).status).toBe(401);
});

test('a session that a process still has cached is rejected if its user was deleted', async () => {
  const isolated = await startAnother({ receivesNotifications: false });
  const deleted = await first.createUser(password);
  const headers = await signIn(isolated, deleted.email);
  const show = () => isolated.anonymous.get('/api/session', { headers });
  expect((await show()).status).toBe(200);
  await deleteUser(first.database, deleted.id);
  const shown = await show();
  const changed = await isolated.anonymous.put('/api/session/password', { json: { current: password, new: 'another password' }, headers });
  expect([shown, changed].map(({ status, body }) => [status, body.code])).toEqual([
    [401, 'invalid_session'],
    [401, 'invalid_session'],
  ]);
});

test('a busy key is not looked up at every request', async () => {
  const { key } = await createKey();
  let lookups = 0;
  const { query } = first.database;
  // Only the authenticator queries without a user.
  first.database.query = (userId) => {
    if (userId === undefined) lookups++;
    return query.call(first.database, userId);
  };
  await statusWith(first, key);
  expect(lookups).toBe(1);
  for (let call = 0; call < 20; call++) await statusWith(first, key);
  first.database.query = query;
  expect(lookups).toBeLessThanOrEqual(2); // The cache may expire meanwhile.
});

test('a busy key does not wait for the database when its cache expires', async () => {
  const clock = startTestClock();
  onTestFinished(() => clock.stop());
  const { key } = await createKey();
  expect(await statusWith(first, key)).toBe(200);
  clock.advance(2200);
  expect(await statusWith(first, key)).toBe(200); // It is renewed in the background.
  const { key: later } = await createKey();
  expect(await statusWith(first, later)).toBe(200); // This lookup ends after that.
  clock.advance(2200);
  const { query } = first.database;
  first.database.query = (userId) =>
    userId === undefined ? () => Promise.reject(new Error('The lookup fails.')) : query.call(first.database, userId);
  const status = await statusWith(first, key);
  first.database.query = query;
  expect(status).toBe(200);
});

// The embedded database belongs to one process and runs one transaction at a time.
describe.runIf(process.env.TEST_DATABASE_URL)('on PostgreSQL', () => {
  test('separate processes reject a deleted key within 1 second, and within 5 seconds if their notifications are lost', {
    timeout: 120_000,
  }, async () => {
    const proxy = await startProxy(urlOf(first.database));
    const deployment = await Deployment.create({ DATABASE_URL: urlOf(first.database) });
    try {
      const serve = (settings = {}) => deployment.serve(settings, ['serve', '--no-engine']);
      const [second, third, isolated] = await Promise.all([serve(), serve(), serve({ DATABASE_URL: proxy.url })]);
      // The connection that receives notifications stays open, but nothing arrives on it any more.
      proxy.silence(/sitekeeper listener/);
      const { id, key } = await createKey();
      const processes = [first, second, third, isolated];
      expect(await Promise.all(processes.map((process) => statusWith(process, key)))).toEqual([200, 200, 200, 200]);
      await user.api.delete(`/api/keys/${id}`);
      const times = await Promise.all(processes.map((process) => timeUntilRejected(async () => [await statusWith(process, key)])));
      for (const [index, elapsed] of times.entries()) expectWithin(processes[index] === isolated ? 5 : 1, elapsed);
    } finally {
      await deployment.remove();
      await proxy.close();
    }
  });

  test.each([
    ['POST /api/v1/websites', (api: ApiClient) => api.post('/api/v1/websites', { form: { domain: 'example.com' } })],
    ['POST /api/monitors', (api: ApiClient) => api.post('/api/monitors', { json: { friendly_name: 'M', url: 'https://example.com/' } })],
    ['POST /api/keys', (api: ApiClient) => api.post('/api/keys', { json: { name: 'K', scopes: ['monitors:read'] } })],
  ])('returns 401 if the user is deleted while %s runs', async (_, send) => {
    const deleted = await first.createUser();
    const { status, body } = await sendDuringTransaction(
      first.database,
      deleted.id,
      (em) => em.nativeDelete(UserEntity, { id: deleted.id }),
      () => send(deleted.api),
    );
    expect([status, body.code]).toEqual([401, 'invalid_key']);
  });

  test('returns 401 if a key is deleted while it creates another', async () => {
    const { body: created } = await user.api.post('/api/keys', { json: { name: 'Creator', scopes: ['monitors:write'] } });
    const api = new ApiClient(first.url, { Authorization: `Bearer ${created.data.key}` });
    const { status, body } = await sendDuringTransaction(
      first.database,
      user.id,
      (em) => em.nativeDelete(ApiKeyEntity, { id: created.data.id }),
      () => api.post('/api/keys', { json: { name: 'Child', scopes: ['monitors:write'] } }),
    );
    expect([status, body.code]).toEqual([401, 'invalid_key']);
    const names = (await user.api.get('/api/keys')).body.data.map(({ name }: { name: string }) => name);
    expect(names).not.toContain('Child');
  });
});
