import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import type { ApiResponse } from '../../support/api-client.ts';
import { openIncidents, pagerDutyEvent } from '../../support/pagerduty-receiver.ts';
import { startReceivers } from '../../support/receivers.ts';
import { expectSameProblem } from '../../support/same-problem.ts';
import { startService, type TestService, type TestUser } from '../../support/service.ts';
import { setScript } from '../../support/set-script.ts';
import { scripts } from '../../support/web-server.ts';

let receivers: Awaited<ReturnType<typeof startReceivers>>;
let service: TestService;
let user: TestUser;

beforeAll(async () => {
  receivers = await startReceivers();
  service = await startService({ delivery: receivers.delivery }, { net: receivers.net });
});
beforeEach(async () => {
  user = await service.createUser();
});
afterAll(async () => {
  await service.stop();
  await receivers.close();
});

/** Creates a provider and returns the path of its test operation. */
async function createProvider(type: keyof typeof receivers.providers): Promise<string> {
  const { body } = await user.api.post('/api/providers', { json: receivers.providers[type] });
  return `/api/providers/${body.data.id}/test`;
}

test.each([
  ['email', '🔔 Test notification', 'the mail server'],
  ['slack', '🔔 Test notification', 'Slack'],
  ['telegram', '🔔 Test notification', 'Telegram'],
  ['sms', 'Test notification', 'the SMS service'],
  ['discord', '🔔 Test notification', 'Discord'],
  ['teams', '🔔 Test notification', 'Teams'],
] as const)('%s: returns 200 once the message is accepted; its text starts with "%s"', async (type, start, receiver) => {
  const before = receivers.received()[type].length;
  const { status, body } = await user.api.post(await createProvider(type));
  expect([status, body.message]).toEqual([200, `The test notification was accepted by ${receiver}.`]);
  const texts = receivers.received()[type].slice(before);
  expect(texts).toHaveLength(1);
  expect(texts[0]?.startsWith(start)).toBe(true);
});

test('pagerduty: opens an incident of severity info and resolves it', async () => {
  const before = receivers.pagerDuty.requests.length;
  const { status, body } = await user.api.post(await createProvider('pagerduty'));
  expect([status, body.message]).toEqual([200, 'The test notification was accepted by PagerDuty.']);
  const events = receivers.pagerDuty.requests.slice(before).map((request) => pagerDutyEvent(request.body));
  expect(events).toMatchObject([
    { event_action: 'trigger', payload: { severity: 'info', summary: 'Test notification from Sitekeeper' } },
    { event_action: 'resolve' },
  ]);
  expect(openIncidents(events)).toEqual([]);
});

test('returns 502 with the response of the receiver, without secrets', async () => {
  setScript(receivers.slack, scripts.respond('no_service', 404));
  const { status, body, text } = await user.api.post(await createProvider('slack'));
  expect([status, body.code, body.detail]).toEqual([502, 'delivery_failed', 'Slack rejected the message with status 404: no_service.']);
  expect(text).not.toContain('hidden');
});

test('returns 502 if the receiver closes the connection', async () => {
  setScript(receivers.telegram, scripts.reset());
  const { status, body, text } = await user.api.post(await createProvider('telegram'));
  expect([status, body.detail]).toEqual([502, 'Telegram could not be reached: connection closed before the response was complete.']);
  expect(text).not.toContain('hidden');
});

test('returns 503 with the name of the missing setting if delivery is not configured', async () => {
  const unconfigured = await startService({}, { database: service.database });
  const { api } = await unconfigured.createUser();
  for (const [type, detail] of [
    ['email', 'E-mail delivery is not configured on this service. Ask the operator to set SMTP_URL.'],
    ['sms', 'SMS delivery is not configured on this service. Ask the operator to set TWILIO_ACCOUNT_SID.'],
  ] as const) {
    const created = await api.post('/api/providers', { json: receivers.providers[type] });
    const { status, body, headers } = await api.post(`/api/providers/${created.body.data.id}/test`);
    expect([status, body.code, headers.get('Retry-After')]).toEqual([503, 'delivery_not_configured', null]);
    expect(body.detail).toBe(detail);
  }
  await unconfigured.stop();
});

test('returns 429 after 5 tests of a provider per minute and after 20 tests of a user per hour', async () => {
  const paths: string[] = [];
  for (let count = 0; count < 5; count++) paths.push(await createProvider('email'));
  const responses: ApiResponse[] = [];
  for (let count = 0; count < 6; count++) responses.push(await user.api.post(paths[0] ?? ''));
  expect(responses.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200, 429]);
  const lastSeconds = () => Number(responses.at(-1)?.headers.get('Retry-After'));
  expect(responses.at(-1)?.body.detail).toMatch(/^A provider can be tested 5 times per minute\. Retry in \d+ seconds?\.$/);
  expect(lastSeconds()).toBeLessThanOrEqual(60);
  for (const path of paths.slice(1)) for (let count = 0; count < 5; count++) responses.push(await user.api.post(path));
  expect(responses.filter(({ status }) => status === 200)).toHaveLength(20);
  expect(responses.at(-1)?.body.detail).toMatch(/^A user can send 20 test notifications per hour\. Retry in \d+ seconds?\.$/);
  expect(lastSeconds()).toBeGreaterThan(3000);
});

test('SMS tests count toward the limit of SMS per day, also after the provider was created again; beyond it, returns 429', async () => {
  const limited = await startService(
    { delivery: { ...receivers.delivery, smsPerUserPerDay: 2 } },
    { database: service.database, net: receivers.net },
  );
  const { api } = await limited.createUser();
  const before = receivers.twilio.requests.length;
  const statuses: number[] = [];
  for (let count = 0; count < 3; count++) {
    const { body } = await api.post('/api/providers', { json: receivers.providers.sms });
    const { status, headers, body: problem } = await api.post(`/api/providers/${body.data.id}/test`);
    statuses.push(status);
    await api.delete(`/api/providers/${body.data.id}`);
    if (status !== 429) continue;
    const seconds = Number(headers.get('Retry-After'));
    expect(problem.detail).toMatch(/^You have reached the limit of 2 SMS per day\. It starts again in \d+ seconds?\.$/);
    expect(seconds).toBeGreaterThan(0);
    expect(seconds).toBeLessThanOrEqual(86_400);
  }
  expect(statuses).toEqual([200, 200, 429]);
  expect(receivers.twilio.requests.length - before).toBe(2);
  const email = await api.post('/api/providers', { json: receivers.providers.email });
  expect((await api.post(`/api/providers/${email.body.data.id}/test`)).status).toBe(200);
  await limited.stop();
});

test('returns 503 for SMS if the operator has disabled it with a limit of 0', async () => {
  const disabled = await startService(
    { delivery: { ...receivers.delivery, smsPerUserPerDay: 0 } },
    { database: service.database, net: receivers.net },
  );
  const { api } = await disabled.createUser();
  const { body } = await api.post('/api/providers', { json: receivers.providers.sms });
  const test = await api.post(`/api/providers/${body.data.id}/test`);
  expect([test.status, test.body.code]).toEqual([503, 'delivery_not_configured']);
  expect(test.body.detail).toContain('SMS_PER_USER_PER_DAY');
  await disabled.stop();
});

test('returns 401 without a key and 403 without the scope providers:write', async () => {
  const path = await createProvider('email');
  expect((await service.anonymous.post(path)).status).toBe(401);
  const { status, body } = await (await user.withScopes('providers:read')).post(path);
  expect([status, body.detail]).toEqual([403, expect.stringContaining('"providers:write"')]);
});

test("returns 404 for another user's provider, as for an unknown id", async () => {
  const path = await createProvider('email');
  const other = await service.createUser();
  const foreign = await other.api.post(path);
  expect([foreign.status, foreign.body.detail]).toEqual([404, expect.stringMatching(/^Provider \d+ was not found\.$/)]);
  expectSameProblem(foreign, await other.api.post('/api/providers/999999999/test'));
});
