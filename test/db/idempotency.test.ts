import { afterAll, beforeAll, expect, test } from 'vitest';
import { startService, type TestService, type TestUser } from '../support/service.ts';

let service: TestService;
let user: TestUser;

beforeAll(async () => {
  service = await startService();
  user = await service.createUser();
});
afterAll(() => service.stop());

const create = (domain: string, key: string, api = user.api) =>
  api.post('/api/v1/websites', { form: { domain }, headers: { 'Idempotency-Key': key } });

test('returns the first response again for the same key and body, and creates nothing', async () => {
  const first = await create('once.example', 'k-1');
  const again = await create('once.example', 'k-1');
  expect([again.status, again.text]).toEqual([201, first.text]);
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

test('keys are separate for each user and each operation', async () => {
  const other = await service.createUser();
  await create('mine.example', 'k-4');
  expect((await create('theirs.example', 'k-4', other.api)).status).toBe(201);
  const key = await user.api.post('/api/keys', { json: { name: 'a', scopes: ['monitors:read'] }, headers: { 'Idempotency-Key': 'k-4' } });
  expect(key.status).toBe(201);
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

/** Takes the lock of a running request in another transaction, until the returned function is called. */
async function holdRequest(key: string): Promise<() => Promise<void>> {
  const [locked, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const transaction = service.database.asUser(user.id, async (em) => {
    await em.execute('select pg_advisory_xact_lock(hashtextextended(?, 0))', [`${user.id} createWebsite ${key}`]);
    locked.resolve();
    await released.promise;
  });
  await locked.promise;
  return () => {
    released.resolve();
    return transaction;
  };
}

test.runIf(process.env.TEST_DATABASE_URL)('returns 409 while the first request is in progress', async () => {
  const release = await holdRequest('k-7');
  const { status, body } = await create('running.example', 'k-7');
  expect([status, body.code]).toEqual([409, 'request_in_progress']);
  expect(body.detail).toBe('A request with this Idempotency-Key is still in progress. Retry in a few seconds.');
  await release();
});

test.skipIf(process.env.TEST_DATABASE_URL)(
  'on the embedded database, which runs one transaction at a time, the second request waits',
  async () => {
    const release = await holdRequest('k-7');
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
  expect([again.status, again.body.code, again.body.id]).toEqual([409, 'already_created', id]);
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

test('after 24 hours the key can be used again, and the stored response is deleted', async () => {
  await create('old.example', 'k-10');
  await service.database.asUser(user.id, (em) =>
    em.execute(`update idempotent_responses set created_at = now() - interval '25 hours'`, [], 'run'),
  );
  expect((await create('new.example', 'k-10')).status).toBe(201);
  await service.database.asAuthenticator((em) => em.execute('select auth_delete_expired()', [], 'run'));
  const stored = await service.database.asUser(user.id, (em) =>
    em.execute<{ idempotency_key: string }[]>('select idempotency_key from idempotent_responses'),
  );
  expect(stored.map((row) => row.idempotency_key)).toEqual(['k-10']);
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
