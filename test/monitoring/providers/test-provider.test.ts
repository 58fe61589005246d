import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { startReceivers } from '../../support/receivers.ts';
import { startService, type TestService, type TestUser } from '../../support/service.ts';
import { scripts } from '../../support/web-server.ts';

let others: Awaited<ReturnType<typeof startReceivers>>;
let service: TestService;
let user: TestUser;

beforeAll(async () => {
  others = await startReceivers();
  service = await startService({ delivery: others.delivery }, { net: others.net });
});
beforeEach(async () => {
  user = await service.createUser();
});
afterAll(async () => {
  await service.stop();
  await others.close();
});

async function provider(json: object): Promise<string> {
  return `/api/providers/${(await user.api.post('/api/providers', { json })).body.data.id}/test`;
}

test.each([
  ['email', '🔔 Test notification'],
  ['slack', '🔔 Test notification'],
  ['telegram', '🔔 Test notification'],
  ['sms', 'Test notification'],
] as const)('200 when %s has taken the message, whose text starts with "%s"', async (type, start) => {
  const { status, body } = await user.api.post(await provider(others.providers[type]));
  expect([status, body.message]).toEqual([200, expect.stringContaining('accepted')]);
  const texts = others.received()[type];
  expect(texts).toHaveLength(1);
  expect(texts[0]?.startsWith(start)).toBe(true);
});

test('502 with what the other side said, without a secret in it', async () => {
  const { script } = others.slack;
  others.slack.script = scripts.accept('no_service', 404);
  const { status, body, text } = await user.api.post(await provider(others.providers.slack));
  others.slack.script = script;
  expect([status, body.code]).toEqual([502, 'delivery_failed']);
  expect(body.detail).toContain('no_service');
  expect(text).not.toContain('hidden');
});

test('502 when the other side hangs up', async () => {
  const { script } = others.telegram;
  others.telegram.script = scripts.reset();
  const { status, text } = await user.api.post(await provider(others.providers.telegram));
  others.telegram.script = script;
  expect(status).toBe(502);
  expect(text).not.toContain('hidden');
});

test('503 delivery_not_configured names the setting that is missing', async () => {
  const bare = await startService({}, { database: service.database });
  const { api } = await bare.createUser();
  for (const [type, setting] of [
    ['email', 'SMTP_URL'],
    ['sms', 'TWILIO_ACCOUNT_SID'],
  ] as const) {
    const created = await api.post('/api/providers', { json: others.providers[type] });
    const { status, body, headers } = await api.post(`/api/providers/${created.body.data.id}/test`);
    expect([status, body.code, headers.get('Retry-After')]).toEqual([503, 'delivery_not_configured', null]);
    expect(body.detail).toContain(setting);
  }
  await bare.stop();
});

test('5 a minute for each provider, 20 an hour for each user', async () => {
  const paths = [];
  for (let count = 0; count < 5; count++) paths.push(await provider(others.providers.email));
  const statuses = [];
  for (let call = 0; call < 6; call++) statuses.push((await user.api.post(paths[0] ?? '')).status);
  expect(statuses).toEqual([200, 200, 200, 200, 200, 429]);
  for (const path of paths.slice(1)) for (let call = 0; call < 5; call++) statuses.push((await user.api.post(path)).status);
  expect(statuses.filter((status) => status === 200)).toHaveLength(20);
});
