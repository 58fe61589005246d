import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { testMessage } from '../../../src/monitoring/channels/test-message.ts';
import type { StoredEvent } from '../../../src/monitoring/messages/event.ts';
import { hostileEvents } from '../../support/hostile-content.ts';
import { acceptPagerDutyEvent, openIncidents, pagerDutyEvent } from '../../support/pagerduty-receiver.ts';
import { sampleEvent } from '../../support/sample-event.ts';
import { scripts } from '../../support/web-server.ts';
import { failureOf, message, messageOf, routingKey, startHttpChannels } from './http-channels.ts';

let setup: Awaited<ReturnType<typeof startHttpChannels>>;

beforeAll(async () => {
  setup = await startHttpChannels();
});
beforeEach(() => {
  setup.clearRequests();
  setup.api.script = acceptPagerDutyEvent;
});
afterAll(() => setup.close());

const send = (what = message) => setup.channels.pagerduty.send({ routing_key: routingKey }, what);
const sent = () => setup.api.requests.map(({ body }) => pagerDutyEvent(body));
const topic = message.topic;

/** The event that a message is sent as. */
async function sentAbout(event: StoredEvent) {
  await send(messageOf(event));
  return sent()[0];
}

describe('event', () => {
  test('about a monitor that is down opens an incident', async () => {
    await send();
    expect(sent()).toEqual([
      {
        routing_key: routingKey,
        event_action: 'trigger',
        dedup_key: topic,
        client: 'Northwind operations',
        payload: {
          summary: 'Checkout API is down: 503 Service Unavailable, expected 2xx',
          source: 'api.northwind.example',
          severity: 'critical',
          timestamp: '2026-11-15T01:41:17.000Z',
          component: 'Checkout API',
          group: 'api.northwind.example',
          class: 'monitor.down',
          custom_details: {
            cause: '503 Service Unavailable, expected 2xx',
            since: '2026-11-15T01:41:07.000Z',
            last_good: '2026-11-15T01:40:07.000Z',
            last_good_ms: 614,
            address: 'https://api.northwind.example/v2/checkout/health',
            monitor_id: expect.any(Number),
            incident_id: expect.any(Number),
          },
        },
        links: [{ href: 'https://api.northwind.example/v2/checkout/health', text: 'Open the site' }],
      },
    ]);
  });

  test('about a monitor without an address has its name as source', async () => {
    const event = sampleEvent({ name: 'Nightly backup' });
    if (event.type !== 'monitor.down') expect.fail();
    event.data.monitor.url = null;
    event.lastGood = null;
    expect(await sentAbout(event)).toMatchObject({
      payload: { source: 'Nightly backup', component: 'Nightly backup', custom_details: { address: null, last_good: null } },
      links: [],
    });
    expect(sent()[0]).not.toHaveProperty('payload.group');
  });

  test('about a monitor whose name and address show nothing has this installation as source', async () => {
    const event = sampleEvent({ name: '\u202e' });
    if (event.type !== 'monitor.down') expect.fail();
    event.data.monitor.url = '\u202e';
    expect(await sentAbout(event)).toMatchObject({ payload: { source: 'Northwind operations' } });
    expect(sent()[0]).not.toHaveProperty('payload.component');
  });

  test('that reminds of an incident is added to it', async () => {
    const event = sampleEvent();
    if (event.type !== 'monitor.down') expect.fail();
    expect(await sentAbout({ ...event, type: 'monitor.reminder' })).toMatchObject({
      event_action: 'trigger',
      dedup_key: topic,
      payload: { severity: 'critical', class: 'monitor.reminder' },
    });
  });

  test('about a recovery resolves the incident', async () => {
    expect(await sentAbout(sampleEvent({ type: 'monitor.recovered' }))).toEqual({
      routing_key: routingKey,
      event_action: 'resolve',
      dedup_key: topic,
    });
  });

  test('about a certificate is a warning, and its renewal resolves it', async () => {
    const event = sampleEvent();
    if (event.type !== 'monitor.down') expect.fail();
    const monitor = { ...event.data.monitor, tls_expires_at: '2026-11-24T12:59:00.000Z' };
    const { timestamp } = event;
    expect(await sentAbout({ type: 'monitor.tls_expiring', timestamp, data: { monitor, incident: null } })).toMatchObject({
      event_action: 'trigger',
      payload: {
        summary: 'Certificate of Checkout API expires in 9 days',
        severity: 'warning',
        custom_details: { expires_at: '2026-11-24T12:59:00.000Z' },
      },
    });
    setup.clearRequests();
    const replacedExpiry = '2026-11-24T12:59:00.000Z';
    expect(await sentAbout({ type: 'monitor.tls_renewed', timestamp, data: { monitor, incident: null }, replacedExpiry })).toEqual({
      routing_key: routingKey,
      event_action: 'resolve',
      dedup_key: topic,
    });
  });

  test('about the delivery of alerts is a warning from this installation', async () => {
    const timestamp = '2026-11-15T01:41:07.000Z';
    const failing = { provider_id: 3, provider_type: 'slack', provider_name: 'Ops', failing_since: timestamp, last_delivery_error: 'x' };
    expect(await sentAbout({ type: 'provider.failing', timestamp, data: failing })).toMatchObject({
      payload: { summary: 'Alerts are not delivered: Ops', severity: 'warning', source: 'Northwind operations' },
    });
    setup.clearRequests();
    const reached = { provider_id: 3, provider_type: 'slack', limit: '2,000 messages per hour', until: timestamp };
    expect(await sentAbout({ type: 'alerts.suppressed', timestamp, data: reached })).toMatchObject({
      payload: { summary: 'Alerts are not sent for now', severity: 'warning', custom_details: { limit: '2,000 messages per hour' } },
    });
  });

  test('of a test leaves no open incident', async () => {
    const tested = testMessage({ userId: 1, now: new Date() });
    await send(tested);
    expect(sent()).toMatchObject([
      { event_action: 'trigger', dedup_key: tested.id, payload: { severity: 'info' } },
      { event_action: 'resolve', dedup_key: tested.id },
    ]);
    expect(openIncidents(sent())).toEqual([]);
  });

  test('has the same key when it is sent again', async () => {
    await send();
    await send();
    expect(openIncidents(sent())).toEqual([topic]);
  });

  test.each(hostileEvents)('%s is accepted by PagerDuty', async (_, event) => {
    await sentAbout(event);
    expect(sent()).toHaveLength(1);
    expect(JSON.stringify(sent()[0])).not.toMatch(/[\u202a-\u202e\u2066-\u2069]|\\u0000|\\ud800/);
  });
});

describe('the incident of a test', () => {
  const tested = testMessage({ userId: 1, now: new Date() });
  /** Accepts the event that opens the incident, and then responds to the others with these statuses. */
  const rejectThen = (...statuses: number[]): typeof acceptPagerDutyEvent => {
    return (request, response) => {
      const status = pagerDutyEvent(request.body).event_action === 'resolve' ? statuses.shift() : undefined;
      return (status === undefined ? acceptPagerDutyEvent : scripts.respond('{"status":"error","message":"Sorry"}', status))(
        request,
        response,
      );
    };
  };

  test('is resolved with a second attempt', async () => {
    setup.api.script = rejectThen(500);
    await send(tested);
    expect(sent().map(({ event_action: action }) => action)).toEqual(['trigger', 'resolve', 'resolve']);
  });

  test.each([
    [500, false, 'PagerDuty temporarily rejected the message with status 500: Sorry.'],
    [400, true, 'PagerDuty rejected the message with status 400: Sorry.'],
  ])('that cannot be resolved because of status %i is told', async (status, permanent, reason) => {
    setup.api.script = rejectThen(status, status);
    expect(await failureOf(send(tested))).toMatchObject({
      permanent,
      message: `PagerDuty accepted the test, but the incident that it opened could not be resolved: ${reason}`,
    });
    expect(sent()).toHaveLength(3);
  });

  test('that could not be opened is not resolved', async () => {
    setup.api.script = scripts.respond('{"status":"error","message":"Sorry"}', 500);
    expect(await failureOf(send(tested))).toMatchObject({
      message: 'PagerDuty temporarily rejected the message with status 500: Sorry.',
    });
    expect(sent()).toHaveLength(1);
  });
});

test('the event of a recovery is sent once, and its failure is that of every event', async () => {
  setup.api.script = scripts.respond('{"status":"error","message":"Sorry"}', 500);
  expect(await failureOf(send(messageOf(sampleEvent({ type: 'monitor.recovered' }))))).toMatchObject({
    message: 'PagerDuty temporarily rejected the message with status 500: Sorry.',
  });
  expect(sent()).toHaveLength(1);
});

test('an unknown routing key is a permanent failure with the reasons', async () => {
  const errors = ["Length of 'routing_key' is incorrect", "'routing_key' is unknown"];
  const body = JSON.stringify({ status: 'invalid event', message: 'Event object is invalid', errors });
  setup.api.script = scripts.respond(body, 400);
  expect(await failureOf(send())).toMatchObject({
    permanent: true,
    message:
      "PagerDuty rejected the message with status 400: Event object is invalid: Length of 'routing_key' is incorrect: 'routing_key' is unknown.",
  });
});

test.each([
  ['{"status":"throttle exceeded","message":"Too many events"}', 'did not confirm the message: Too many events'],
  ['<html>proxy</html>', 'did not confirm the message'],
])('a success with the body %j does not count as accepted', async (body, text) => {
  setup.api.script = scripts.respond(body, 202);
  expect(await failureOf(send())).toMatchObject({ permanent: false, message: `PagerDuty ${text}.` });
});
