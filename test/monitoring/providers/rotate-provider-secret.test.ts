import { Webhook } from 'standardwebhooks';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { replaceSecret } from '../../../src/monitoring/providers/signing-secret.ts';
import type { ApiResponse } from '../../support/api-client.ts';
import { startReceivers } from '../../support/receivers.ts';
import { expectSameProblem } from '../../support/same-problem.ts';
import { startService, type TestService, type TestUser } from '../../support/service.ts';
import type { ReceivedRequest } from '../../support/web-server.ts';
import { createProvider, providerExamples, providerTypes } from '../factories.ts';

const dayMs = 24 * 3600 * 1000;

let receivers: Awaited<ReturnType<typeof startReceivers>>;
let service: TestService;
let user: TestUser;
let path: string;
let first: string;

beforeAll(async () => {
  receivers = await startReceivers();
  service = await startService({ delivery: receivers.delivery }, { net: receivers.net });
});
beforeEach(async () => {
  user = await service.createUser();
  const { body } = await user.api.post('/api/providers', { json: receivers.providers.webhook });
  path = `/api/providers/${body.data.id}`;
  first = body.data.signing_secret;
});
afterAll(async () => {
  await service.stop();
  await receivers.close();
});

const rotate = async (): Promise<string> => (await user.api.post(`${path}/rotate-secret`)).body.data.signing_secret;

/** Sends a test and returns which of the secrets verify its signatures. */
async function verifying(...secrets: string[]): Promise<boolean[]> {
  expect((await user.api.post(`${path}/test`)).status).toBe(200);
  const { headers, body } = receivers.webhook.requests.at(-1) as ReceivedRequest;
  expect(headers['webhook-signature']).not.toMatch(/ .* /);
  return secrets.map((secret) => {
    try {
      return Boolean(new Webhook(secret).verify(body, headers as Record<string, string>));
    } catch {
      return false;
    }
  });
}

/** Moves the end of the previous secret, as if time had passed. */
async function letPass(ms: number) {
  await service.database.asUser(user.id, (em) =>
    em.execute(
      `update providers set settings = jsonb_set(settings, '{previous_signing_secret,expires_at}',
         to_jsonb(to_char(((settings #>> '{previous_signing_secret,expires_at}')::timestamptz - ? * interval '1 ms') at time zone 'UTC',
           'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')))`,
      [ms],
      'run',
    ),
  );
}

test('returns a new secret, and both sign for 24 hours', async () => {
  const before = service.database.now();
  const { status, body, headers } = await user.api.post(`${path}/rotate-secret`);
  expect([status, headers.get('Cache-Control')]).toEqual([200, 'no-store']);
  const { id, signing_secret: second, previous_expires_at } = body.data;
  expect([path, second]).toEqual([`/api/providers/${id}`, expect.stringMatching(/^whsec_[A-Za-z0-9+/]{32}$/)]);
  expect(second).not.toBe(first);
  expect(Date.parse(previous_expires_at) - before).toBeGreaterThanOrEqual(dayMs);
  expect(Date.parse(previous_expires_at) - service.database.now()).toBeLessThanOrEqual(dayMs);
  expect(await verifying(first, second)).toEqual([true, true]);
  await letPass(dayMs - 60_000);
  expect(await verifying(first, second)).toEqual([true, true]);
  await letPass(61_000);
  expect(await verifying(first, second)).toEqual([false, true]);
});

test('twice within 24 hours, only the two newest secrets sign', async () => {
  const [second, third] = [await rotate(), await rotate()];
  expect(await verifying(first, second, third)).toEqual([false, true, true]);
});

test('concurrently, each returned secret but the oldest signs', async () => {
  const responses = await Promise.all([rotate(), rotate()]);
  expect((await verifying(first, ...responses)).toSorted()).toEqual([false, true, true]);
});

test('a secret that has been replaced in the meantime is not replaced again', async () => {
  const second = await rotate();
  const stale = replaceSecret({ id: Number(path.split('/').at(-1)), replaced: 'v1.stale', changes: '{"signing_secret": null}' });
  const [changed] = await service.database.query(user.id)(stale);
  expect(changed).toEqual([]);
  expect(await verifying(first, second)).toEqual([true, true]);
});

test('keeps the ETag and updated_at, so that it does not reject an update', async () => {
  const before = await user.api.get(path);
  await rotate();
  const after = await user.api.get(path);
  expect([after.body, after.headers.get('ETag')]).toEqual([before.body, before.headers.get('ETag')]);
});

test('an update keeps the secrets', async () => {
  const second = await rotate();
  const json = { webhook_url: `${receivers.providers.webhook.webhook_url}/other`, name: 'Board' };
  expect((await user.api.put(path, { json })).status).toBe(200);
  expect(await verifying(first, second)).toEqual([true, true]);
  expect(receivers.webhook.requests.at(-1)?.path).toMatch(/\/other$/);
});

test('if the operator has lost the key that encrypted the secret, returns one that signs alone', async () => {
  await service.database.asUser(user.id, (em) =>
    em.execute(
      `update providers set settings = jsonb_set(settings, '{signing_secret,encrypted}',
         to_jsonb(replace(settings #>> '{signing_secret,encrypted}', 'v1.', 'v1.x')))`,
      [],
      'run',
    ),
  );
  const { status, body } = await user.api.post(`${path}/rotate-secret`);
  expect([status, body.data.previous_expires_at]).toEqual([200, null]);
  expect(await verifying(first, body.data.signing_secret)).toEqual([false, true]);
});

test('secrets are stored encrypted, and only the response about them contains them', async () => {
  const second = await rotate();
  const responses: ApiResponse[] = [await user.api.get(path), await user.api.get('/api/providers')];
  responses.push(await user.api.put(path, { json: { name: 'Board' } }), await user.api.post(`${path}/test`));
  responses.push(await user.api.get(`${path}/deliveries`));
  for (const { text } of responses) for (const part of ['signing', 'whsec', first, second]) expect(text).not.toContain(part);
  const rows = JSON.stringify(
    await service.database.asUser(user.id, (em) =>
      em.execute(
        `select row_to_json(p)::text as row from providers p union all select row_to_json(a)::text from alerts a
           union all select row_to_json(i)::text from idempotent_responses i`,
      ),
    ),
  );
  for (const secret of [first, second]) expect(rows).not.toContain(secret.slice(6));
});

test('a secret cannot be chosen by a client', async () => {
  const json = { ...providerExamples.webhook, signing_secret: 'whsec_EXAMPLE' };
  const created = await user.api.post('/api/providers', { json });
  const updated = await user.api.put(path, { json: { signing_secret: 'whsec_EXAMPLE' } });
  for (const { status, body } of [created, updated])
    expect([status, body.errors]).toMatchObject([422, [{ pointer: '/signing_secret', code: 'unknown_field' }]]);
});

test('createProvider repeated with the same Idempotency-Key returns 409 with the id, and stores no secret', async () => {
  const post = () => user.api.post('/api/providers', { json: providerExamples.webhook, headers: { 'Idempotency-Key': 'once' } });
  const [created, repeated] = [await post(), await post()];
  expect([created.status, created.headers.get('Cache-Control'), repeated.status, repeated.body.code, repeated.body.id]).toEqual([
    201,
    'no-store',
    409,
    'already_created',
    created.body.data.id,
  ]);
  const stored = await service.database.asUser(user.id, (em) =>
    em.execute('select row_to_json(r)::text as row from idempotent_responses r'),
  );
  expect(JSON.stringify(stored)).not.toContain('whsec');
});

test('each provider has a secret of its own', async () => {
  const { body } = await user.api.post('/api/providers', { json: receivers.providers.webhook });
  expect(body.data.signing_secret).not.toBe(first);
});

test.each(providerTypes.filter((type) => type !== 'webhook'))('returns 409 for type %s, which has no secret', async (type) => {
  const provider = await createProvider(user, type);
  const { status, body } = await user.api.post(`${provider.path}/rotate-secret`);
  expect([status, body.code]).toEqual([409, 'no_signing_secret']);
  expect((await user.api.get(provider.path)).body.data).toEqual(provider.data);
});

test('returns 401 without a key and 403 without the scope providers:write, and changes nothing', async () => {
  expect((await service.anonymous.post(`${path}/rotate-secret`)).status).toBe(401);
  const { status, body } = await (await user.withScopes('providers:read')).post(`${path}/rotate-secret`);
  expect([status, body.detail]).toEqual([403, expect.stringContaining('"providers:write"')]);
  expect(await verifying(first)).toEqual([true]);
});

test("returns 404 for another user's provider, as for an unknown id, and changes nothing", async () => {
  const other = await service.createUser();
  const foreign = await other.api.post(`${path}/rotate-secret`);
  expect(foreign.status).toBe(404);
  expectSameProblem(foreign, await other.api.post('/api/providers/999999999/rotate-secret'));
  expect(await verifying(first)).toEqual([true]);
});

test('returns 422 for an id that is no number', async () => {
  expect((await user.api.post('/api/providers/first/rotate-secret')).status).toBe(422);
});
