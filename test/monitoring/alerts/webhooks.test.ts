// What a webhook receives from the service: real events, their ids, retries and the log.
import { Webhook } from 'standardwebhooks';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { queryInTransaction } from '../../../src/db/statement.ts';
import { incidentEvents, tlsEvents } from '../../../src/monitoring/alerts/alert-events.ts';
import { queueAlerts } from '../../../src/monitoring/alerts/outbox.ts';
import type { Incident } from '../../../src/monitoring/incidents/incident.entity.ts';
import { wakeDispatcher } from '../../../src/monitoring/wake.ts';
import { startReceivers } from '../../support/receivers.ts';
import { startService, type TestService, type TestUser } from '../../support/service.ts';
import { setScript } from '../../support/set-script.ts';
import { type ReceivedRequest, scripts } from '../../support/web-server.ts';
import { parseEvent } from '../../support/webhook-event.ts';
import { createMonitor } from '../factories.ts';
import { queueOutages } from './queue-outages.ts';

let receivers: Awaited<ReturnType<typeof startReceivers>>;
let service: TestService;
let user: TestUser;
let providerId: number;
let secret: string;

beforeAll(async () => {
  receivers = await startReceivers();
  service = await startService({ delivery: receivers.delivery }, { net: receivers.net, engine: true });
});
beforeEach(async () => {
  user = await service.createUser();
  const { body } = await user.api.post('/api/providers', { json: receivers.providers.webhook });
  [providerId, secret] = [body.data.id, body.data.signing_secret];
  receivers.webhook.requests = [];
});
afterAll(async () => {
  await service.stop();
  await receivers.close();
});

const requests = () => receivers.webhook.requests;
const waitForRequests = (count: number) => expect.poll(() => requests().length, { timeout: 15_000 }).toBe(count);
const deliveries = async () => (await user.api.get(`/api/providers/${providerId}/deliveries`)).body.data;
const idOf = ({ headers }: ReceivedRequest) => headers['webhook-id'];

/** Checks the signature of a request and returns its event. */
function verified({ body, headers }: ReceivedRequest) {
  new Webhook(secret).verify(body, headers as Record<string, string>);
  return parseEvent(body);
}

async function queueOutage(count = 1) {
  const { id } = await createMonitor(user, { is_active: false });
  await queueOutages(service.database, { userId: user.id, monitorId: id, providerId, count });
}

test('events about a monitor show what the API shows, without secret headers and the body', async () => {
  const { id } = await createMonitor(user, {
    is_active: false,
    http: { method: 'POST', body: 'hidden-body', headers: [{ name: 'Authorization', value: 'Bearer hidden-header-0123456789' }] },
  });
  await user.api.post(`/api/monitors/${id}/notifications`, { json: { provider_id: providerId } });
  await service.database.asEngine(async (em) => {
    const query = queryInTransaction(em);
    const [row] = await em.execute<{ id: number; started_at: Date }[]>(
      `insert into incidents (user_id, monitor_id, started_at, cause, status_code) values (?, ?, app_now(), 'HTTP 503', 503) returning id, started_at`,
      [user.id, id],
    );
    const incident = { id: Number(row?.id), userId: user.id, monitorId: id, startedAt: new Date(), cause: 'HTTP 503', statusCode: 503 };
    const resolved = { ...incident, resolvedAt: new Date() };
    await queueAlerts(query, await incidentEvents(query, 'monitor.down', [incident as Incident]));
    await queueAlerts(query, await incidentEvents(query, 'monitor.recovered', [resolved as Incident]));
    await queueAlerts(query, await tlsEvents(query, [id]));
    await query(wakeDispatcher({}));
  });
  await waitForRequests(3);
  const [listed] = (await user.api.get('/api/monitors')).body.data;
  const events = requests().map(verified);
  expect(events.map(({ type }) => type)).toEqual(expect.arrayContaining(['monitor.down', 'monitor.recovered', 'monitor.tls_expiring']));
  for (const event of events) expect(event.data).toMatchObject({ monitor: listed });
  expect(events.map(({ type }) => type).indexOf('monitor.down')).toBeLessThan(events.map(({ type }) => type).indexOf('monitor.recovered'));
  expect(
    requests()
      .map(({ body }) => body)
      .join(),
  ).not.toContain('hidden');
});

test('each alert is a message of its own, and is logged as sent', async () => {
  await queueOutage(12);
  await waitForRequests(12);
  expect(new Set(requests().map(idOf)).size).toBe(12);
  for (const request of requests()) expect(verified(request)).toMatchObject({ type: 'monitor.down' });
  const countSent = async () => (await deliveries()).filter(({ status }: { status: string }) => status === 'sent').length;
  await expect.poll(countSent, { timeout: 15_000 }).toBe(12);
});

test('retries and a redelivery have the same webhook-id and body, and each attempt has its own time and signature', async () => {
  setScript(receivers.webhook, (request, response) => scripts.respond('busy', requests().length === 1 ? 500 : 204)(request, response));
  await queueOutage();
  await waitForRequests(2);
  await expect
    .poll(async () => (await deliveries())[0], { timeout: 15_000 })
    .toMatchObject({ status: 'sent', attempts: 2, event: 'monitor.down' });
  const [{ id }] = await deliveries();
  await user.api.post(`/api/deliveries/${id}/redeliver`);
  await waitForRequests(3);
  requests().forEach(verified);
  expect(new Set(requests().map(({ body }) => body)).size).toBe(1);
  const [webhookId, ...others] = new Set(requests().map(idOf));
  expect(webhookId).toMatch(new RegExp(`^alert-${id}-\\d+-[0-9a-f-]{36}$`));
  expect(others).toEqual([]);
  const [first, second] = requests().map(({ headers }) => Number(headers['webhook-timestamp']));
  expect(Number(second)).toBeGreaterThanOrEqual(Number(first));
  await expect.poll(async () => (await deliveries())[0], { timeout: 15_000 }).toMatchObject({ status: 'sent', attempts: 1 });
});

test('410 fails at once and is shown, and Retry-After of 503 is respected', async () => {
  setScript(receivers.webhook, scripts.respond('gone', 410));
  await queueOutage();
  const gone = 'The webhook rejected the message with status 410: gone.';
  await expect
    .poll(async () => (await deliveries())[0], { timeout: 15_000 })
    .toMatchObject({ status: 'failed', attempts: 1, last_error: gone });
  expect((await user.api.get(`/api/providers/${providerId}`)).body.data.last_delivery_error).toBe(gone);
  receivers.webhook.script = scripts.respond('later', 503, { 'retry-after': '600' });
  await queueOutage();
  const waiting = { status: 'queued', attempts: 1, last_error: expect.any(String), next_attempt_at: expect.any(String) };
  await expect.poll(async () => (await deliveries())[0], { timeout: 15_000 }).toMatchObject(waiting);
  const [{ next_attempt_at }] = await deliveries();
  expect(Date.parse(next_attempt_at) - service.database.now()).toBeGreaterThan(500_000);
});

test('a test notification is an event, and is logged', async () => {
  const { status, body } = await user.api.post(`/api/providers/${providerId}/test`);
  expect([status, body.message]).toEqual([200, 'The test notification was accepted by the webhook.']);
  const [request] = requests() as [ReceivedRequest];
  expect(verified(request)).toEqual({ type: 'test', timestamp: expect.any(String), data: {} });
  expect(idOf(request)).toMatch(/^test-[0-9a-f-]{36}$/);
  expect(await deliveries()).toMatchObject([{ event: 'test', status: 'sent' }]);
});

test('a redirect fails with a reason that contains no secret, and is not followed', async () => {
  setScript(receivers.webhook, scripts.redirect(`https://board.example.com:${receivers.webhook.port}/elsewhere`, 308));
  const { status, body, text } = await user.api.post(`/api/providers/${providerId}/test`);
  expect([status, body.detail]).toEqual([502, 'The webhook responded with a redirect (status 308), which is not followed.']);
  expect(text).not.toContain('hidden');
  expect(requests()).toHaveLength(1);
});

test('a response that quotes the URL and the secret is redacted', async () => {
  setScript(receivers.webhook, (request, response) =>
    scripts.respond(`no ${request.path} ${secret} ${secret.slice(6)}`, 400)(request, response),
  );
  const { body } = await user.api.post(`/api/providers/${providerId}/test`);
  expect(body.detail).toBe('The webhook rejected the message with status 400: no **** **** ****.');
});
