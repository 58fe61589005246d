import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { sendDuringTransaction } from '../../support/database.ts';
import { etag as etagOf, ifMatch } from '../../support/etags.ts';
import { expectSameProblem } from '../../support/same-problem.ts';
import { startService, type TestService, type TestUser } from '../../support/service.ts';
import { createProvider, type ProviderType, providerTypes, telegramToken } from '../factories.ts';

let service: TestService;
let user: TestUser;

beforeAll(async () => {
  service = await startService();
});
beforeEach(async () => {
  user = await service.createUser();
});
afterAll(() => service.stop());

describe('fields', () => {
  test.each<[ProviderType, string, string | null]>([
    ['email', 'recipient_email', 'b@example.com'],
    ...providerTypes.map((type): [ProviderType, string, string] => [type, 'name', 'Operations 👷']),
    ['slack', 'channel', '#alerts'],
    ['slack', 'channel', null],
    ['slack', 'username', 'Keeper'],
    ['slack', 'username', null],
    ['telegram', 'chat_id', '@example_alerts'],
    ['sms', 'phone_number', '+15005550006'],
  ])('%s: changes %s to %j and keeps the absent fields', async (type, field, value) => {
    const { id, path, data } = await createProvider(user, type);
    const { status, headers, body } = await user.api.put(path, { json: { [field]: value } });
    expect([status, headers.get('ETag')]).toEqual([200, etagOf('provider', id, 2)]);
    expect(body.data).toEqual({ ...data, [field]: value, updated_at: expect.any(String) });
    expect((await user.api.get(path)).body).toEqual(body);
  });

  test('a name stays until it is replaced or null', async () => {
    const { path } = await createProvider(user);
    const names: unknown[] = [];
    for (const json of [{ name: 'Operations' }, { recipient_email: 'b@example.com' }, { name: 'x'.repeat(100) }, {}, { name: null }]) {
      names.push((await user.api.put(path, { json })).body.data.name);
    }
    expect(names).toEqual(['Operations', 'Operations', 'x'.repeat(100), 'x'.repeat(100), null]);
    expect((await user.api.get(path)).body.data).toMatchObject({ name: null, recipient_email: 'b@example.com' });
  });

  test('an empty object changes nothing', async () => {
    const { path, etag, data } = await createProvider(user, 'slack');
    const { status, headers, body } = await user.api.put(path, { json: {} });
    expect([status, headers.get('ETag'), body.data]).toEqual([200, etag, data]);
  });

  const blank = 'must contain a character other than spaces, and no control characters';
  const notChat = 'must be a chat id, such as -1001234567890, or the name of a public channel, such as @example_alerts';
  const notToken =
    'must be a bot token (digits, a colon, and 30 to 64 letters, digits, hyphens or underscores), or the masked value that the API returned';

  test.each<[ProviderType, string, unknown, string]>([
    ['email', 'name', '', 'must have at least 1 character'],
    ['slack', 'name', '  ', blank],
    ['telegram', 'name', 'Night\nshift', blank],
    ['sms', 'name', 'x'.repeat(101), 'must have at most 100 characters'],
    ['email', 'name', 7, 'must be a string'],
    ['email', 'recipient_email', null, 'must be an e-mail address'],
    ['email', 'recipient_email', '', 'must be an e-mail address'],
    ['slack', 'webhook_url', null, 'must be a URL, or the masked value that the API returned'],
    ['slack', 'webhook_url', '', 'must be a URL, or the masked value that the API returned'],
    ['slack', 'channel', '', 'must have at least 1 character'],
    ['slack', 'channel', '  ', blank],
    ['slack', 'username', '', 'must have at least 1 character'],
    ['slack', 'username', '\u3000', blank],
    ['telegram', 'chat_id', null, notChat],
    ['telegram', 'chat_id', '', notChat],
    ['telegram', 'token', null, 'must be a string'],
    ['telegram', 'token', '', notToken],
    ['sms', 'phone_number', null, 'must be a string'],
    ['sms', 'phone_number', '', 'must be a phone number in E.164 format, such as +15005550006'],
    ['email', 'provider_type', 'sms', 'cannot be changed from email'],
    ['slack', 'provider_type', 'email', 'cannot be changed from slack'],
    ['email', 'provider_type', 'pigeon', `must be one of ${providerTypes.join(', ')}`],
    ['email', 'provider_type', null, `must be one of ${providerTypes.join(', ')}`],
    ['email', 'provider_type', '', `must be one of ${providerTypes.join(', ')}`],
    ['email', 'id', 'first', 'must be an integer'],
    ['email', 'id', null, 'must be an integer'],
    ['email', 'created_at', 'yesterday', 'must be a date and time such as 2099-12-31T00:00:00Z'],
    ['email', 'updated_at', null, 'must be a date and time such as 2099-12-31T00:00:00Z'],
    ['email', 'colour', 'red', 'is not a known field'],
    ['email', 'token', telegramToken, 'is only allowed for provider_type telegram'],
    ['sms', 'channel', null, 'is only allowed for provider_type slack'],
    ['pagerduty', 'webhook_url', 'https://discord.com/x', 'is only allowed for provider_type slack or discord or teams or webhook'],
    ['slack', 'routing_key', 'x'.repeat(32), 'is only allowed for provider_type pagerduty'],
  ])('%s: returns 422 for %s with the value %j and changes nothing', async (type, field, value, message) => {
    const { path, data } = await createProvider(user, type);
    const { status, body } = await user.api.put(path, { json: { [field]: value } });
    expect([status, body.errors]).toEqual([422, [expect.objectContaining({ in: 'body', pointer: `/${field}`, message })]]);
    expect((await user.api.get(path)).body.data).toEqual(data);
  });
});

describe('sending back what was read', () => {
  /** A change of a field that is not a secret, if the type has one. */
  const changes: Partial<Record<ProviderType, object>> = {
    email: { recipient_email: 'b@example.com' },
    slack: { channel: '#alerts' },
    telegram: { chat_id: '@example_alerts' },
    sms: { phone_number: '+15005550006' },
  };

  test.each(providerTypes)('a provider of type %s can be read, edited and sent back whole', async (type) => {
    const { id, path } = await createProvider(user, type);
    const secrets = () =>
      service.database.asUser(user.id, (em) =>
        em.execute(`select settings -> 'token' as token, settings -> 'webhook_url' as webhook from providers where id = ?`, [id]),
      );
    const stored = await secrets();
    const { data } = (await user.api.get(path)).body;
    const { status, headers, body } = await user.api.put(path, { json: { ...data, ...changes[type] } });
    expect([status, headers.get('ETag')]).toEqual([200, etagOf('provider', id, 2)]);
    expect(body.data).toEqual({ ...data, ...changes[type], updated_at: expect.any(String) });
    expect((await user.api.get(path)).body).toEqual(body);
    expect(await secrets()).toEqual(stored);
  });

  test('read-only fields with other values are ignored, and with the type alone they change nothing', async () => {
    const { path, etag, data } = await createProvider(user);
    const readOnly = { id: 999, created_at: '2020-01-01T00:00:00Z', updated_at: '2020-01-01T00:00:00Z' };
    for (const json of [readOnly, { provider_type: 'email' }, { ...readOnly, provider_type: 'email' }]) {
      const { status, headers, body } = await user.api.put(path, { json });
      expect([status, headers.get('ETag'), body.data]).toEqual([200, etag, data]);
    }
    const { status, body } = await user.api.put(path, { json: { ...readOnly, recipient_email: 'b@example.com' } });
    expect([status, body.data]).toEqual([200, { ...data, recipient_email: 'b@example.com', updated_at: expect.any(String) }]);
  });

  test('returns 422 with the code immutable for another provider_type', async () => {
    const { path, data } = await createProvider(user);
    const { status, body } = await user.api.put(path, { json: { provider_type: 'sms', phone_number: '+15005550006' } });
    expect([status, body.errors]).toEqual([
      422,
      [{ in: 'body', pointer: '/provider_type', code: 'immutable', message: 'cannot be changed from email' }],
    ]);
    expect((await user.api.get(path)).body.data).toEqual(data);
  });
});

describe('secrets', () => {
  test.each([
    ['slack', 'webhook_url', '****path', 'https://hooks.slack.com/services/T1/B1/another'],
    ['telegram', 'token', '****xamp', '987654321:BBExampleExampleExampleExampleExample'],
    ['discord', 'webhook_url', '****disc', 'https://discord.com/api/webhooks/2/another'],
    ['teams', 'webhook_url', '****team', 'https://a.environment.api.powerplatform.com/x?sig=another'],
    ['pagerduty', 'routing_key', '****page', 'another0123456789012345678901234'],
  ] as const)('%s: the mask keeps the stored %s, and another value replaces it', async (type, field, mask, replacement) => {
    const { id, path } = await createProvider(user, type);
    const encrypted = async () => {
      const [row] = await service.database.asUser(user.id, (em) =>
        em.execute<{ value: string }[]>(`select settings -> '${field}' ->> 'encrypted' as value from providers where id = ?`, [id]),
      );
      return row?.value;
    };
    const original = await encrypted();
    expect(original).toEqual(expect.any(String));
    expect((await user.api.put(path, { json: { [field]: mask } })).body.data[field]).toBe(mask);
    expect(await encrypted()).toBe(original);
    expect((await user.api.put(path, { json: { [field]: replacement } })).body.data[field]).toBe(`****${replacement.slice(-4)}`);
    expect(await encrypted()).not.toBe(original);
    const { status, body } = await user.api.put(path, { json: { [field]: '****nope' } });
    expect([status, body.errors]).toEqual([
      422,
      [
        {
          in: 'body',
          pointer: `/${field}`,
          code: 'unknown_mask',
          message: 'is a masked value, but not that of the stored one. Send the full value, or omit the field to keep the stored one',
        },
      ],
    ]);
  });

  test.each(['a😀b😀', 'ab\u2028c'])('rejects another mask with the characters %j instead of storing it as a token', async (characters) => {
    const { path, data } = await createProvider(user, 'telegram');
    const { status, body } = await user.api.put(path, { json: { token: `****${characters}` } });
    expect([status, body.errors[0]?.code]).toEqual([422, 'unknown_mask']);
    expect((await user.api.get(path)).body.data).toEqual(data);
  });

  test('lists a webhook on another host together with the errors of other fields', async () => {
    const { path, data } = await createProvider(user, 'slack');
    const { status, body } = await user.api.put(path, { json: { webhook_url: 'https://evil.example/x', username: 'Keeper', channel: '' } });
    const pointers = body.errors.map((error: { pointer: string }) => error.pointer);
    expect([status, pointers.sort()]).toEqual([422, ['/channel', '/webhook_url']]);
    expect((await user.api.get(path)).body.data).toEqual(data);
  });

  test('returns 422 for a webhook on another host', async () => {
    const { path } = await createProvider(user, 'slack');
    const { status, body } = await user.api.put(path, { json: { webhook_url: 'https://evil.example/x' } });
    expect([status, body.errors]).toEqual([
      422,
      [{ in: 'body', pointer: '/webhook_url', code: 'invalid_webhook', message: 'must be an https URL on hooks.slack.com' }],
    ]);
  });
});

test('returns 412 for an outdated If-Match and changes nothing', async () => {
  const { path, etag } = await createProvider(user);
  await user.api.put(path, { json: { recipient_email: 'b@example.com' } });
  expect((await user.api.put(path, { json: { recipient_email: 'c@example.com' }, headers: { 'If-Match': etag } })).status).toBe(412);
  expect((await user.api.get(path)).body.data.recipient_email).toBe('b@example.com');
});

// On the embedded database a request cannot wait for a transaction.
test.runIf(process.env.TEST_DATABASE_URL)('returns 412 if another request changes the provider while this one waits', async () => {
  const { id, path, etag } = await createProvider(user);
  const { status } = await sendDuringTransaction(
    service.database,
    user.id,
    (em) => em.execute(`update providers set version = version + 1 where id = ?`, [id], 'run'),
    () => user.api.put(path, { json: { recipient_email: 'c@example.com' }, headers: { 'If-Match': etag } }),
  );
  expect(status).toBe(412);
  expect((await user.api.get(path)).body.data.recipient_email).not.toBe('c@example.com');
});

test('If-Match compares the kind, the id and the version, but not the hash', async () => {
  const { id, path } = await createProvider(user);
  const send = (tags: string) => user.api.put(path, { json: {}, headers: { 'If-Match': tags } });
  const tag = (version: number, provider = id) => ifMatch('provider', provider, version);
  for (const tags of [tag(1), `W/${tag(1)}`, `${tag(7)}, ${tag(1)}`, '*']) expect([tags, (await send(tags)).status]).toEqual([tags, 200]);
  for (const tags of [tag(2), tag(11), tag(1, id + 1), ifMatch('website', id, 1), '"1"', '1']) {
    expect([tags, (await send(tags)).status]).toEqual([tags, 412]);
  }
});

describe('access', () => {
  const json = { recipient_email: 'x@example.com' };

  test('returns 401 without a key and 403 without the scope providers:write', async () => {
    const { path, data } = await createProvider(user);
    expect((await service.anonymous.put(path, { json })).status).toBe(401);
    const { status, body } = await (await user.withScopes('providers:read')).put(path, { json });
    expect([status, body.detail]).toEqual([403, expect.stringContaining('"providers:write"')]);
    expect((await user.api.get(path)).body.data).toEqual(data);
  });

  test("returns 404 for another user's provider, as for an unknown id", async () => {
    const { id, path, data } = await createProvider(user);
    const other = await service.createUser();
    const foreign = await other.api.put(path, { json });
    expect([foreign.status, foreign.body.detail]).toEqual([404, `Provider ${id} was not found.`]);
    expectSameProblem(foreign, await other.api.put('/api/providers/999999999', { json }));
    expect((await user.api.get(path)).body.data).toEqual(data);
  });
});
