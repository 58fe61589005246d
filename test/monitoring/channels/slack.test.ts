import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { readConfig } from '../../../src/config/config.ts';
import { createChannels } from '../../../src/monitoring/channels/registry.ts';
import { testMessage } from '../../../src/monitoring/channels/test-message.ts';
import { hostileContent } from '../../support/hostile-content.ts';
import { sampleEvent } from '../../support/sample-event.ts';
import { acceptSlackMessage, slackTexts } from '../../support/slack-receiver.ts';
import { scripts } from '../../support/web-server.ts';
import { externalAddress, failureOf, internalAddress, message, messageOf, startHttpChannels } from './http-channels.ts';

let setup: Awaited<ReturnType<typeof startHttpChannels>>;

beforeAll(async () => {
  setup = await startHttpChannels();
});
beforeEach(() => {
  setup.clearRequests();
  setup.slack.script = acceptSlackMessage;
});
afterAll(() => setup.close());

const defaults = { channel: null, username: null };
const send = (what = message, settings: { channel: string | null; username: string | null } = defaults) =>
  setup.channels.slack.send({ webhook_url: setup.webhookUrl, ...settings }, what);
const sentBody = () => JSON.parse(setup.slack.requests[0]?.body ?? '');

const since = '<!date^1794706867^{date_short_pretty} {time}|Sun 15 Nov, 01:41 UTC>';
const to = '<!date^1794708258^{date_short_pretty} {time}|Sun 15 Nov, 02:04 UTC>';
const host = '<https://api.northwind.example/v2/checkout/health|api.northwind.example>';

describe('message', () => {
  test('about a monitor that is down has title and line as text, and the facts below', async () => {
    await send();
    expect(setup.slack.requests[0]?.headers['content-type']).toBe('application/json');
    const context = `Since ${since} · last good 614 ms · ${host} · Northwind operations`;
    expect(sentBody()).toEqual({
      text: '*❌ Down: Checkout API*\n503 Service Unavailable, expected 2xx',
      mrkdwn: true,
      unfurl_links: false,
      unfurl_media: false,
      attachments: [{ color: '#d1372a', blocks: [{ type: 'context', elements: [{ type: 'mrkdwn', verbatim: true, text: context }] }] }],
    });
  });

  test('about a recovery says how long the monitor was down', async () => {
    await send(messageOf(sampleEvent({ type: 'monitor.recovered' })));
    const context = `503 Service Unavailable, expected 2xx · now 205 ms · ${host} · Northwind operations`;
    expect(sentBody()).toMatchObject({
      text: `*✅ Recovered: Checkout API*\nWas down 23 min, ${since} to ${to}`,
      attachments: [{ color: '#0f766e', blocks: [{ elements: [{ text: context }] }] }],
    });
  });

  test('is escaped, so that it cannot mention people or contain markup', async () => {
    await send(messageOf(sampleEvent({ name: '<!channel> & <@U1>', cause: 'the body contains "<!here>"' })));
    expect(sentBody().text).toBe('*❌ Down: &lt;!channel&gt; &amp; &lt;@U1&gt;*\nthe body contains "&lt;!here&gt;"');
  });

  test('contains the name of the installation, which is no markup either', async () => {
    const { slack } = createChannels(readConfig({ INSTALLATION_NAME: 'R&D <ops>' }).delivery, setup.net);
    await slack.send({ webhook_url: setup.webhookUrl, ...defaults }, message);
    expect(sentBody().attachments[0].blocks[0].elements[0].text).toMatch(/ · R&amp;D &lt;ops&gt;$/);
  });

  test('is not formatted if a name contains characters of the formatting', async () => {
    await send(messageOf(sampleEvent({ name: '*Shop* _1_ `x` ~y~' })));
    expect(sentBody()).toMatchObject({
      text: '❌ Down: *Shop* _1_ `x` ~y~\n503 Service Unavailable, expected 2xx',
      mrkdwn: false,
    });
  });

  test('has a link that a URL cannot end', async () => {
    const event = sampleEvent();
    if (event.type !== 'monitor.down') expect.fail();
    event.data.monitor.url = 'https://shop.example/a|b>c<!channel>';
    await send(messageOf(event));
    expect(sentBody().attachments[0].blocks[0].elements[0].text).toContain('<https://shop.example/a%7Cb%3Ec%3C!channel%3E|shop.example>');
  });

  test.each(hostileContent)('%s is accepted by Slack and says what is the matter', async (_, content) => {
    await send({ ...message, content });
    const { text, context } = slackTexts(setup.slack.requests[0]?.body ?? '');
    expect(text).toContain(content.title.slice(0, 5));
    expect(context).toMatch(/(^| · )Northwind operations$/);
    // Nothing was cut within an entity, a time or a link.
    for (const shown of [text, context]) expect(shown.replace(/&(amp|lt|gt);|<(!date|https?:)[^<>]*>/g, '')).not.toMatch(/[&<>]/);
  });

  test.each([
    ['is a link if its URL has 2,000 characters as it is sent', '&'.repeat(394), true],
    ['is no link if its URL is longer', '&'.repeat(395), false],
  ])('has an address that %s', async (_, query, isLink) => {
    const event = sampleEvent();
    if (event.type !== 'monitor.down') expect.fail();
    event.data.monitor.url = `https://shop.example/?12345678${query}`;
    await send(messageOf(event));
    const { context } = slackTexts(setup.slack.requests[0]?.body ?? '');
    const url = `https://shop.example/?12345678${'&amp;'.repeat(query.length)}`;
    expect(url.length <= 2000).toBe(isLink);
    expect(context.split(' · ').at(-2)).toBe(isLink ? `<${url}|shop.example>` : 'shop.example');
  });

  test.each([
    ['x'.repeat(200), 'x'.repeat(200)],
    ['x'.repeat(201), `${'x'.repeat(199)}…`],
    ['&'.repeat(41), `${'&amp;'.repeat(39)}…`],
  ])('has a cause of at most 200 characters below the text, with those of entities', async (cause, shown) => {
    await send(messageOf(sampleEvent({ type: 'monitor.recovered', cause })));
    expect(slackTexts(setup.slack.requests[0]?.body ?? '').context.split(' · ')[0]).toBe(shown);
  });

  test('contains the channel and the user name', async () => {
    await send(message, { channel: '#ops', username: 'Keeper' });
    expect(sentBody()).toMatchObject({ channel: '#ops', username: 'Keeper' });
  });

  test('of a test says so', async () => {
    await send(testMessage({ userId: 1, now: new Date() }));
    expect(sentBody().text).toMatch(/^🔔 Test notification /);
  });
});

test('every 2xx response counts as accepted, even with an endless body', async () => {
  setup.slack.script = scripts.endless();
  await send();
});

test('does not call a stored webhook whose host is no longer allowed', async () => {
  const webhookUrl = `https://other.example:${setup.slack.port}/services/hidden`;
  expect(await failureOf(setup.channels.slack.send({ webhook_url: webhookUrl, ...defaults }, message))).toMatchObject({
    permanent: true,
    message: 'The Slack webhook URL must be an https URL on hooks.slack.com.',
  });
  expect(setup.slack.connections).toBe(0);
});

test('does not call a webhook whose name resolves to a private address', async () => {
  const { delivery } = readConfig({ SLACK_HOSTS: 'chat.example.com' });
  const net = { ...setup.net, lookup: async () => [externalAddress, internalAddress].map((address) => ({ address, family: 4 })) };
  const webhookUrl = `https://chat.example.com:${setup.internal.port}/hooks/hidden`;
  expect(await failureOf(createChannels(delivery, net).slack.send({ webhook_url: webhookUrl, ...defaults }, message))).toMatchObject({
    permanent: true,
    message: 'Slack could not be reached: address not allowed: it is private, local or reserved.',
  });
  expect([setup.slack.connections, setup.internal.connections]).toEqual([0, 0]);
});

test('does not trust a certificate for another name', async () => {
  const { delivery } = readConfig({ SLACK_HOSTS: 'chat.example.com' });
  const webhookUrl = `https://chat.example.com:${setup.slack.port}/hooks/hidden`;
  expect(await failureOf(createChannels(delivery, setup.net).slack.send({ webhook_url: webhookUrl, ...defaults }, message))).toMatchObject({
    permanent: false,
    message: 'Slack could not be reached: TLS certificate is for another name.',
  });
  expect(setup.slack.requests).toHaveLength(0);
});

test('requires no setting', () => {
  expect(setup.channels.slack.missingSetting()).toBeUndefined();
});

describe('a webhook URL', () => {
  const { delivery } = readConfig({ SLACK_HOSTS: 'chat.example.com' });
  const errorsOf = (webhook_url: string) => createChannels(delivery, { allow: [] }).slack.check?.({ webhook_url });
  const error = (message: string) => [{ in: 'body', pointer: '/webhook_url', code: 'invalid_webhook', message }];

  test.each(['https://hooks.slack.com/services/T/B/x', 'https://HOOKS.slack.com/anything', 'https://chat.example.com:8443/hooks/x'])(
    'accepts %s',
    (url) => expect(errorsOf(url)).toEqual([]),
  );

  test.each([
    'http://hooks.slack.com/services/T/B/x',
    'https://hooks.slack.com.evil.example/services',
    'https://hooks.slack.com@evil.example/services',
    'https://evil.example/hooks.slack.com',
    'https://evil.example\\@hooks.slack.com/',
    'https://sub.hooks.slack.com/',
    'https://127.0.0.1/',
    'https://hooks.slack.com/a b',
    'hooks.slack.com/services',
    '',
  ])('rejects %j', (url) => expect(errorsOf(url)).toEqual(error('must be an https URL on hooks.slack.com or chat.example.com')));

  test('rejects a user name', () =>
    expect(errorsOf('https://me@hooks.slack.com/')).toEqual(error('must not contain a user name or password')));
});
