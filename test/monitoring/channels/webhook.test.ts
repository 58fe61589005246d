import { Webhook } from 'standardwebhooks';
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { readConfig } from '../../../src/config/config.ts';
import { createChannels } from '../../../src/monitoring/channels/registry.ts';
import { testMessage } from '../../../src/monitoring/channels/test-message.ts';
import type { StoredEvent } from '../../../src/monitoring/messages/event.ts';
import { parseRanges } from '../../../src/net/addresses.ts';
import type { Net } from '../../../src/net/resolve.ts';
import { sampleEvent } from '../../support/sample-event.ts';
import { scripts } from '../../support/web-server.ts';
import { parseEvent } from '../../support/webhook-event.ts';
import { externalAddress, failureOf, internalAddress, message, messageOf, signing, startHttpChannels } from './http-channels.ts';

let setup: Awaited<ReturnType<typeof startHttpChannels>>;

beforeAll(async () => {
  setup = await startHttpChannels();
});
beforeEach(() => {
  setup.clearRequests();
  setup.webhook.script = scripts.respond('', 204);
});
afterAll(() => setup.close());

const { delivery } = readConfig({});
const send = (what = message, url = setup.eventUrl, channels = setup.channels) =>
  channels.webhook.send({ webhook_url: url }, what, signing);
const received = () => setup.webhook.requests[0] ?? expect.fail('Nothing was received.');

describe('event', () => {
  test('is the one of the contract, without what only messages to people say', async () => {
    await send();
    const { type, timestamp, data } = sampleEvent();
    expect(parseEvent(received().body)).toEqual({ type, timestamp, data });
    expect([received().method, received().headers['content-type']]).toEqual(['POST', 'application/json']);
  });

  const tls = sampleEvent();
  if (!('monitor' in tls.data)) expect.fail();
  const events: StoredEvent[] = [
    sampleEvent({ type: 'monitor.recovered' }),
    { ...sampleEvent(), type: 'monitor.reminder' } as StoredEvent,
    { type: 'monitor.tls_expiring', timestamp: tls.timestamp, data: { monitor: tls.data.monitor, incident: null } },
    {
      type: 'provider.failing',
      timestamp: tls.timestamp,
      data: { provider_id: 4, provider_type: 'slack', provider_name: null, failing_since: tls.timestamp, last_delivery_error: null },
    },
    {
      type: 'alerts.suppressed',
      timestamp: tls.timestamp,
      data: { provider_id: 4, provider_type: 'webhook', limit: '2,000 messages per hour for this provider', until: tls.timestamp },
    },
    testMessage({ userId: 1, now: new Date() }).event,
  ];
  test.each(events.map((event) => [event.type, event] as const))('%s conforms to the contract', async (type, event) => {
    await send(messageOf(event));
    const { lastGood: _, ...sent } = event;
    expect(parseEvent(received().body)).toEqual(sent);
    expect(JSON.parse(received().body).type).toBe(type);
  });

  test('that an older version has stored without acknowledged_at gets it', async () => {
    const event = sampleEvent();
    if (event.type !== 'monitor.down') expect.fail();
    const { acknowledged_at, ...incident } = event.data.incident;
    await send(messageOf({ ...event, data: { ...event.data, incident: incident as typeof event.data.incident } }));
    expect(parseEvent(received().body)).toMatchObject({ data: { incident: { ...incident, acknowledged_at: null } } });
  });

  test('keeps the time of the acknowledgment', async () => {
    const event = sampleEvent({ type: 'monitor.recovered' });
    if (event.type !== 'monitor.recovered') expect.fail();
    event.data.incident.acknowledged_at = '2026-11-15T01:50:00.000Z';
    await send(messageOf(event));
    expect(parseEvent(received().body)).toMatchObject({ data: { incident: { acknowledged_at: '2026-11-15T01:50:00.000Z' } } });
  });
});

describe('signature', () => {
  test('verifies with each secret as in Standard Webhooks, and not for another body or id', async () => {
    await send();
    const { headers, body } = received();
    expect(headers).toMatchObject({ 'webhook-id': message.id, 'webhook-timestamp': '1794706878' });
    expect(String(headers['webhook-signature']).split(' ')).toHaveLength(2);
    vi.useFakeTimers({ now: signing.at, toFake: ['Date'] });
    try {
      for (const secret of signing.secrets) {
        const verify = (text: string, id = String(headers['webhook-id'])) =>
          new Webhook(secret).verify(text, { ...(headers as Record<string, string>), 'webhook-id': id });
        expect(verify(body)).toEqual(JSON.parse(body));
        expect(() => verify(`${body} `)).toThrow('No matching signature found');
        expect(() => verify(body, 'alert-8')).toThrow('No matching signature found');
      }
    } finally {
      vi.useRealTimers();
    }
  });

  test('is the only one if there is one secret', async () => {
    await setup.channels.webhook.send({ webhook_url: setup.eventUrl }, message, { ...signing, secrets: signing.secrets.slice(0, 1) });
    expect(received().headers['webhook-signature']).toMatch(/^v1,[A-Za-z0-9+/]{43}=$/);
  });

  test('is required', async () => {
    await expect(setup.channels.webhook.send({ webhook_url: setup.eventUrl }, message)).rejects.toThrow('needs a secret');
    expect(setup.webhook.connections).toBe(0);
  });
});

test.each([200, 201, 202, 204, 299])('status %i counts as accepted', async (status) => {
  setup.webhook.script = scripts.respond('', status);
  await send();
});

test('a huge response counts as accepted, and is not read to its end', async () => {
  setup.webhook.script = scripts.endless();
  await send();
});

test('a receiver that quotes the key of the signature is not quoted', async () => {
  const key = signing.secrets[0]?.slice('whsec_'.length) ?? '';
  setup.webhook.script = scripts.respond(`wrong key ${key}`, 401);
  expect(await failureOf(send())).toMatchObject({
    permanent: true,
    message: 'The webhook rejected the message with status 401: wrong key ****.',
  });
});

describe('addresses', () => {
  const channelsFor = (allow: string[], lookup: string[] = []) => {
    const net: Net = { allow: parseRanges(allow), lookup: async () => lookup.map((address) => ({ address, family: 4 })) };
    return createChannels(delivery, net);
  };
  const notAllowed = 'The webhook could not be reached: address not allowed: it is private, local or reserved.';
  const notInNetAllow = 'The webhook could not be reached: address not allowed: without https, only addresses in NET_ALLOW are.';

  test.each([
    ['https to a name with a private address', 'https', [], ['10.0.0.1'], notAllowed],
    ['https to a name with a public and a private address', 'https', [externalAddress], [externalAddress, internalAddress], notAllowed],
    ['http to a name with a public address', 'http', [externalAddress], ['93.184.215.14'], notInNetAllow],
    ['http to a name with an allowed and a public address', 'http', [externalAddress], [externalAddress, '93.184.215.14'], notInNetAllow],
    ['http to a name with a private address', 'http', [externalAddress], [internalAddress], notAllowed],
    ['http if nothing is allowed any more', 'http', [], ['93.184.215.14'], notInNetAllow],
  ])('%s is refused without a connection', async (_, scheme, allow, lookup, reason) => {
    const url = `${scheme}://board.example.com:${setup.internal.port}/hooks/hidden`;
    expect(await failureOf(send(message, url, channelsFor(allow, lookup)))).toMatchObject({ permanent: true, message: reason });
    expect([setup.internal.connections, setup.webhook.connections]).toEqual([0, 0]);
  });

  test('http to an address that the operator allows is sent', async () => {
    setup.internal.script = scripts.respond('', 204);
    await send(message, `${setup.internal.url}/hooks/hidden`, channelsFor([internalAddress]));
    await send(message, `http://board.example.com:${setup.internal.port}/`, channelsFor(['127.0.0.0/8'], [internalAddress]));
    expect(setup.internal.requests).toHaveLength(2);
  });

  test('a certificate for another name is not trusted', async () => {
    const url = `https://chat.example.com:${setup.webhook.port}/hooks/hidden`;
    expect(await failureOf(send(message, url))).toMatchObject({ permanent: false, message: expect.stringContaining('another name') });
    expect(setup.webhook.requests).toHaveLength(0);
  });
});

describe('a URL', () => {
  const errorsOf = (webhook_url: string, allow: string[] = []) =>
    createChannels(delivery, { allow: parseRanges(allow) }).webhook.check?.({ webhook_url });
  const error = (message: string) => [{ in: 'body', pointer: '/webhook_url', code: 'invalid_webhook', message }];
  const notHttps = error('must be an https URL');
  const notPublic = error('must be a public address, not a private, local or reserved one');

  test.each(['https://board.example.com/hooks/x?token=y', 'https://203.1.113.5:8443/', 'https://[2606:4700::1111]/'])('accepts %s', (url) =>
    expect(errorsOf(url)).toEqual([]),
  );

  test.each([
    ['http://board.example.com/', notHttps],
    ['http://93.184.215.14/', notHttps],
    ['http://127.0.0.1/', notHttps],
    ['ftp://board.example.com/', notHttps],
    ['board.example.com/hooks', notHttps],
    ['', notHttps],
    ['https://127.0.0.1/', notPublic],
    ['https://2130706433/', notPublic],
    ['https://localhost/', notPublic],
    ['https://169.254.169.254/latest', notPublic],
    ['https://[::ffff:10.0.0.1]/', notPublic],
    ['https://me:hidden@board.example.com/', error('must not contain a user name or password')],
    ['https://board.example.com/a b', error('must not contain spaces or control characters')],
  ])('rejects %j', (url, errors) => expect(errorsOf(url)).toEqual(errors));

  test.each(['http://10.1.2.3/', 'http://[::ffff:10.1.2.3]:8080/', 'https://10.1.2.3/', 'http://hooks.internal.example/'])(
    'accepts %s if the operator allows 10.0.0.0/8',
    (url) => expect(errorsOf(url, ['10.0.0.0/8'])).toEqual([]),
  );

  test.each(['http://11.1.2.3/', 'http://127.0.0.1/', 'ftp://11.1.2.3/'])('rejects %s if the operator allows 10.0.0.0/8', (url) =>
    expect(errorsOf(url, ['10.0.0.0/8'])).toEqual(notHttps),
  );
});

test('requires no setting', () => {
  expect(setup.channels.webhook.missingSetting()).toBeUndefined();
});
