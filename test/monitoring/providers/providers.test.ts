import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { expectSameProblem } from '../../support/same-problem.ts';
import { startService, type TestService, type TestUser } from '../../support/service.ts';

const token = '123456789:AAExampleExampleExampleExampleExamp';
const webhook = 'https://hooks.slack.com/services/T000/B000/examplesecretpath';
const examples = {
  email: { provider_type: 'email', recipient_email: 'ops@example.com' },
  slack: { provider_type: 'slack', webhook_url: webhook, channel: '#ops', username: 'Sitekeeper' },
  telegram: { provider_type: 'telegram', chat_id: '-1001234567890', token },
  sms: { provider_type: 'sms', phone_number: '+14155550123' },
};
type Type = keyof typeof examples;
const types = Object.keys(examples) as Type[];

let service: TestService;
let user: TestUser;

beforeAll(async () => {
  service = await startService({ maxProviders: 6 });
});
beforeEach(async () => {
  user = await service.createUser();
});
afterAll(() => service.stop());

const create = (json: object) => user.api.post('/api/providers', { json });

async function made(type: Type): Promise<{ id: number; path: string; etag: string }> {
  const { status, body, headers } = await create(examples[type]);
  expect(status).toBe(201);
  return { id: body.data.id, path: `/api/providers/${body.data.id}`, etag: headers.get('ETag') ?? '' };
}

const stored = async () =>
  JSON.stringify(
    await service.database.asUser(user.id, (em) => em.execute('select row_to_json(p)::text as row from providers p order by id')),
  );

test.each(types)('createProvider: 201 for %s, with Location and ETag; list and show give the same', async (type) => {
  const { status, headers, body } = await create(examples[type]);
  expect(status).toBe(201);
  expect([headers.get('Location'), headers.get('ETag')]).toEqual([`/api/providers/${body.data.id}`, '"1"']);
  const shown = {
    ...examples[type],
    ...(type === 'slack' && { webhook_url: '****path' }),
    ...(type === 'telegram' && { token: '****xamp' }),
  };
  expect(body.data).toMatchObject(shown);
  expect((await user.api.get(`/api/providers/${body.data.id}`)).body).toEqual(body);
  expect((await user.api.get('/api/providers')).body.data).toEqual([body.data]);
});

test('secrets are stored encrypted and never returned', async () => {
  const answers = [await create(examples.slack), await create(examples.telegram), await user.api.get('/api/providers')];
  for (const { text } of answers) {
    expect(text).not.toContain('examplesecretpath');
    expect(text).not.toContain('AAExample');
  }
  const rows = await stored();
  expect(rows).not.toContain('examplesecret');
  expect(rows).not.toContain('AAExample');
});

test('chat_id may be an integer and comes back as a string; channel and username are null where absent', async () => {
  expect((await create({ ...examples.telegram, chat_id: 12345 })).body.data.chat_id).toBe('12345');
  expect((await create({ provider_type: 'slack', webhook_url: webhook })).body.data).toMatchObject({ channel: null, username: null });
});

test.each([
  ['a field of another type', { ...examples.email, webhook_url: webhook }, '/webhook_url', 'belongs to provider_type slack, not email'],
  ['another one', { ...examples.sms, token }, '/token', 'belongs to provider_type telegram, not sms'],
  ['an unknown field', { ...examples.email, colour: 'red' }, '/colour', 'is not a known field'],
  ['no provider_type', { recipient_email: 'a@example.com' }, '/provider_type', 'is missing'],
  ['an unknown provider_type', { provider_type: 'pigeon' }, '/provider_type', 'must be one of email, slack, telegram, sms'],
  ['provider_type of the wrong type', { provider_type: 7 }, '/provider_type', 'must be one of'],
  ['no recipient', { provider_type: 'email' }, '/recipient_email', 'is missing'],
  ['a comma in the recipient', { provider_type: 'email', recipient_email: 'a@example.com,b@example.com' }, '/recipient_email', 'email'],
  [
    'a line break in the recipient',
    { provider_type: 'email', recipient_email: 'a@example.com\r\nBcc: b@example.com' },
    '/recipient_email',
    'email',
  ],
  ['a display name in the recipient', { provider_type: 'email', recipient_email: 'Ops <a@example.com>' }, '/recipient_email', 'email'],
  ['an http webhook', { provider_type: 'slack', webhook_url: 'http://hooks.slack.com/x' }, '/webhook_url', 'https'],
  [
    'a webhook of another host',
    { provider_type: 'slack', webhook_url: 'https://hooks.slack.com.evil.example/x' },
    '/webhook_url',
    'hooks.slack.com',
  ],
  ['a webhook with a user name', { provider_type: 'slack', webhook_url: 'https://hooks.slack.com@evil.example/x' }, '/webhook_url', ''],
  ['a mask on create', { provider_type: 'slack', webhook_url: '****path' }, '/webhook_url', ''],
  ['a token without digits', { provider_type: 'telegram', chat_id: '1', token: 'abc' }, '/token', 'must match'],
  ['a chat that is none', { provider_type: 'telegram', chat_id: 'my chat', token }, '/chat_id', 'forms'],
  ['a number without +', { provider_type: 'sms', phone_number: '4155550123' }, '/phone_number', 'must match'],
  ['a number with blanks', { provider_type: 'sms', phone_number: '+1 415 555 0123' }, '/phone_number', 'must match'],
  ['a number of 16 digits', { provider_type: 'sms', phone_number: '+1234567890123456' }, '/phone_number', ''],
  ['a number starting with 0', { provider_type: 'sms', phone_number: '+0123' }, '/phone_number', ''],
])('createProvider: 422 for %s', async (_, json, pointer, message) => {
  const { status, body } = await create(json);
  expect(status).toBe(422);
  expect(body.errors).toContainEqual(expect.objectContaining({ in: 'body', pointer, message: expect.stringContaining(message) }));
  expect((await user.api.get('/api/providers')).body.meta.total).toBe(0);
});

test.each(['[]', '[{"provider_type":"email"}]', '"email"', '1', 'null'])('createProvider: 422 for %s, which is no object', async (raw) => {
  const { status, body } = await user.api.post('/api/providers', { headers: { 'Content-Type': 'application/json' }, raw });
  expect([status, body.code]).toEqual([422, 'validation_failed']);
});

test('createProvider: 409 over the quota', async () => {
  const answers = await Promise.all(Array.from({ length: 8 }, () => create(examples.email)));
  expect(answers.filter(({ status }) => status === 201)).toHaveLength(6);
  expect(answers.filter(({ body }) => body.code === 'quota_exceeded')).toHaveLength(2);
});

test('createProvider: repeated with the same Idempotency-Key it makes one, and no secret is kept for that', async () => {
  const post = () => user.api.post('/api/providers', { json: examples.telegram, headers: { 'Idempotency-Key': 'p-1' } });
  expect((await post()).text).toBe((await post()).text);
  expect((await user.api.get('/api/providers')).body.meta.total).toBe(1);
  const kept = await service.database.asUser(user.id, (em) => em.execute('select row_to_json(k)::text as row from idempotent_responses k'));
  expect(JSON.stringify(kept)).not.toContain('AAExample');
});

test('updateProvider: changes what is sent; null removes channel and username; an empty object changes nothing', async () => {
  const { path } = await made('slack');
  const changed = await user.api.put(path, { json: { channel: '#alerts', username: null } });
  expect(changed.body.data).toMatchObject({ channel: '#alerts', username: null, webhook_url: '****path' });
  const same = await user.api.put(path, { json: {} });
  expect([same.headers.get('ETag'), same.body]).toEqual([changed.headers.get('ETag'), changed.body]);
});

test.each([
  ['slack', 'webhook_url', '****path', 'https://hooks.slack.com/services/T1/B1/another'],
  ['telegram', 'token', '****xamp', '987654321:BBExampleExampleExampleExampleExample'],
] as const)(
  'updateProvider: the mask of a %s %s sent back keeps what is stored, another value replaces it',
  async (type, field, mask, other) => {
    const { path } = await made(type);
    const before = await stored();
    expect((await user.api.put(path, { json: { [field]: mask } })).body.data[field]).toBe(mask);
    const sealed = (rows: string) => /"(?:webhook_url|token)_sealed\\":\\"([^"\\]+)/.exec(rows)?.[1];
    expect(sealed(await stored())).toBe(sealed(before));
    expect((await user.api.put(path, { json: { [field]: other } })).body.data[field]).toBe(`****${other.slice(-4)}`);
    expect(sealed(await stored())).not.toBe(sealed(before));
    expect((await user.api.put(path, { json: { [field]: '****nope' } })).status).toBe(422);
  },
);

test.each([
  ['provider_type', { provider_type: 'sms' }, '/provider_type', 'is not a known field'],
  ['a field of another type', { token }, '/token', 'belongs to provider_type telegram, not email'],
  ['null for what it needs', { recipient_email: null }, '/recipient_email', 'string'],
])('updateProvider: 422 for %s', async (_, json, pointer, message) => {
  const { path } = await made('email');
  const { status, body } = await user.api.put(path, { json });
  expect([status, body.errors]).toEqual([422, [expect.objectContaining({ pointer, message: expect.stringContaining(message) })]]);
});

test('updateProvider and deleteProvider: 412 for an older version', async () => {
  const { id, path, etag } = await made('email');
  await user.api.put(path, { json: { recipient_email: 'b@example.com' } });
  expect((await user.api.put(path, { json: { recipient_email: 'c@example.com' }, headers: { 'If-Match': etag } })).status).toBe(412);
  expect((await user.api.delete(path, { headers: { 'If-Match': etag } })).status).toBe(412);
  expect((await user.api.get(path, { headers: { 'If-None-Match': etag } })).body.data.recipient_email).toBe('b@example.com');
  expect((await user.api.delete(path)).body).toEqual({ id, object: 'provider', deleted: true });
  expect((await user.api.get(path)).status).toBe(404);
});

test('listProviders: newest first, in pages', async () => {
  for (const type of types) await made(type);
  const { body } = await user.api.get('/api/providers?pageSize=3');
  expect(body.data.map(({ provider_type }: { provider_type: string }) => provider_type)).toEqual(['sms', 'telegram', 'slack']);
  expect(body.meta).toEqual({ page: 1, pageSize: 3, pageCount: 2, total: 4 });
});

const operations = [
  ['GET', '', undefined, 'providers:read'],
  ['PUT', '', { recipient_email: 'x@example.com' }, 'providers:write'],
  ['DELETE', '', undefined, 'providers:write'],
  ['POST', '/test', undefined, 'providers:write'],
] as const;

test.each(operations)(
  "%s /providers/{id}%s: another user's is 404, byte for byte like an unknown one; 401; 403",
  async (method, rest, json, scope) => {
    const { id } = await made('email');
    const stranger = await service.createUser();
    const request = (api = stranger.api, of: number = id) => api.request(method, `/api/providers/${of}${rest}`, json ? { json } : {});
    expectSameProblem(await request(), await request(stranger.api, 999_999_999));
    expect((await request()).status).toBe(404);
    expect((await request(service.stranger)).status).toBe(401);
    const wrong = scope === 'providers:read' ? 'providers:write' : 'providers:read';
    expect((await request(await user.withScopes(wrong))).body.detail).toContain(scope);
  },
);

test.each(['GET', 'POST'])('%s /providers: 401 without a key, 403 without the scope', async (method) => {
  expect((await service.stranger.request(method, '/api/providers')).status).toBe(401);
  const wrong = await user.withScopes(method === 'GET' ? 'providers:write' : 'providers:read');
  expect((await wrong.request(method, '/api/providers')).status).toBe(403);
});
