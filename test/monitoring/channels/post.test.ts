// The behavior that all channels over HTTP have in common.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { parseRetryAfter } from '../../../src/monitoring/channels/post.ts';
import { scripts } from '../../support/web-server.ts';
import {
  accountSid,
  authToken,
  failureOf,
  message,
  routingKey,
  signing,
  startHttpChannels,
  token,
  twilioCredentials,
} from './http-channels.ts';

let setup: Awaited<ReturnType<typeof startHttpChannels>>;

beforeAll(async () => {
  setup = await startHttpChannels();
});
beforeEach(() => setup.clearRequests());
afterAll(() => setup.close());

const services = {
  Slack: {
    server: () => setup.slack,
    send: ({ slack } = setup.channels) => slack.send({ webhook_url: setup.webhookUrl, channel: null, username: null }, message),
    accept: scripts.respond('ok'),
    reject: (status: number, text: string) => scripts.respond(text, status),
    secrets: () => [setup.webhookUrl, new URL(setup.webhookUrl).pathname],
  },
  Telegram: {
    server: () => setup.api,
    send: ({ telegram } = setup.channels) => telegram.send({ chat_id: '-100123', token }, message),
    accept: scripts.respond('{"ok":true,"result":{"message_id":1}}'),
    reject: (status: number, description: string) =>
      scripts.respond(JSON.stringify({ ok: false, error_code: status, description }), status),
    secrets: () => [token, token.toUpperCase(), encodeURIComponent(token)],
  },
  'The webhook': {
    server: () => setup.webhook,
    send: ({ webhook } = setup.channels) => webhook.send({ webhook_url: setup.eventUrl }, message, signing),
    accept: scripts.respond('', 204),
    reject: (status: number, text: string) => scripts.respond(text, status),
    secrets: () => [setup.eventUrl, new URL(setup.eventUrl).pathname, ...signing.secrets],
  },
  Twilio: {
    server: () => setup.api,
    send: ({ sms } = setup.channels) => sms.send({ phone_number: '+4915112345678' }, message),
    accept: scripts.respond('{"sid":"SM1","status":"queued","error_message":null}', 201),
    reject: (status: number, text: string) => scripts.respond(JSON.stringify({ code: 21211, message: text, status }), status),
    secrets: () => [authToken, accountSid, twilioCredentials],
  },
  Discord: {
    server: () => setup.discord,
    send: ({ discord } = setup.channels) => discord.send({ webhook_url: setup.discordUrl }, message),
    accept: scripts.respond('{"id":"1234567890"}'),
    reject: (status: number, text: string) => scripts.respond(JSON.stringify({ message: text, code: 10015 }), status),
    secrets: () => [setup.discordUrl, new URL(setup.discordUrl).pathname],
  },
  Teams: {
    server: () => setup.teams,
    send: ({ teams } = setup.channels) => teams.send({ webhook_url: setup.teamsUrl }, message),
    accept: scripts.respond('', 202),
    reject: (status: number, text: string) => scripts.respond(JSON.stringify({ error: { code: 'NotFound', message: text } }), status),
    secrets: () => [setup.teamsUrl, new URL(setup.teamsUrl).search, 'hidden-hidden_hid'],
  },
  PagerDuty: {
    server: () => setup.api,
    send: ({ pagerduty } = setup.channels) => pagerduty.send({ routing_key: routingKey }, message),
    accept: scripts.respond('{"status":"success","message":"Event processed","dedup_key":"x"}', 202),
    reject: (status: number, text: string) => scripts.respond(JSON.stringify({ status: 'invalid event', message: text }), status),
    secrets: () => [routingKey, routingKey.toUpperCase()],
  },
};

describe.each(Object.entries(services))('%s', (service, { server, send, accept, reject, secrets }) => {
  test('sends one POST request', async () => {
    server().script = accept;
    await send();
    expect(server().requests).toHaveLength(1);
    expect(server().requests[0]?.method).toBe('POST');
  });

  test.each(service === 'Twilio' ? [400, 404, 410] : [400, 401, 403, 404, 410])(
    'status %i is a permanent failure that contains the text of the response',
    async (status) => {
      server().script = reject(status, 'no_service');
      const failure = await failureOf(send());
      expect(failure.permanent).toBe(true);
      expect(failure.message).toMatch(new RegExp(`^${service} rejected the message with status ${status}: no_service( \\(21211\\))?\\.$`));
    },
  );

  test.each([
    ['seconds', () => '37', 37],
    ['a date', () => new Date(Date.now() + 90_000).toUTCString(), expect.toSatisfy((found: number) => found > 60 && found <= 90)],
    ['a past date', () => new Date(0).toUTCString(), 1],
    ['more than a day', () => '9999999', 86_400],
    ['an invalid value', () => 'soon', undefined],
  ])('status 429 with %s in Retry-After is a temporary failure', async (_, header, seconds) => {
    server().script = (request, response) => {
      response.setHeader('retry-after', header());
      reject(429, 'slow down')(request, response);
    };
    const failure = await failureOf(send());
    expect(failure.permanent).toBe(false);
    expect(failure.retryAfterSeconds).toEqual(seconds);
    expect(failure.message).toMatch(
      new RegExp(`^${service} temporarily rejected the message with status 429: slow down( \\(21211\\))?\\.$`),
    );
  });

  test.each([500, 502, 503])('status %i is a temporary failure; an HTML page is not quoted', async (status) => {
    server().script = scripts.respond('<html><h1>Bad gateway</h1></html>', status);
    expect(await failureOf(send())).toMatchObject({
      permanent: false,
      message: `${service} temporarily rejected the message with status ${status}.`,
    });
  });

  test.each([
    ['never responds', scripts.hang()],
    ['responds too slowly', scripts.drip()],
  ])('a server that %s is a temporary failure', async (_, script) => {
    server().script = script;
    expect(await failureOf(send(setup.impatientChannels))).toMatchObject({
      permanent: false,
      message: `${service} did not respond in time.`,
    });
  });

  test('a reset connection is a temporary failure', async () => {
    server().script = scripts.reset();
    expect(await failureOf(send())).toMatchObject({
      permanent: false,
      message: `${service} could not be reached: connection closed before the response was complete.`,
    });
  });

  test('does not wait for the end of an endless error response', async () => {
    server().script = scripts.endless(400);
    expect(await failureOf(send())).toMatchObject({ permanent: true });
  });

  test('does not follow a redirect to a private address', async () => {
    server().script = scripts.redirect(`${setup.internal.url}/hidden`, 307);
    expect(await failureOf(send())).toMatchObject({
      permanent: true,
      message: `${service} responded with a redirect (status 307), which is not followed.`,
    });
    expect(setup.internal.connections).toBe(0);
  });

  test('redacts secrets in the response, in every encoding', async () => {
    for (const secret of secrets()) {
      server().script = reject(400, `no ${secret} here\r\n\u001b[31m`);
      const failure = await failureOf(send());
      expect(failure.message).toContain('****');
      expect(failure.message).not.toContain(secret);
    }
  });
});

describe('parseRetryAfter', () => {
  test.each([
    [undefined, undefined],
    ['0', 1],
    ['120', 120],
    ['Sun, 15 Nov 2026 10:00:30 GMT', 30],
    ['-5', undefined],
    ['later', undefined],
  ])('parses %j as %j', (header, seconds) => {
    expect(parseRetryAfter(header, Date.parse('2026-11-15T10:00:00Z'))).toBe(seconds);
  });
});
