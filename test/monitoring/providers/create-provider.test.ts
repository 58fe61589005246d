import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { etag } from '../../support/etags.ts';
import { startService, type TestService, type TestUser } from '../../support/service.ts';
import { providerExamples, providerMasks, providerTypes, telegramToken, webhookUrl } from '../factories.ts';

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
const total = async () => (await user.api.get('/api/providers')).body.meta.total;

test.each(providerTypes)('returns 201 for %s with Location and ETag; show and list return the same', async (type) => {
  const { status, headers, body } = await create(providerExamples[type]);
  expect(status).toBe(201);
  expect([headers.get('Location'), headers.get('ETag')]).toEqual([`/api/providers/${body.data.id}`, etag('provider', body.data.id, 1)]);
  expect(body.data).toMatchObject({ ...providerExamples[type], ...providerMasks[type] });
  const { signing_secret, ...data } = body.data;
  expect((await user.api.get(`/api/providers/${data.id}`)).body).toEqual({ data });
  expect((await user.api.get('/api/providers')).body.data).toEqual([data]);
});

test('stores secrets encrypted and never returns them', async () => {
  const responses = [await create(providerExamples.slack), await create(providerExamples.telegram), await user.api.get('/api/providers')];
  for (const { text } of responses) {
    expect(text).not.toContain('examplesecretpath');
    expect(text).not.toContain('AAExample');
  }
  const rows = JSON.stringify(
    await service.database.asUser(user.id, (em) => em.execute('select row_to_json(p)::text as row from providers p order by id')),
  );
  expect(rows).toContain('encrypted');
  expect(rows).not.toContain('examplesecret');
  expect(rows).not.toContain('AAExample');
});

test('accepts an integer as chat_id and returns it as a string', async () => {
  expect((await create({ ...providerExamples.telegram, chat_id: 12345 })).body.data.chat_id).toBe('12345');
});

test.each(providerTypes)('%s: has the name that was sent, or null if it is null or absent; names need not be unique', async (type) => {
  for (const [sent, shown] of [
    [{ name: 'Operations 👷' }, 'Operations 👷'],
    [{ name: 'Operations 👷' }, 'Operations 👷'],
    [{ name: null }, null],
    [{}, null],
  ] as const) {
    const { status, body } = await create({ ...providerExamples[type], ...sent });
    expect([status, body.data.name]).toEqual([201, shown]);
    expect((await user.api.get(`/api/providers/${body.data.id}`)).body.data.name).toBe(shown);
  }
  const { body } = await user.api.get('/api/providers');
  expect(body.data.map(({ name }: { name: string | null }) => name)).toEqual([null, null, 'Operations 👷', 'Operations 👷']);
});

test('channel and username are null if absent', async () => {
  const { body } = await create({ provider_type: 'slack', webhook_url: webhookUrl });
  expect(body.data).toMatchObject({ channel: null, username: null });
});

const blank = 'must contain a character other than spaces, and no control characters';
const notEmail = 'must be an e-mail address';
const notToken = 'must be a bot token: digits, a colon, and 30 to 64 letters, digits, hyphens or underscores';
const notChat = 'must be a chat id, such as -1001234567890, or the name of a public channel, such as @example_alerts';
const notPhone = 'must be a phone number in E.164 format, such as +15005550006';
const notSlack = 'must be an https URL on hooks.slack.com';
const notDiscord = 'must be an https URL on discord.com or ptb.discord.com or canary.discord.com or discordapp.com';
const notTeams = 'must be an https URL on *.api.powerplatform.com or *.logic.azure.com or *.webhook.office.com';
const notRoutingKey = 'must be an integration key of 32 letters and digits';
const tooLongUrl = 'must have at most 2048 characters';
const teamsUrl = 'https://a.logic.azure.com/';
const teams = { provider_type: 'teams' };
const pagerDuty = { provider_type: 'pagerduty' };
const email = { provider_type: 'email' };
const slack = { provider_type: 'slack' };
const telegram = { provider_type: 'telegram', chat_id: '1', token: telegramToken };
const sms = { provider_type: 'sms' };

test.each([
  ['a field of another type', { ...providerExamples.email, channel: '#ops' }, '/channel', 'is only allowed for provider_type slack'],
  ['another one', { ...providerExamples.sms, token: telegramToken }, '/token', 'is only allowed for provider_type telegram'],
  ['an empty name', { ...providerExamples.email, name: '' }, '/name', 'must have at least 1 character'],
  ['a blank name', { ...providerExamples.slack, name: ' ' }, '/name', blank],
  ['a line break in the name', { ...providerExamples.telegram, name: 'Night\nshift' }, '/name', blank],
  ['a long name', { ...providerExamples.sms, name: 'x'.repeat(101) }, '/name', 'must have at most 100 characters'],
  ['an unknown field', { ...providerExamples.email, colour: 'red' }, '/colour', 'is not a known field'],
  ['no provider_type', { recipient_email: 'a@example.com' }, '/provider_type', 'is required'],
  ['an unknown provider_type', { provider_type: 'pigeon' }, '/provider_type', `must be one of ${providerTypes.join(', ')}`],
  ['a number as provider_type', { provider_type: 7 }, '/provider_type', `must be one of ${providerTypes.join(', ')}`],
  ['no recipient', email, '/recipient_email', 'is required'],
  ['a comma in the recipient', { ...email, recipient_email: 'a@example.com,b@example.com' }, '/recipient_email', notEmail],
  ['a line break in the recipient', { ...email, recipient_email: 'a@example.com\r\nBcc: b@example.com' }, '/recipient_email', notEmail],
  ['a display name in the recipient', { ...email, recipient_email: 'Ops <a@example.com>' }, '/recipient_email', notEmail],
  ['an http webhook', { ...slack, webhook_url: 'http://hooks.slack.com/x' }, '/webhook_url', notSlack],
  ['a webhook on another host', { ...slack, webhook_url: 'https://hooks.slack.com.evil.example/x' }, '/webhook_url', notSlack],
  ['a webhook with the host as user name', { ...slack, webhook_url: 'https://hooks.slack.com@evil.example/x' }, '/webhook_url', notSlack],
  [
    'a webhook with a user name',
    { ...slack, webhook_url: 'https://me@hooks.slack.com/x' },
    '/webhook_url',
    'must not contain a user name or password',
  ],
  ['a channel of spaces', { ...slack, webhook_url: webhookUrl, channel: '  ' }, '/channel', blank],
  ['a user name of spaces', { ...slack, webhook_url: webhookUrl, username: '\u3000' }, '/username', blank],
  ['a line break in the channel', { ...slack, webhook_url: webhookUrl, channel: '#a\nb' }, '/channel', blank],
  ['a mask', { ...slack, webhook_url: '****path' }, '/webhook_url', 'must be a URL'],
  ['a token without digits', { ...telegram, token: 'abc' }, '/token', notToken],
  ['a chat_id with a space', { ...telegram, chat_id: 'my chat' }, '/chat_id', notChat],
  ['a number without +', { ...sms, phone_number: '4155550123' }, '/phone_number', notPhone],
  ['a Discord webhook on another host', { ...providerExamples.discord, webhook_url: webhookUrl }, '/webhook_url', notDiscord],
  ['a channel of Discord', { ...providerExamples.discord, channel: '#ops' }, '/channel', 'is only allowed for provider_type slack'],
  ['a Teams webhook on another host', { ...providerExamples.teams, webhook_url: webhookUrl }, '/webhook_url', notTeams],
  ['a Teams webhook of 2,049 characters', { ...teams, webhook_url: `${teamsUrl}${'x'.repeat(2049)}` }, '/webhook_url', tooLongUrl],
  ['a routing key of 31 characters', { ...pagerDuty, routing_key: 'x'.repeat(31) }, '/routing_key', notRoutingKey],
  ['a routing key with a hyphen', { ...pagerDuty, routing_key: `${'x'.repeat(31)}-` }, '/routing_key', notRoutingKey],
  ['a mask as routing key', { ...pagerDuty, routing_key: '****page' }, '/routing_key', notRoutingKey],
  ['no routing key', pagerDuty, '/routing_key', 'is required'],
  ['a number with spaces', { ...sms, phone_number: '+1 415 555 0123' }, '/phone_number', notPhone],
  ['a number with 16 digits', { ...sms, phone_number: '+1234567890123456' }, '/phone_number', 'must have at most 16 characters'],
  ['a number that starts with 0', { ...sms, phone_number: '+0123' }, '/phone_number', notPhone],
])('returns 422 for %s and creates nothing', async (_, json, pointer, message) => {
  const { status, body } = await create(json);
  expect(status).toBe(422);
  expect(body.errors).toContainEqual(expect.objectContaining({ in: 'body', pointer, message }));
  expect(await total()).toBe(0);
});

test.each(['[]', '[{"provider_type":"email"}]', '"email"', '1', 'null'])('returns 422 for %s, which is not an object', async (raw) => {
  const { status, body } = await user.api.post('/api/providers', { headers: { 'Content-Type': 'application/json' }, raw });
  expect([status, body.code]).toEqual([422, 'validation_failed']);
});

test('returns 409 above the quota, even for concurrent requests', async () => {
  const responses = await Promise.all(Array.from({ length: 8 }, () => create(providerExamples.email)));
  const rejected = responses.filter(({ body }) => body.code === 'quota_exceeded');
  expect(responses.filter(({ status }) => status === 201)).toHaveLength(6);
  expect(rejected).toHaveLength(2);
  expect(rejected[0]).toMatchObject({ status: 409, body: { detail: 'A user can have at most 6 providers.' } });
});

test('repeated with the same Idempotency-Key, creates one provider and stores no secret in the response', async () => {
  const post = () => user.api.post('/api/providers', { json: providerExamples.telegram, headers: { 'Idempotency-Key': 'p-1' } });
  const [first, second] = [await post(), await post()];
  expect([second.status, second.text, second.headers.get('ETag')]).toEqual([201, first.text, first.headers.get('ETag')]);
  expect([first, second].map(({ headers }) => headers.get('Idempotent-Replayed'))).toEqual([null, 'true']);
  expect(await total()).toBe(1);
  const stored = await service.database.asUser(user.id, (em) =>
    em.execute('select row_to_json(r)::text as row from idempotent_responses r'),
  );
  expect(stored).toHaveLength(1);
  expect(JSON.stringify(stored)).not.toContain('AAExample');
});

test('returns 401 without a key and 403 without the scope providers:write, and creates nothing', async () => {
  const json = providerExamples.email;
  expect((await service.anonymous.post('/api/providers', { json })).status).toBe(401);
  const { status, body } = await (await user.withScopes('providers:read')).post('/api/providers', { json });
  expect([status, body.detail]).toEqual([403, expect.stringContaining('"providers:write"')]);
  expect(await total()).toBe(0);
});
