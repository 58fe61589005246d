import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { readConfig } from '../../../src/config/config.ts';
import { discordMessage } from '../../../src/monitoring/channels/discord/discord-message.ts';
import { createChannels } from '../../../src/monitoring/channels/registry.ts';
import { testMessage } from '../../../src/monitoring/channels/test-message.ts';
import { groupContent } from '../../../src/monitoring/messages/group-content.ts';
import type { Content } from '../../../src/monitoring/messages/message-content.ts';
import { acceptDiscordMessage, discordEmbed, withoutEscapes } from '../../support/discord-receiver.ts';
import { hostileContent, hostileNames } from '../../support/hostile-content.ts';
import { sampleEvent } from '../../support/sample-event.ts';
import { scripts } from '../../support/web-server.ts';
import { failureOf, message, messageOf, startHttpChannels } from './http-channels.ts';

let setup: Awaited<ReturnType<typeof startHttpChannels>>;

beforeAll(async () => {
  setup = await startHttpChannels();
});
beforeEach(() => {
  setup.clearRequests();
  setup.discord.script = acceptDiscordMessage;
});
afterAll(() => setup.close());

const send = (what = message, webhook_url = setup.discordUrl) => setup.channels.discord.send({ webhook_url }, what);
const sent = () => discordEmbed(setup.discord.requests[0]?.body ?? '');

/** Sends a content through the strict receiver. */
async function embedOf(content: Content) {
  await send({ ...message, content });
  return sent();
}

describe('message', () => {
  test('about a monitor that is down has the facts as fields, and a title that links to the site', async () => {
    await send();
    expect(JSON.parse(setup.discord.requests[0]?.body ?? '')).toEqual({
      embeds: [
        {
          color: 0xd1372a,
          title: '❌ Down\\: Checkout API',
          url: 'https://api.northwind.example/v2/checkout/health',
          description: '503 Service Unavailable, expected 2xx',
          fields: [
            { name: 'Since', value: '<t:1794706867:f> (<t:1794706867:R>)', inline: true },
            { name: 'Last good', value: '614 ms', inline: true },
            { name: 'Address', value: 'api.northwind.example', inline: true },
          ],
          footer: { text: 'Northwind operations' },
          timestamp: '2026-11-15T01:41:17.000Z',
        },
      ],
      allowed_mentions: { parse: [] },
    });
  });

  test('about a recovery says how long the monitor was down', async () => {
    await send(messageOf(sampleEvent({ type: 'monitor.recovered' })));
    expect(sent()).toMatchObject({
      color: 0x0f766e,
      title: '✅ Recovered\\: Checkout API',
      description: 'Was down 23 min, <t:1794706867:f> to <t:1794708258:f>',
      fields: [
        { name: 'Cause', value: '503 Service Unavailable, expected 2xx' },
        { name: 'Now', value: '205 ms' },
        { name: 'Address', value: 'api.northwind.example' },
      ],
    });
  });

  test('about a group lists the monitors', async () => {
    const grouped = Array.from({ length: 12 }, (_, index) => ({
      type: 'monitor.down' as const,
      monitorId: index,
      event: sampleEvent({ name: `Shop ${index}` }),
    }));
    const { title, description, fields } = await embedOf(groupContent(grouped));
    expect([title, fields]).toEqual(['❌ 12 monitors down', []]);
    const lines = withoutEscapes(description).split('\n');
    expect(lines).toHaveLength(11);
    expect([lines[0], lines.at(-1)]).toEqual(['Shop 0: 503 Service Unavailable', 'and 2 more']);
  });

  test('of a test says so', async () => {
    await send(testMessage({ userId: 1, now: new Date() }));
    expect(sent().title).toMatch(/^🔔 Test notification /);
  });

  test.each(hostileContent)('%s is accepted by Discord and says what is the matter', async (_, content) => {
    const { title } = await embedOf(content);
    expect(withoutEscapes(title)).toContain(content.title.slice(0, 9));
  });

  test.each(hostileNames)('shows the name %j as it is', async (name) => {
    await send(messageOf(sampleEvent({ name, cause: `the body contains "${name}"` })));
    const { title, description } = sent();
    expect(withoutEscapes(title)).toBe(`❌ Down: ${name}`);
    expect(withoutEscapes(description)).toBe(`the body contains "${name}"`);
    // Nothing that formats, links or mentions is without its escape.
    expect(`${title}\n${description}`.replace(/\\[^0-9A-Za-z\s]/g, '')).not.toMatch(/[*_~`|<>[\]()#@]|:/);
  });

  test.each(['- list', '+ list', '1. list', '> quote', '# heading', '-# small'])(
    'does not format a line that begins like %j',
    async (name) => {
      const grouped = Array.from({ length: 6 }, (_, index) => ({
        type: 'monitor.down' as const,
        monitorId: index,
        event: sampleEvent({ name }),
      }));
      for (const line of (await embedOf(groupContent(grouped))).description.split('\n')) {
        expect(line).not.toMatch(/^([-+>#]|\d+\.)/);
        expect(withoutEscapes(line)).toBe(`${name}: 503 Service Unavailable`);
      }
    },
  );

  test('contains nothing after the escape of a title that is too long', () => {
    const content = { ...message.content, title: '*'.repeat(5000) };
    const title = discordMessage(content, 'Sitekeeper').embeds?.[0]?.title ?? '';
    expect(title).toMatch(/^❌ (\\\*){126}…$/);
    expect(title.length).toBeLessThanOrEqual(256);
  });

  test.each([
    ['http://router/', undefined],
    ['http://[2001:db8::1]/', undefined],
    [`https://shop.example/${'x'.repeat(2048)}`, undefined],
    ['https://bücher.example/a b', 'https://xn--bcher-kva.example/a%20b'],
    ['http://192.0.2.1:8080/', 'http://192.0.2.1:8080/'],
  ])('to %s links to %s', (url, linked) => {
    const content = { ...message.content, links: [{ label: 'Open the site', url }] };
    expect(discordMessage(content, 'Sitekeeper').embeds?.[0]?.url).toBe(linked);
  });
});

test('asks Discord to respond after it has stored the message, and keeps the thread of the URL', async () => {
  await send();
  await send(message, `${setup.discordUrl}?thread_id=77`);
  expect(setup.discord.requests.map(({ path }) => path.replace(/^.*\?/, ''))).toEqual(['wait=true', 'thread_id=77&wait=true']);
});

test.each([
  [{ message: 'You are being rate limited.', retry_after: 3.2, global: false }, 4],
  [{ message: 'You are being rate limited.', retry_after: 0.05, global: true }, 1],
  [{ message: 'You are being rate limited.', retry_after: 1e12 }, 86_400],
  [{ message: 'You are being rate limited.', retry_after: 'soon' }, 37],
  [{ message: 'You are being rate limited.' }, 37],
])('status 429 with %j delays the next message by %i s', async (body, seconds) => {
  setup.discord.script = scripts.respond(JSON.stringify(body), 429, { 'retry-after': '37' });
  expect(await failureOf(send())).toMatchObject({
    permanent: false,
    retryAfterSeconds: seconds,
    message: 'Discord temporarily rejected the message with status 429: You are being rate limited.',
  });
});

test('a webhook that was deleted is a permanent failure', async () => {
  setup.discord.script = scripts.respond('{"message":"Unknown Webhook","code":10015}', 404);
  expect(await failureOf(send())).toMatchObject({
    permanent: true,
    message: 'Discord rejected the message with status 404: Unknown Webhook.',
  });
});

test('does not call a stored webhook whose host is no longer allowed', async () => {
  const webhookUrl = `https://other.example:${setup.discord.port}/api/webhooks/1/hidden`;
  expect(await failureOf(send(message, webhookUrl))).toMatchObject({
    permanent: true,
    message: expect.stringMatching(/^The Discord webhook URL must be an https URL on discord\.com or /),
  });
  expect(setup.discord.connections).toBe(0);
});

describe('a webhook URL', () => {
  const { delivery } = readConfig({ DISCORD_HOSTS: 'guilded.example' });
  const errorsOf = (webhook_url: string) => createChannels(delivery, { allow: [] }).discord.check?.({ webhook_url });

  test.each([
    'https://discord.com/api/webhooks/1/x',
    'https://ptb.discord.com/api/webhooks/1/x',
    'https://canary.discord.com/api/webhooks/1/x',
    'https://discordapp.com/api/webhooks/1/x?thread_id=2',
    'https://guilded.example/hooks/x',
  ])('accepts %s', (url) => expect(errorsOf(url)).toEqual([]));

  test.each([
    'http://discord.com/x',
    'https://evil.discord.com/x',
    'https://discord.com.evil.example/x',
    'https://discord.com@evil.example/',
  ])('rejects %s', (url) =>
    expect(errorsOf(url)).toEqual([
      {
        in: 'body',
        pointer: '/webhook_url',
        code: 'invalid_webhook',
        message: 'must be an https URL on discord.com or ptb.discord.com or canary.discord.com or discordapp.com or guilded.example',
      },
    ]),
  );
});
