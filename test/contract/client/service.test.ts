import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import {
  Configuration,
  KeysApi,
  MonitorsApi,
  ProvidersApi,
  problemOf,
  ResponseError,
  WebsitesApi,
} from '../../../generated/client/src/index.ts';
import { allScopes } from '../../../src/auth/scopes.ts';
import { startService, type TestService, type TestUser } from '../../support/service.ts';
import { monitorLifecycle, websiteLifecycle } from './lifecycles.ts';

let service: TestService;
let user: TestUser;
let configuration: Configuration;

beforeAll(async () => {
  service = await startService();
});
beforeEach(async () => {
  user = await service.createUser();
  const { body } = await user.api.post('/api/keys', { json: { name: 'Client', scopes: allScopes } });
  configuration = new Configuration({ basePath: service.url, accessToken: body.data.key });
});
afterAll(() => service.stop());

const rejection = (call: Promise<unknown>): Promise<unknown> =>
  call.then(
    () => expect.unreachable(),
    (error: unknown) => error,
  );

test('creates, reads, changes and deletes a website', async () => {
  const responses = await websiteLifecycle(configuration);
  expect(responses.created).toMatchObject({ domain: 'example.com', email: 1, privacy: 0, has_password: false });
  expect(Date.now() - responses.created.created_at.getTime()).toBeLessThan(60_000);
  expect(responses.listed).toMatchObject({ data: [responses.created], meta: { total: 1, per_page: 25 }, links: { next: null } });
  expect(responses.updated).toMatchObject({ privacy: 2, has_password: true, favorite: true, exclude_ips: '192.0.2.7\n2001:db8::/32' });
  expect(responses.put).toMatchObject({ privacy: 2, favorite: false });
  expect(responses.shown).toEqual(responses.put);
  expect(responses.verification).toEqual({ opens: true });
  expect(responses.found).toEqual(responses.shown);
  expect(responses.deleted).toEqual({ id: responses.created.id, object: 'website', deleted: true });
  expect((await new WebsitesApi(configuration).listWebsites()).data).toEqual([]);
});

test('creates, reads, changes and deletes a monitor with an assigned provider', async () => {
  const responses = await monitorLifecycle(configuration, { provider_type: 'email', recipient_email: 'ops@example.com' });
  const { id } = responses.created;
  expect(responses.created).toMatchObject({ friendly_name: 'Shop', type: 'http', status: 'pending', last_checked_at: null });
  expect(responses.assigned).toMatchObject({
    monitor_id: id,
    provider_id: responses.createdProvider.id,
    enabled: true,
    created_at: expect.any(Date),
  });
  expect(responses.assignments.data).toEqual([responses.assigned]);
  expect(responses.listed).toMatchObject({ data: [{ id }], meta: { total: 1, pageSize: 50 } });
  expect(responses.incidents.data).toEqual([]);
  expect(responses.checked.id).toBe(id);
  expect(responses.strict.http?.json).toEqual({ pointer: '/error', equals: null });
  expect(responses.updated).toMatchObject({ friendly_name: 'Shop (Europe)', status: 'paused' });
  expect(responses.shown).toEqual(responses.updated);
  expect(responses.removed).toMatchObject({ monitor_id: id, deleted: true });
  expect(responses.providerDeleted.deleted).toBe(true);
  expect(responses.deleted).toEqual({ id, object: 'monitor', deleted: true });
});

test.each([
  { provider_type: 'email', recipient_email: 'ops@example.com' },
  { provider_type: 'slack', webhook_url: 'https://hooks.slack.com/services/T0/B0/secret', channel: '#ops' },
  { provider_type: 'telegram', chat_id: -100123, token: `123456:${'a'.repeat(35)}` },
  { provider_type: 'sms', phone_number: '+4915112345678' },
] as const)('returns a provider of type $provider_type as that type', async (body) => {
  const providers = new ProvidersApi(configuration);
  const { data: created } = await providers.createProvider({ body });
  const [provider] = (await providers.listProviders()).data;
  expect(provider).toEqual(created);
  expect(provider?.created_at).toBeInstanceOf(Date);
  expect(provider?.provider_type).toBe(body.provider_type);
  // This also checks that the compiler knows the fields of each branch.
  if (provider?.provider_type === 'email') expect(provider.recipient_email).toBe('ops@example.com');
  if (provider?.provider_type === 'slack') expect([provider.channel, provider.webhook_url]).toEqual(['#ops', '****cret']);
  if (provider?.provider_type === 'telegram') expect(provider.chat_id).toBe('-100123');
  if (provider?.provider_type === 'sms') expect(provider.phone_number).toBe('+4915112345678');
});

test('sends and receives times as Date objects', async () => {
  const expires_at = new Date(Date.now() + 86_400_000);
  const { data } = await new KeysApi(configuration).createKey({ body: { name: 'Short', scopes: ['monitors:read'], expires_at } });
  expect(data.expires_at).toEqual(expires_at);
  expect(data.key).toMatch(/^stkp_/);
});

test('throws a ResponseError for a problem, and problemOf returns its status, code and validation errors', async () => {
  const error = await rejection(new WebsitesApi(configuration).createWebsite({ domain: 'localhost', privacy: 2 }));
  expect(error).toBeInstanceOf(ResponseError);
  expect(await problemOf(error)).toMatchObject({
    status: 422,
    code: 'validation_failed',
    errors: expect.arrayContaining([expect.objectContaining({ in: 'body', pointer: '/domain' })]),
  });
  expect((error as ResponseError).response.bodyUsed).toBe(false);
  const unknown = await rejection(new MonitorsApi(new Configuration({ basePath: service.url })).listMonitors());
  expect(await problemOf(unknown)).toMatchObject({ status: 401 });
});

test('problemOf returns undefined for an error that is not a problem of the service', async () => {
  const unreachable = new MonitorsApi(new Configuration({ basePath: 'http://127.0.0.1:1' }));
  expect(await problemOf(await rejection(unreachable.listMonitors()))).toBe(undefined);
  expect(await problemOf(new ResponseError(new Response('<h1>Bad gateway</h1>', { status: 502 })))).toBe(undefined);
});

test('supports ETag, ifMatch, ifNoneMatch and idempotencyKey', async () => {
  const websites = new WebsitesApi(configuration);
  const first = await websites.createWebsiteRaw({ domain: 'example.com', idempotencyKey: 'same' });
  const { data: website } = await first.value();
  const version = first.raw.headers.get('ETag') ?? '';
  expect((await websites.createWebsite({ domain: 'example.com', idempotencyKey: 'same' })).data).toEqual(website);
  const unchanged = await rejection(websites.showWebsite({ id: website.id, ifNoneMatch: version }));
  expect((unchanged as ResponseError).response.status).toBe(304);
  await websites.updateWebsite({ id: website.id, favorite: true, ifMatch: version });
  const stale = await rejection(websites.updateWebsite({ id: website.id, favorite: false, ifMatch: version }));
  expect(await problemOf(stale)).toMatchObject({ status: 412 });
});
