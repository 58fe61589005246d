import { afterAll, beforeAll, expect, test } from 'vitest';
import { runIdempotent } from '../../src/db/idempotency.ts';
import { holdRequest } from '../support/held-request.ts';
import { startService, type TestService, type TestUser } from '../support/service.ts';
import { sql } from '../support/statement.ts';
import { createMonitor, createProvider } from '../support/valid-requests.ts';
import { countTransactions } from './transaction-count.ts';

let service: TestService;
let user: TestUser;

beforeAll(async () => {
  service = await startService();
  user = await service.createUser();
});
afterAll(() => service.stop());

const secretKey = Buffer.alloc(32, 1);
const create = (domain: string, key: string, api = user.api) =>
  api.post('/api/v1/websites', { form: { domain }, headers: { 'Idempotency-Key': key } });

test('returns the first response again for the same key and body, and creates nothing', async () => {
  const first = await create('once.example', 'k-1');
  const again = await create('once.example', 'k-1');
  expect([again.status, again.text]).toEqual([201, first.text]);
  expect([first, again].map(({ headers }) => headers.get('Idempotent-Replayed'))).toEqual([null, 'true']);
  for (const header of ['Location', 'ETag']) expect(again.headers.get(header)).toBe(first.headers.get(header));
  expect((await user.api.get('/api/v1/websites?search=once.example')).body.meta.total).toBe(1);
});

test('quotes around the key are not part of it', async () => {
  const first = await create('quoted.example', '"k-2"');
  expect((await create('quoted.example', 'k-2')).text).toBe(first.text);
});

test('returns 422 for the same key with another body, and creates nothing', async () => {
  await create('first.example', 'k-3');
  const { status, body } = await create('second.example', 'k-3');
  expect([status, body.code, body.title]).toEqual([422, 'idempotency_key_reused', 'Idempotency-Key already used']);
  expect(body.errors).toEqual([
    { in: 'header', name: 'Idempotency-Key', code: 'reused', message: 'was already used with a different request' },
  ]);
  expect(body.detail).toBe('This Idempotency-Key was already used with a different request. Use a new key.');
  expect((await user.api.get('/api/v1/websites?search=second.example')).body.meta.total).toBe(0);
});

test('keys are separate for each user, method and path', async () => {
  const other = await service.createUser();
  await create('mine.example', 'k-4');
  expect((await create('theirs.example', 'k-4', other.api)).status).toBe(201);
  const key = await user.api.post('/api/keys', { json: { name: 'a', scopes: ['monitors:read'] }, headers: { 'Idempotency-Key': 'k-4' } });
  expect(key.status).toBe(201);
  const provider_id = await createProvider({ service, user });
  for (const monitor of [await createMonitor({ service, user }), await createMonitor({ service, user })]) {
    const assign = () =>
      user.api.post(`/api/monitors/${monitor}/notifications`, { json: { provider_id }, headers: { 'Idempotency-Key': 'k-4' } });
    const [first, again] = [await assign(), await assign()];
    expect([first.status, first.body.data.monitor_id, first.headers.get('Idempotent-Replayed')]).toEqual([201, monitor, null]);
    expect([again.status, again.text, again.headers.get('Idempotent-Replayed')]).toEqual([201, first.text, 'true']);
  }
  const run = (method: string) =>
    runIdempotent<object>(service.database, { userId: user.id, method, path: '/same', key: 'k-4', content: '' }, [secretKey], async () => ({
      method,
    }));
  expect([await run('POST'), await run('PUT')]).toEqual([{ method: 'POST' }, { method: 'PUT' }]);
});

test('a response that was stored with an older secret key is replayed', async () => {
  const request = { userId: user.id, method: 'POST', path: '/test', key: 'k-rotated', content: '{}' };
  await runIdempotent<object>(service.database, request, [secretKey], async () => ({ n: 1 }));
  const again = runIdempotent<object>(service.database, request, [Buffer.alloc(32, 2), secretKey], () =>
    Promise.reject(new Error('ran twice')),
  );
  expect(await again).toEqual({ n: 1, replayed: true });
});

test('a response that was stored with an unknown secret key is not replayed, because its hash cannot be compared', async () => {
  const request = { userId: user.id, method: 'POST', path: '/test', key: 'k-unknown', content: '{}' };
  const run = (secret: Buffer) => runIdempotent<object>(service.database, request, [secret], async () => ({ n: 1 }));
  await run(secretKey);
  await expect(run(Buffer.alloc(32, 2))).rejects.toMatchObject({ code: 'idempotency_key_reused' });
});

test('does not store a rejection: the repeated request runs again', async () => {
  await create('taken.example', 'k-5a');
  expect((await create('taken.example', 'k-5b')).status).toBe(409);
  const { body } = await user.api.get('/api/v1/websites?search=taken.example');
  await service.database.asUser(user.id, (em) => em.execute('delete from websites where id = ?', [body.data[0].id], 'run'));
  expect((await create('taken.example', 'k-5b')).status).toBe(201);
});

test('twenty concurrent requests create one row; each returns its response, or 409 while the first is in progress', async () => {
  const responses = await Promise.all(Array.from({ length: 20 }, () => create('rush.example', 'k-6')));
  const created = responses.filter(({ status }) => status === 201);
  expect(new Set(created.map(({ text }) => text)).size).toBe(1);
  for (const { status, body } of responses) if (status !== 201) expect([status, body.code]).toEqual([409, 'request_in_progress']);
  expect((await user.api.get('/api/v1/websites?search=rush.example')).body.meta.total).toBe(1);
});

const hold = (key: string) => holdRequest(service.database, user.id, `POST /api/v1/websites ${key}`);

test.runIf(process.env.TEST_DATABASE_URL)('returns 409 while the first request is in progress', async () => {
  const release = await hold('k-7');
  const { status, body } = await create('running.example', 'k-7');
  expect([status, body.code]).toEqual([409, 'request_in_progress']);
  expect(body.detail).toBe('A request with this Idempotency-Key is still in progress. Retry in a few seconds.');
  await release();
});

test.runIf(process.env.TEST_DATABASE_URL)('does not wait for a request of another user or path with the same key', async () => {
  const other = await service.createUser();
  const finish = Promise.withResolvers<void>();
  const begin = (userId: number, path: string) => {
    const begun = Promise.withResolvers<void>();
    const request = { userId, method: 'POST', path, key: 'k-other', content: '' };
    const ended = runIdempotent<object>(service.database, request, [secretKey], async (db) => {
      await db.query(sql('select 1'));
      begun.resolve();
      await finish.promise;
      return {};
    });
    return { begun: Promise.race([begun.promise, ended]), ended };
  };
  const others = [begin(other.id, '/api/v1/websites'), begin(user.id, '/test')];
  await Promise.all(others.map(({ begun }) => begun));
  const { status } = await create('free.example', 'k-other');
  finish.resolve();
  await Promise.all(others.map(({ ended }) => ended));
  expect(status).toBe(201);
});

test.skipIf(process.env.TEST_DATABASE_URL)(
  'on the embedded database, which runs one transaction at a time, the second request waits',
  async () => {
    const release = await hold('k-7');
    const waiting = create('running.example', 'k-7');
    await release();
    expect((await waiting).status).toBe(201);
  },
);

test('returns 409 with the id for a repeated creation of a key, and stores the key nowhere', async () => {
  const post = () =>
    user.api.post('/api/keys', { json: { name: 'Once', scopes: ['monitors:read'] }, headers: { 'Idempotency-Key': 'k-8' } });
  const first = await post();
  const again = await post();
  const { id, key } = first.body.data;
  expect([again.status, again.body.code, again.body.title, again.body.id]).toEqual([409, 'already_created', 'Already created', id]);
  expect(again.body.detail).toBe(
    `An earlier request with this Idempotency-Key created API key ${id}, which cannot be shown again. If you did not save it, delete it and create another.`,
  );
  const stored = await service.database.asUser(user.id, (em) =>
    em.execute('select row_to_json(k)::text as row from idempotent_responses k'),
  );
  expect(JSON.stringify(stored)).not.toContain(key);
});

test('stores only a keyed hash of the request', async () => {
  await user.api.post('/api/v1/websites', {
    form: { domain: 'hashed.example', privacy: '2', password: 'hunter2hunter2' },
    headers: { 'Idempotency-Key': 'k-9' },
  });
  const stored = await service.database.asUser(user.id, (em) =>
    em.execute(`select row_to_json(k)::text as row from idempotent_responses k where idempotency_key = 'k-9'`),
  );
  expect(JSON.stringify(stored)).not.toContain('hunter2');
  expect((await create('hashed.example', 'k-9')).status).toBe(422);
});

test('a result of up to 8 KiB is replayed; of a larger one only the id is stored', async () => {
  const created = { name: 'website', id: 7 };
  const run = (bytes: number) => {
    const request = { userId: user.id, method: 'POST', path: '/test', key: `k-${bytes}`, content: '{}' };
    const rest = JSON.stringify({ result: { text: '', created } }).length;
    const result = { text: 'ü'.repeat((bytes - rest) / 2) + 'x'.repeat((bytes - rest) % 2), created };
    return runIdempotent<typeof result & { replayed?: true }>(service.database, request, [Buffer.alloc(32, 1)], async () => result);
  };
  const first = await run(8192);
  expect(await run(8192)).toEqual({ ...first, replayed: true });
  await run(8193);
  await expect(run(8193)).rejects.toMatchObject({ code: 'already_created', id: 7 });
  const [row] = await service.database.asUser(user.id, (em) =>
    em.execute(`select response from idempotent_responses where idempotency_key = 'k-8193'`),
  );
  expect(row).toEqual({ response: { reference: created, containsSecret: false } });
});

test('returns 429 with Retry-After if 10,000 responses are stored for the user, until the oldest expires', async () => {
  const { id, api } = await service.createUser();
  const store = (count: number, age: string) =>
    service.database.asUser(id, (em) =>
      em.execute(
        `insert into idempotent_responses (user_id, operation, idempotency_key, request_hash, response, created_at)
         select ?, 'POST /test', gen_random_uuid()::text, '\\x00', '{}', now() - ?::interval from generate_series(1, ?)`,
        [id, age, count],
        'run',
      ),
    );
  await store(1, '23 hours 30 minutes');
  await store(9998, '1 hour');
  await store(100, '25 hours'); // These have expired and do not count.
  expect((await create('full-1.example', 'k-full-1', api)).status).toBe(201);
  const { status, headers, body } = await create('full-2.example', 'k-full-2', api);
  expect([status, body.code]).toEqual([429, 'rate_limited']);
  const seconds = Number(headers.get('Retry-After'));
  expect(body.detail).toBe(
    `A user can send at most 10000 requests with an Idempotency-Key in 24 hours. Retry in ${seconds} seconds, or without the header.`,
  );
  expect(seconds).toBeGreaterThan(25 * 60);
  expect(seconds).toBeLessThanOrEqual(30 * 60);
  expect((await api.get('/api/v1/websites?search=full-2')).body.meta.total).toBe(0);
  // A stored response is still replayed, and requests without the header and other users are not affected.
  expect((await create('full-1.example', 'k-full-1', api)).headers.get('Idempotent-Replayed')).toBe('true');
  expect((await api.post('/api/v1/websites', { form: { domain: 'full-2.example' } })).status).toBe(201);
  expect((await create('not-full.example', 'k-full-2')).status).toBe(201);
});

test('no transaction is open before the work uses the database, so that hashing a password holds no connection', async () => {
  const counted = countTransactions(service.database);
  const request = { userId: user.id, method: 'POST', path: '/test', key: 'k-lazy', content: '{}' };
  const secretKeys = [Buffer.alloc(32, 1)];
  const result = await runIdempotent<object>(counted.database, request, secretKeys, async (db) => {
    const before = counted.open();
    await db.query(sql('select 1'));
    return { before, after: counted.open() };
  });
  expect([result, counted.open()]).toEqual([{ before: 0, after: 1 }, 0]);

  // A request that is rejected before it uses the database needs no transaction at all.
  const begun = counted.begun();
  const rejected = runIdempotent(counted.database, { ...request, key: 'k-rejected' }, secretKeys, async () => {
    throw new Error('rejected');
  });
  await expect(rejected).rejects.toThrow('rejected');
  expect(counted.begun()).toBe(begun);

  // A replay neither runs the work nor begins a transaction.
  const replayed = await runIdempotent<object>(counted.database, request, secretKeys, () => Promise.reject(new Error('ran twice')));
  expect([replayed, counted.begun()]).toEqual([{ before: 0, after: 1, replayed: true }, begun]);
});

test('the result is stored only if everything that the work writes is committed', async () => {
  const request = { userId: user.id, method: 'POST', path: '/test', key: 'k-atomic', content: '{}' };
  const insert = sql('insert into websites (user_id, domain) values ($1, $2)', [user.id, 'atomic.example']);
  const failing = runIdempotent(service.database, request, [Buffer.alloc(32, 1)], async (db) => {
    await db.query(insert);
    throw new Error('failed later');
  });
  await expect(failing).rejects.toThrow('failed later');
  expect((await user.api.get('/api/v1/websites?search=atomic')).body.meta.total).toBe(0);
  const result = await runIdempotent<object>(service.database, request, [Buffer.alloc(32, 1)], async (db) => {
    await db.query(insert);
    return { done: true };
  });
  expect(result).toEqual({ done: true });
  expect((await user.api.get('/api/v1/websites?search=atomic')).body.meta.total).toBe(1);
});

test('after 24 hours the key can be used again, and the stored response is deleted', async () => {
  await create('old.example', 'k-10');
  await service.database.asUser(user.id, (em) =>
    em.execute(`update idempotent_responses set created_at = now() - interval '25 hours'`, [], 'run'),
  );
  expect((await create('new.example', 'k-10')).status).toBe(201);
  await service.database.asAuthenticator((em) => em.execute('select auth_delete_expired(10000)', [], 'run'));
  const stored = await service.database.asUser(user.id, (em) =>
    em.execute<{ idempotency_key: string }[]>('select idempotency_key from idempotent_responses'),
  );
  expect(stored.map((row) => row.idempotency_key)).toEqual(['k-10']);
});

test('after 24 hours the key belongs to the new request: its repetition returns the new response', async () => {
  await create('yesterday.example', 'k-11');
  await service.database.asUser(user.id, (em) =>
    em.execute(`update idempotent_responses set created_at = now() - interval '25 hours' where idempotency_key = 'k-11'`, [], 'run'),
  );
  const first = await create('today.example', 'k-11');
  const again = await create('today.example', 'k-11');
  expect([first.status, first.headers.get('Idempotent-Replayed')]).toEqual([201, null]);
  expect([again.status, again.headers.get('Idempotent-Replayed'), again.text]).toEqual([201, 'true', first.text]);
  expect((await create('yesterday.example', 'k-11')).body.code).toBe('idempotency_key_reused');
});

test.each([
  ['is empty', '""'],
  ['has 256 characters', 'x'.repeat(256)],
  ['has 256 characters in quotes', `"${'x'.repeat(256)}"`],
])('returns 422 for a key that %s', async (_, key) => {
  const { status, body } = await create('bad.example', key);
  expect(status).toBe(422);
  expect(body.errors).toEqual([{ in: 'header', name: 'Idempotency-Key', code: 'length', message: 'must have 1 to 255 characters' }]);
});

test('accepts a key of 255 characters in quotes', async () => {
  expect((await create('long.example', `"${'x'.repeat(255)}"`)).status).toBe(201);
});
