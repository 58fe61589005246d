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

test('the same key and body get the first answer again, byte for byte, and create nothing', async () => {
  const first = await create('once.example', 'k-1');
  const again = await create('once.example', 'k-1');
  expect([again.status, again.text]).toEqual([201, first.text]);
  for (const header of ['Location', 'ETag']) expect(again.headers.get(header)).toBe(first.headers.get(header));
  expect((await user.api.get('/api/v1/websites?search=once.example')).body.meta.total).toBe(1);
});

test('quotation marks around the key are not part of it', async () => {
  const first = await create('quoted.example', '"k-2"');
  expect((await create('quoted.example', 'k-2')).text).toBe(first.text);
});

test('the same key with another body is 422, and creates nothing', async () => {
  await create('first.example', 'k-3');
  const { status, body } = await create('second.example', 'k-3');
  expect([status, body.code, body.errors[0].name]).toEqual([422, 'idempotency_key_reused', 'Idempotency-Key']);
  expect((await user.api.get('/api/v1/websites?search=second.example')).body.meta.total).toBe(0);
});

test('keys are told apart per user and per operation', async () => {
  const other = await service.createUser();
  await create('mine.example', 'k-4');
  expect((await create('theirs.example', 'k-4', other.api)).status).toBe(201);
  const key = await user.api.post('/api/keys', { json: { name: 'a', scopes: ['monitors:read'] }, headers: { 'Idempotency-Key': 'k-4' } });
  expect(key.status).toBe(201);
});

test('a refusal is not kept: the repeated request is tried again', async () => {
  await create('taken.example', 'k-5a');
  expect((await create('taken.example', 'k-5b')).status).toBe(409);
  const { body } = await user.api.get('/api/v1/websites?search=taken.example');
  await service.database.asUser(user.id, (em) => em.execute('delete from websites where id = ?', [body.data[0].id], 'run'));
  expect((await create('taken.example', 'k-5b')).status).toBe(201);
});

test('twenty at once create one row; each hears the answer, or that the first still runs', async () => {
  const answers = await Promise.all(Array.from({ length: 20 }, () => create('rush.example', 'k-6')));
  const made = answers.filter(({ status }) => status === 201);
  expect(new Set(made.map(({ text }) => text)).size).toBe(1);
  for (const { status, body } of answers) if (status !== 201) expect([status, body.code]).toEqual([409, 'request_in_progress']);
  expect((await user.api.get('/api/v1/websites?search=rush.example')).body.meta.total).toBe(1);
});

/** What a running request holds is taken by hand, in another transaction, until the returned function is called. */
async function holdRequest(key: string): Promise<() => Promise<void>> {
  const [taken, held] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const holding = service.database.asUser(user.id, async (em) => {
    await em.execute('select pg_advisory_xact_lock(hashtextextended(?, 0))', [`${user.id} createWebsite ${key}`]);
    taken.resolve();
    await held.promise;
  });
  await taken.promise;
  return () => {
    held.resolve();
    return holding;
  };
}

test.runIf(process.env.TEST_DATABASE_URL)('a request that runs is 409 for its repetition', async () => {
  const release = await holdRequest('k-7');
  const { status, body } = await create('running.example', 'k-7');
  expect([status, body.code]).toEqual([409, 'request_in_progress']);
  await release();
});

test.skipIf(process.env.TEST_DATABASE_URL)('on the embedded database, which does one thing after another, a repetition waits', async () => {
  const release = await holdRequest('k-7');
  const waiting = create('running.example', 'k-7');
  await release();
  expect((await waiting).status).toBe(201);
});

test('a repeated creation of a key is 409 with its id, and the key itself is stored nowhere', async () => {
  const post = () =>
    user.api.post('/api/keys', { json: { name: 'Once', scopes: ['monitors:read'] }, headers: { 'Idempotency-Key': 'k-8' } });
  const first = await post();
  const again = await post();
  expect([again.status, again.body.code, again.body.id]).toEqual([409, 'already_created', first.body.data.id]);
  const kept = await service.database.asUser(user.id, (em) => em.execute('select row_to_json(k)::text as row from idempotent_responses k'));
  expect(JSON.stringify(kept)).not.toContain(first.body.data.key);
});

test('of the request only a keyed hash is kept', async () => {
  await user.api.post('/api/v1/websites', {
    form: { domain: 'hashed.example', privacy: '2', password: 'hunter2hunter2' },
    headers: { 'Idempotency-Key': 'k-9' },
  });
  const kept = await service.database.asUser(user.id, (em) =>
    em.execute(`select row_to_json(k)::text as row from idempotent_responses k where idempotency_key = 'k-9'`),
  );
  expect(JSON.stringify(kept)).not.toContain('hunter2');
  expect((await create('hashed.example', 'k-9')).status).toBe(422);
});

test('after 24 hours the key is free again, and the kept answer goes by itself', async () => {
  await create('old.example', 'k-10');
  await service.database.asUser(user.id, (em) =>
    em.execute(`update idempotent_responses set created_at = now() - interval '25 hours'`, [], 'run'),
  );
  expect((await create('new.example', 'k-10')).status).toBe(201);
  await service.database.asAuthenticator((em) => em.execute('select auth_delete_expired()', [], 'run'));
  const kept = await service.database.asUser(user.id, (em) =>
    em.execute<{ idempotency_key: string }[]>('select idempotency_key from idempotent_responses'),
  );
  expect(kept.map((row) => row.idempotency_key)).toEqual(['k-10']);
});

test.each([
  ['empty', '""'],
  ['of 256 characters', 'x'.repeat(256)],
  ['of 256 characters in quotes', `"${'x'.repeat(256)}"`],
])('422 for a key that is %s', async (_, key) => {
  const { status, body } = await create('bad.example', key);
  expect(status).toBe(422);
  expect(body.errors).toContainEqual(expect.objectContaining({ in: 'header', name: 'Idempotency-Key' }));
});

test('a key of 255 characters in quotes is taken', async () => {
  expect((await create('long.example', `"${'x'.repeat(255)}"`)).status).toBe(201);
});
