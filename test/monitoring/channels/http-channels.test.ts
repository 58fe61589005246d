import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { readConfig } from '../../../src/config/config.ts';
import { DeliveryFailed, type Message } from '../../../src/monitoring/channels/channel.ts';
import { type Channels, createChannels } from '../../../src/monitoring/channels/channels.ts';
import { testMessage } from '../../../src/monitoring/channels/test-message.ts';
import { parseRanges } from '../../../src/net/addresses.ts';
import type { Net } from '../../../src/net/resolve.ts';
import { type Authority, createAuthority, trust } from '../../support/certificates.ts';
import { scripts, startWebServer, type WebServer } from '../../support/web-server.ts';

// 127.0.0.2 stands for the public internet, 127.0.0.1 for the operator's network.
const [outside, inside] = ['127.0.0.2', '127.0.0.1'];
const message: Message = { id: 'alert-7', subject: 'Shop is down', text: '🔴 Shop <is> "down" & out: connection refused' };
const token = '123456789:AAF-hidden_hidden_hidden_hidden_hid';
const sid = 'AC0123456789abcdef0123456789abcdef';
const authToken = 'hidden0123456789hidden0123456789';

let authority: Authority;
let slack: WebServer;
let api: WebServer;
let inner: WebServer;
let webhookUrl: string;
let net: Net;
let channels: Channels;
/** For those that never answer. Everybody else has time, however slow the machine is. */
let hasty: Channels;

beforeAll(async () => {
  authority = await createAuthority();
  trust(authority);
  slack = await startWebServer({ host: outside, certificate: await authority.issue('hooks.slack.com') });
  api = await startWebServer({ host: inside });
  inner = await startWebServer({ host: inside });
  webhookUrl = `https://hooks.slack.com:${slack.port}/services/T0HIDDEN01/B0HIDDEN02/hiddenhiddenhiddenhidden`;
  net = { allow: parseRanges([outside]), lookup: async () => [{ address: outside, family: 4 }] };
  const { delivery } = readConfig({
    TELEGRAM_API_URL: api.url,
    TWILIO_API_URL: `${api.url}/`,
    TWILIO_ACCOUNT_SID: sid,
    TWILIO_AUTH_TOKEN: authToken,
    SMS_FROM: '+15005550006',
  });
  channels = createChannels(delivery, net, { timeoutMs: 20_000 });
  hasty = createChannels(delivery, net, { timeoutMs: 400 });
});

beforeEach(() => {
  for (const server of [slack, api, inner]) Object.assign(server, { connections: 0, requests: [] });
});

afterAll(async () => {
  for (const server of [slack, api, inner]) await server.close();
});

const ways = {
  Slack: {
    server: () => slack,
    send: (what = message, by = channels) => by.slack.send({ webhookUrl }, what),
    accept: scripts.accept('ok'),
    refuse: (status: number, words: string) => scripts.accept(words, status),
  },
  Telegram: {
    server: () => api,
    send: (what = message, by = channels) => by.telegram.send({ chatId: '-100123', token }, what),
    accept: scripts.accept('{"ok":true,"result":{"message_id":1}}'),
    refuse: (status: number, description: string) => scripts.accept(JSON.stringify({ ok: false, error_code: status, description }), status),
  },
  Twilio: {
    server: () => api,
    send: (what = message, by = channels) => by.sms.send({ phoneNumber: '+4915112345678' }, what),
    accept: scripts.accept('{"sid":"SM1","status":"queued","error_message":null}', 201),
    refuse: (status: number, text: string) => scripts.accept(JSON.stringify({ code: 21211, message: text, status }), status),
  },
};

async function failureOf(sending: Promise<void>): Promise<DeliveryFailed> {
  const error = await sending.then(
    () => new Error('it was delivered'),
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(DeliveryFailed);
  const failure = error as DeliveryFailed;
  expect(failure.message).not.toMatch(/hidden|0123456789abcdef|127\.0\.0|undefined/i);
  expect(failure.message).toMatch(/^[A-Z].{1,300}\.$/);
  return failure;
}

describe.each(Object.entries(ways))('%s', (service, { server, send, accept, refuse }) => {
  test('takes the message', async () => {
    server().script = accept;
    await send();
    expect(server().requests).toHaveLength(1);
    expect(server().requests[0]?.method).toBe('POST');
  });

  test.each([400, 401, 403, 404, 410])('a refusal with %i is permanent, and its words are passed on', async (status) => {
    server().script = refuse(status, 'no_service');
    const failure = await failureOf(send());
    expect(failure.permanent).toBe(true);
    expect(failure.message).toMatch(new RegExp(`^${service} refused the message with the status ${status}: no_service( \\(21211\\))?\\.$`));
  });

  test.each([
    ['seconds', () => '37', 37],
    ['a date', () => new Date(Date.now() + 90_000).toUTCString(), expect.toSatisfy((found: number) => found > 60 && found <= 90)],
    ['a date that has passed', () => new Date(0).toUTCString(), 1],
    ['more than a day', () => '9999999', 86_400],
    ['nonsense', () => 'soon', undefined],
  ])('429 with Retry-After as %s may pass', async (_, header, seconds) => {
    server().script = (request, response) => {
      response.setHeader('retry-after', header());
      refuse(429, 'slow down')(request, response);
    };
    const failure = await failureOf(send());
    expect(failure.permanent).toBe(false);
    expect(failure.retryAfterSeconds).toEqual(seconds);
  });

  test.each([500, 502, 503])('%i may pass', async (status) => {
    server().script = scripts.accept('<html><h1>Bad gateway</h1></html>', status);
    expect(await failureOf(send())).toMatchObject({
      permanent: false,
      message: `${service} could not take the message for now, with the status ${status}.`,
    });
  });

  test.each([
    ['hangs', scripts.hang()],
    ['drips for ever', scripts.drip()],
  ])('one that %s may pass', async (_, script) => {
    server().script = script;
    expect(await failureOf(send(message, hasty))).toMatchObject({ permanent: false, message: `${service} did not answer in time.` });
  });

  test('one that resets may pass', async () => {
    server().script = scripts.reset();
    expect(await failureOf(send())).toMatchObject({
      permanent: false,
      message: `${service} could not be reached: connection closed before the answer was complete.`,
    });
  });

  test('an endless refusal is cut', async () => {
    server().script = scripts.endless(400);
    expect(await failureOf(send())).toMatchObject({ permanent: true });
  });

  test('a redirect to a private address is not followed', async () => {
    server().script = scripts.redirect(`${inner.url}/hidden`, 307);
    expect(await failureOf(send())).toMatchObject({
      permanent: true,
      message: `${service} refused the message with the status 307: moved.`,
    });
    expect(inner.connections).toBe(0);
  });

  test('secrets that the other side repeats are removed, in whatever form', async () => {
    const secrets = [webhookUrl, new URL(webhookUrl).pathname, token, token.toUpperCase(), authToken, sid, encodeURIComponent(token)];
    const basic = Buffer.from(`${sid}:${authToken}`).toString('base64');
    for (const secret of [...secrets, basic].filter((text) => belongsTo(service, text, basic))) {
      server().script = refuse(400, `no ${secret} here\r\n\u001b[31m`);
      const failure = await failureOf(send());
      expect(failure.message).toContain('****');
      expect(failure.message).not.toContain(secret);
    }
  });
});

function belongsTo(service: string, secret: string, basic: string): boolean {
  if (secret === basic || secret === authToken || secret === sid) return service === 'Twilio';
  return secret.includes('/') ? service === 'Slack' : service === 'Telegram';
}

describe('Slack', () => {
  beforeEach(() => {
    slack.script = ways.Slack.accept;
  });
  const sent = () => JSON.parse(slack.requests[0]?.body ?? '');

  test('the text cannot call people or format itself', async () => {
    await channels.slack.send({ webhookUrl, channel: null, username: null }, { ...message, text: '<!channel> & <@U1>' });
    expect(slack.requests[0]?.headers['content-type']).toBe('application/json');
    expect(sent()).toEqual({ text: '&lt;!channel&gt; &amp; &lt;@U1&gt;', mrkdwn: false, unfurl_links: false, unfurl_media: false });
  });

  test('channel and user name go along', async () => {
    await channels.slack.send({ webhookUrl, channel: '#ops', username: 'Keeper' }, message);
    expect(sent()).toMatchObject({ channel: '#ops', username: 'Keeper' });
  });

  test('the test message', async () => {
    await ways.Slack.send(testMessage('slack'));
    expect(sent().text).toMatch(/^🔔 Test notification /);
  });

  test('any good status counts, even with an endless body', async () => {
    slack.script = scripts.endless();
    await ways.Slack.send();
  });

  test('a stored webhook on a host that is no longer allowed is not called', async () => {
    const failure = await failureOf(channels.slack.send({ webhookUrl: `https://other.example:${slack.port}/services/hidden` }, message));
    expect(failure).toMatchObject({
      permanent: true,
      message: 'The address of the Slack webhook must be an https URL on hooks.slack.com.',
    });
    expect(slack.connections).toBe(0);
  });

  test('a webhook whose name leads to a private address is not called', async () => {
    const { delivery } = readConfig({ SLACK_HOSTS: 'chat.example.com' });
    const leading = { ...net, lookup: async () => [outside, inside].map((address) => ({ address, family: 4 })) };
    const url = `https://chat.example.com:${inner.port}/hooks/hidden`;
    const failure = await failureOf(createChannels(delivery, leading).slack.send({ webhookUrl: url }, message));
    expect(failure).toMatchObject({
      permanent: true,
      message: 'Slack could not be reached: address not allowed: it is private, local or reserved.',
    });
    expect([slack.connections, inner.connections]).toEqual([0, 0]);
  });

  test('a certificate for another name is not trusted', async () => {
    const { delivery } = readConfig({ SLACK_HOSTS: 'chat.example.com' });
    const url = `https://chat.example.com:${slack.port}/hooks/hidden`;
    expect(await failureOf(createChannels(delivery, net).slack.send({ webhookUrl: url }, message))).toMatchObject({
      permanent: false,
      message: 'Slack could not be reached: TLS certificate is for another name.',
    });
    expect(slack.requests).toHaveLength(0);
  });

  test('it needs no setting', () => expect(channels.slack.missingSetting()).toBeUndefined());
});

describe('Telegram', () => {
  beforeEach(() => {
    api.script = ways.Telegram.accept;
  });
  const sent = () => JSON.parse(api.requests[0]?.body ?? '');

  test('the call', async () => {
    await ways.Telegram.send();
    expect(api.requests[0]?.path).toBe(`/bot${token}/sendMessage`);
    expect(sent()).toEqual({ chat_id: '-100123', text: message.text, link_preview_options: { is_disabled: true } });
  });

  test('the test message', async () => {
    await ways.Telegram.send(testMessage('telegram'));
    expect(sent().text).toMatch(/^🔔 Test notification /);
  });

  test('a text that is too long is cut', async () => {
    await ways.Telegram.send({ ...message, text: '🔔'.repeat(3000) });
    expect(sent().text).toBe(`${'🔔'.repeat(2047)}…`);
  });

  test('retry_after counts more than the header', async () => {
    const body = { ok: false, error_code: 429, description: 'Too Many Requests: retry after 14', parameters: { retry_after: 14 } };
    api.script = scripts.accept(JSON.stringify(body), 429, { 'retry-after': '3' });
    expect(await failureOf(ways.Telegram.send())).toMatchObject({ permanent: false, retryAfterSeconds: 14 });
  });

  test.each([
    ['a page', '<html>Welcome to the hotel</html>'],
    ['a refusal', '{"ok":false,"description":"no"}'],
    ['nothing', ''],
  ])('status 200 with %s is no confirmation', async (_, body) => {
    api.script = scripts.accept(body);
    expect(await failureOf(ways.Telegram.send())).toMatchObject({ permanent: false, message: expect.stringContaining('did not confirm') });
  });

  test('it needs no setting', () => expect(channels.telegram.missingSetting()).toBeUndefined());
});

describe('SMS', () => {
  beforeEach(() => {
    api.script = ways.Twilio.accept;
  });
  const sent = () => Object.fromEntries(new URLSearchParams(api.requests[0]?.body));

  test('the call', async () => {
    await ways.Twilio.send({ ...message, text: 'Shop & Co is down' });
    expect(api.requests[0]?.path).toBe(`/2010-04-01/Accounts/${sid}/Messages.json`);
    expect(api.requests[0]?.headers).toMatchObject({
      'content-type': 'application/x-www-form-urlencoded',
      authorization: `Basic ${Buffer.from(`${sid}:${authToken}`).toString('base64')}`,
    });
    expect(sent()).toEqual({ To: '+4915112345678', From: '+15005550006', Body: 'Shop & Co is down' });
  });

  test('the test message has no marker sign and fits one segment', async () => {
    await ways.Twilio.send(testMessage('sms'));
    expect(sent().Body).toMatch(/^Test notification [ -~]+$/);
    expect(sent().Body?.length).toBeLessThanOrEqual(160);
  });

  test('a message that Twilio took and gave up at once is not confirmed', async () => {
    api.script = scripts.accept('{"sid":"SM1","status":"failed","error_message":"Unreachable"}', 201);
    expect(await failureOf(ways.Twilio.send())).toMatchObject({ message: 'Twilio did not confirm the message: Unreachable.' });
  });

  test('without its settings it names the first that is missing, and sends nothing', async () => {
    const sms = (env: Record<string, string>) => createChannels(readConfig(env).delivery, net).sms;
    expect(sms({}).missingSetting()).toBe('TWILIO_ACCOUNT_SID');
    expect(sms({ TWILIO_ACCOUNT_SID: sid }).missingSetting()).toBe('TWILIO_AUTH_TOKEN');
    expect(sms({ TWILIO_ACCOUNT_SID: sid, TWILIO_AUTH_TOKEN: authToken }).missingSetting()).toBe('SMS_FROM');
    expect(channels.sms.missingSetting()).toBeUndefined();
    expect(await failureOf(sms({}).send({ phoneNumber: '+49' }, message))).toMatchObject({ permanent: false });
  });
});
