import { request } from 'node:http';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { createKey } from '../../src/accounts/keys.ts';
import { generateKey, hashKey } from '../../src/auth/api-key.ts';
import { Authenticator } from '../../src/auth/authenticator.ts';
import type { Database } from '../../src/db/database.ts';
import type { NotificationListener } from '../../src/db/listen.ts';
import { ApiClient } from '../support/api-client.ts';
import { startService, type TestService, type TestUser } from '../support/service.ts';
import { startTestClock } from '../support/test-clock.ts';
import { password, signIn } from '../support/valid-requests.ts';

let service: TestService;
let user: TestUser;

beforeAll(async () => {
  service = await startService();
  user = await service.createUser(password);
});
afterAll(() => service.stop());

const withHeaders = (headers: Record<string, string>) => new ApiClient(service.url, headers);
const authorizedBy = (authorization: string) => withHeaders({ Authorization: authorization });

async function storeKey(expiresAt: Date | null = null): Promise<string> {
  const key = generateKey();
  await service.database.asUser(user.id, (em) =>
    createKey(em, { userId: user.id, key, name: 'Test', scopes: ['monitors:read'], expiresAt }),
  );
  return key;
}

const malformed = 'The Authorization header does not contain a well-formed API key.';
const unknown = 'The API key is unknown, expired or revoked.';

test('returns 401 with WWW-Authenticate without credentials', async () => {
  const { status, headers, body } = await service.anonymous.get('/api/monitors');
  expect([status, body.code, headers.get('WWW-Authenticate')]).toEqual([401, 'unauthenticated', 'Bearer']);
  expect(body).toMatchObject({
    title: 'Authentication required',
    detail: 'Send an API key in the header "Authorization: Bearer <API_KEY>", or sign in.',
  });
});

test.each([
  ['another scheme', 'Basic dXNlcjpwYXNz', malformed],
  ['no value', 'Bearer', malformed],
  ['a value that is not a key', 'Bearer secret', malformed],
  ['an unknown key', `Bearer ${generateKey()}`, unknown],
  ['a key with a wrong checksum', 'Bearer stkp_EXAMPLEexampleEXAMPLEexample01234567', malformed],
  ['two keys', `Bearer ${generateKey()} ${generateKey()}`, malformed],
  ['10,000 characters', `Bearer ${'x'.repeat(10_000)}`, malformed],
])('returns 401 for %s', async (_, authorization, detail) => {
  const { status, body } = await authorizedBy(authorization).get('/api/monitors');
  expect([status, body.code, body.detail]).toEqual([401, 'invalid_key', detail]);
});

test('returns 401 for two Authorization headers, even if both contain a valid key', async () => {
  const key = await storeKey();
  // fetch would join the two headers into one.
  const status = await new Promise((resolve, reject) => {
    request(`${service.url}/api/monitors`, { headers: { Authorization: [`Bearer ${key}`, `Bearer ${key}`] as never } })
      .on('response', (response) => resolve(response.statusCode))
      .on('error', reject)
      .end();
  });
  expect(status).toBe(401);
});

test('returns 401 for a key in the query string', async () => {
  const key = await storeKey();
  expect((await service.anonymous.get(`/api/monitors?api_key=${key}&access_token=${key}`)).status).toBe(401);
});

test('returns 401 for a key that has expired', async () => {
  const { body } = await authorizedBy(`Bearer ${await storeKey(new Date(Date.now() - 1000))}`).get('/api/monitors');
  expect([body.code, body.detail]).toEqual(['invalid_key', unknown]);
});

test('rejects a key as soon as it expires, even if it is cached', async () => {
  const expiresAt = Date.now() + 3_600_000;
  const api = authorizedBy(`Bearer ${await storeKey(new Date(expiresAt))}`);
  expect((await api.get('/api/monitors')).status).toBe(200);
  // Only the time of the day of this process moves: the key stays in the cache, and the database would still find it.
  vi.useFakeTimers({ toFake: ['Date'], now: expiresAt - 60_000 });
  onTestFinished(() => void vi.useRealTimers());
  expect((await api.get('/api/monitors')).status).toBe(200);
  vi.setSystemTime(expiresAt);
  expect((await api.get('/api/monitors')).body.code).toBe('invalid_key');
});

test('a session has every scope, on both APIs', async () => {
  const api = withHeaders(await signIn(service, user.email));
  expect((await api.get('/api/monitors')).status).toBe(200);
  expect((await api.get('/api/providers')).status).toBe(200);
  expect((await api.post('/api/v1/websites', { form: { domain: 'mine.example' } })).status).toBe(201);
});

test('returns 401 for an unknown session', async () => {
  const { status, body } = await withHeaders({ Cookie: 'sitekeeper_session=unknown' }).get('/api/monitors');
  expect([status, body.code, body.detail]).toEqual([401, 'invalid_session', 'The session is unknown or has expired. Sign in again.']);
});

test('a key takes precedence over a session, with its own scopes and even if it is invalid', async () => {
  const cookie = await signIn(service, user.email);
  const withBoth = (authorization: string) => withHeaders({ ...cookie, Authorization: authorization });
  expect((await withBoth('Bearer nonsense').get('/api/monitors')).body.code).toBe('invalid_key');
  const { body } = await user.api.post('/api/keys', { json: { name: 'Limited', scopes: ['providers:read'] } });
  expect((await withBoth(`Bearer ${body.data.key}`).get('/api/monitors')).body.code).toBe('missing_scope');
});

describe('the cache', () => {
  /** An authenticator on a database that counts queries, waits or fails if told to, and gets notifications from the test. */
  async function createIsolated() {
    /** The first parameter of each query: the hash that is looked up. */
    const queries: unknown[] = [];
    const warnings: string[] = [];
    let held = Promise.resolve();
    let fails = (_userId?: number) => false;
    let listener: NotificationListener | undefined;
    const database: Database = {
      ...service.database,
      now: () => service.database.now(),
      query: (userId) => {
        const query = service.database.query(userId);
        return async (...statements) => {
          queries.push(statements[0]?.values[0]);
          await held;
          if (fails(userId)) throw new Error('injected');
          return query(...statements);
        };
      },
      listen: async (_, added) => {
        listener = added;
      },
    };
    const log = pino({ level: 'warn' }, { write: (line) => warnings.push(JSON.parse(line).msg) });
    const authenticator = await Authenticator.create(database, log);
    return {
      authenticator,
      authenticate: (key: string) => authenticator.authenticate({ authorization: [`Bearer ${key}`] }, { acceptsKeys: true }),
      queries: () => queries.length,
      /** The position among all queries at which this key was looked up last. */
      positionOf: (key: string) => queries.lastIndexOf(hashKey(key).toString('hex')),
      warnings: () => warnings,
      holdUntil: (released: Promise<void>) => {
        held = released;
      },
      failIf: (condition: (userId?: number) => boolean) => {
        fails = condition;
      },
      notifications: () => listener as NotificationListener,
    };
  }

  /** A new key was used just now, so that its use is not written. */
  async function storeUsedKey(): Promise<string> {
    const key = await storeKey();
    await service.database.asUser(user.id, (em) => em.execute('update api_keys set last_used_at = app_now()', [], 'run'));
    return key;
  }

  test('a busy key and an unknown key cost one query each', async () => {
    const { authenticate, queries } = await createIsolated();
    const [key, other] = [await storeUsedKey(), generateKey()];
    for (let count = 0; count < 3; count++) expect(await authenticate(key)).toMatchObject({ userId: user.id });
    expect(queries()).toBe(1);
    for (let count = 0; count < 3; count++) await expect(authenticate(other)).rejects.toMatchObject({ code: 'invalid_key' });
    expect(queries()).toBe(2);
  });

  test('only the lookup of a key that is not familiar is counted, and prevented if it may not be made', async () => {
    const { authenticator, queries } = await createIsolated();
    const authenticate = (key: string, beforeLookup: () => Promise<void>) =>
      authenticator.authenticate({ authorization: [`Bearer ${key}`] }, { acceptsKeys: true, beforeLookup });
    const reject = () => Promise.reject(new Error('no lookups left'));
    const key = await storeUsedKey();
    await expect(authenticate(key, reject)).rejects.toThrow('no lookups left');
    expect(queries()).toBe(0);
    expect(await authenticate(key, async () => {})).toMatchObject({ userId: user.id });
    authenticator.forgetUser(user.id);
    expect(await authenticate(key, reject)).toMatchObject({ userId: user.id });
    expect(queries()).toBe(2);
  });

  test('a key that was deleted is not familiar any more: its next lookup is counted', async () => {
    const clock = startTestClock();
    onTestFinished(() => clock.stop());
    const { authenticator, authenticate } = await createIsolated();
    const key = await storeUsedKey();
    await authenticate(key);
    await service.database.asUser(user.id, (em) => em.execute('delete from api_keys where key_hash = ?', [hashKey(key)], 'run'));
    authenticator.forgetUser(user.id);
    await expect(authenticate(key)).rejects.toMatchObject({ code: 'invalid_key' });
    // For two seconds, the database is not asked again.
    clock.advance(2500);
    const beforeLookup = () => Promise.reject(new Error('no lookups left'));
    const attempt = authenticator.authenticate({ authorization: [`Bearer ${key}`] }, { acceptsKeys: true, beforeLookup });
    await expect(attempt).rejects.toThrow('no lookups left');
  });

  test('a malformed key costs no query', async () => {
    const { authenticate, queries } = await createIsolated();
    await expect(authenticate('stkp_EXAMPLEexampleEXAMPLEexample01234567')).rejects.toMatchObject({ code: 'invalid_key' });
    expect(queries()).toBe(0);
  });

  test('a key is dropped at once when a notification says that it was revoked', async () => {
    const { authenticate, notifications } = await createIsolated();
    const key = await storeUsedKey();
    await authenticate(key);
    notifications().onNotification(hashKey(key).toString('hex'));
    await expect(authenticate(key)).rejects.toMatchObject({ code: 'invalid_key' });
  });

  test('a lookup that was running when its key was revoked does not bring it back', async () => {
    const { authenticate, holdUntil, notifications } = await createIsolated();
    const key = await storeUsedKey();
    const released = Promise.withResolvers<void>();
    holdUntil(released.promise);
    const attempts = [authenticate(key), authenticate(key)];
    notifications().onNotification(hashKey(key).toString('hex'));
    released.resolve();
    for (const attempt of attempts) await expect(attempt).rejects.toMatchObject({ code: 'invalid_key' });
  });

  test('concurrent requests with one key share one lookup', async () => {
    const { authenticate, queries, holdUntil } = await createIsolated();
    const key = await storeUsedKey();
    const released = Promise.withResolvers<void>();
    holdUntil(released.promise);
    const attempts = [1, 2, 3].map(() => authenticate(key));
    released.resolve();
    for (const caller of await Promise.all(attempts)) expect(caller).toMatchObject({ userId: user.id });
    expect(queries()).toBe(1);
  });

  test('a familiar key does not wait until all invented keys that came before it are looked up', async () => {
    const { authenticator, authenticate, queries, positionOf, holdUntil } = await createIsolated();
    const key = await storeUsedKey();
    await authenticate(key);
    authenticator.forgetUser(user.id);
    const released = Promise.withResolvers<void>();
    holdUntil(released.promise);
    const invented = Array.from({ length: 20 }, () => generateKey());
    const flood = Promise.allSettled(invented.map(authenticate));
    await expect.poll(queries).toBe(1 + 4); // The others wait for one of the four slots.
    const familiar = authenticate(key);
    released.resolve();
    expect(await familiar).toMatchObject({ userId: user.id });
    await flood;
    // It may be the second one that gets a slot, but not the last one.
    expect([queries(), positionOf(key)]).toEqual([1 + 20 + 1, expect.toSatisfy((position) => position >= 5 && position <= 6)]);
  });

  test('a request succeeds although its time cannot be written as the last use of the key, and that is logged', async () => {
    const { authenticate, failIf, warnings } = await createIsolated();
    failIf((userId) => userId !== undefined); // Keys are looked up without a user.
    expect(await authenticate(await storeKey())).toMatchObject({ userId: user.id });
    await expect.poll(warnings, { timeout: 10_000 }).toEqual(['Updating last_used_at of a key or session failed']);
  });

  test('a request succeeds although the renewal of its cached key fails, and that is logged', async () => {
    const clock = startTestClock();
    onTestFinished(() => clock.stop());
    const { authenticate, failIf, warnings } = await createIsolated();
    const key = await storeUsedKey();
    await authenticate(key);
    clock.advance(2500);
    failIf(() => true);
    expect(await authenticate(key)).toMatchObject({ userId: user.id });
    await expect.poll(warnings, { timeout: 10_000 }).toEqual(['Renewing a cached key or session failed; it is looked up again']);
  });

  test('keys are looked up again after the connection for notifications was lost', async () => {
    const { authenticate, queries, notifications } = await createIsolated();
    const key = await storeUsedKey();
    await authenticate(key);
    notifications().onReconnect();
    await authenticate(key);
    expect(queries()).toBe(2);
  });

  test('a key that was tried before it existed works a few seconds later', async () => {
    const { authenticate } = await createIsolated();
    const key = generateKey();
    await expect(authenticate(key)).rejects.toMatchObject({ code: 'invalid_key' });
    await service.database.asUser(user.id, (em) => createKey(em, { userId: user.id, key, name: 'Test', scopes: ['monitors:read'] }));
    const works = () =>
      authenticate(key).then(
        () => true,
        () => false,
      );
    await expect.poll(works, { timeout: 10_000 }).toBe(true);
  });
});
