import { expect } from 'vitest';
import { readConfig } from '../../../src/config/config.ts';
import { DeliveryFailed, type Message, type Signing } from '../../../src/monitoring/channels/channel.ts';
import { createChannels } from '../../../src/monitoring/channels/registry.ts';
import { contentOf } from '../../../src/monitoring/messages/content.ts';
import type { StoredEvent } from '../../../src/monitoring/messages/event.ts';
import { parseRanges } from '../../../src/net/addresses.ts';
import type { Net } from '../../../src/net/resolve.ts';
import { createAuthority, trust } from '../../support/certificates.ts';
import { sampleEvent } from '../../support/sample-event.ts';
import { startWebServer } from '../../support/web-server.ts';

// 127.0.0.2 represents the public internet, 127.0.0.1 the operator's network.
export const [externalAddress, internalAddress] = ['127.0.0.2', '127.0.0.1'];

/** The message of an event. */
export function messageOf(event: StoredEvent): Message {
  return { id: 'alert-7', topic: 'sitekeeper-incident-4012', userId: 1, event, content: contentOf(event) };
}

export const message = messageOf(sampleEvent());

// Every secret contains "hidden" or the digits of the account SID, so that failureOf recognizes it in an error message.
export const token = '123456789:AAF-hidden_hidden_hidden_hidden_hid';
export const accountSid = 'AC0123456789abcdef0123456789abcdef';
export const authToken = 'hidden0123456789hidden0123456789';
export const signing: Signing = {
  secrets: ['hiddenhiddenhidden-00001', 'hiddenhiddenhidden-00002'].map((key) => `whsec_${Buffer.from(key).toString('base64')}`),
  at: new Date('2026-11-15T01:41:18.700Z'),
};
export const routingKey = 'hidden0123456789hidden0123456789';
export const twilioCredentials = Buffer.from(`${accountSid}:${authToken}`).toString('base64');

/** Starts servers in place of the services, and creates channels that send to them. */
export async function startHttpChannels() {
  const authority = await createAuthority();
  trust(authority);
  const slack = await startWebServer({ host: externalAddress, certificate: await authority.issue('hooks.slack.com') });
  const workflowHost = 'default-ab12.00.environment.api.powerplatform.com';
  const discord = await startWebServer({ host: externalAddress, certificate: await authority.issue('discord.com') });
  const teams = await startWebServer({ host: externalAddress, certificate: await authority.issue(workflowHost) });
  /** Telegram, Twilio and PagerDuty. */
  const api = await startWebServer({ host: internalAddress });
  const internal = await startWebServer({ host: internalAddress });
  const webhook = await startWebServer({ host: externalAddress, certificate: await authority.issue('board.example.com') });
  const servers = [slack, discord, teams, api, internal, webhook];
  const net: Net = { allow: parseRanges([externalAddress]), lookup: async () => [{ address: externalAddress, family: 4 }] };
  const { delivery } = readConfig({
    TELEGRAM_API_URL: api.url,
    TWILIO_API_URL: `${api.url}/`,
    TWILIO_ACCOUNT_SID: accountSid,
    TWILIO_AUTH_TOKEN: authToken,
    SMS_FROM: '+15005550006',
    PAGERDUTY_API_URL: api.url,
    INSTALLATION_NAME: 'Northwind operations',
  });
  return {
    slack,
    discord,
    teams,
    api,
    internal,
    webhook,
    eventUrl: `https://board.example.com:${webhook.port}/hooks/hiddenhiddenhiddenhidden`,
    net,
    webhookUrl: `https://hooks.slack.com:${slack.port}/services/T0HIDDEN01/B0HIDDEN02/hiddenhiddenhiddenhidden`,
    discordUrl: `https://discord.com:${discord.port}/api/webhooks/1234/hidden-hidden_hidden`,
    teamsUrl: `https://${workflowHost}:${teams.port}/workflows/hiddenhidden/triggers/manual/paths/invoke?api-version=1&sig=hidden-hidden_hid`,
    /** With enough time for a response on a slow machine. */
    channels: createChannels(delivery, net, { timeoutMs: 20_000 }),
    /** For servers that never respond. */
    impatientChannels: createChannels(delivery, net, { timeoutMs: 400 }),
    clearRequests() {
      for (const server of servers) Object.assign(server, { connections: 0, requests: [] });
    },
    async close() {
      for (const server of servers) await server.close();
    },
  };
}

/** Returns the error of a delivery after checking that its message is a sentence without secrets. */
export async function failureOf(delivery: Promise<void>): Promise<DeliveryFailed> {
  const error = await delivery.then(
    () => new Error('The message was delivered.'),
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(DeliveryFailed);
  const failure = error as DeliveryFailed;
  expect(failure.message).not.toMatch(/hidden|0123456789abcdef|127\.0\.0|undefined/i);
  expect(failure.message).toMatch(/^[A-Z].{1,300}\.$/);
  return failure;
}
