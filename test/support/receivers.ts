import { readConfig } from '../../src/config/config.ts';
import { parseRanges } from '../../src/net/addresses.ts';
import type { Net } from '../../src/net/resolve.ts';
import { createAuthority, trust } from './certificates.ts';
import { acceptDiscordMessage, discordEmbed, withoutEscapes } from './discord-receiver.ts';
import { startMailServer } from './mail-server.ts';
import { acceptPagerDutyEvent, pagerDutyEvent } from './pagerduty-receiver.ts';
import { acceptTeamsMessage, teamsCard } from './teams-receiver.ts';
import { scripts, startWebServer } from './web-server.ts';

/** Starts real servers on loopback for every channel that sends messages, and returns providers that point to them. */
export async function startReceivers() {
  const authority = await createAuthority();
  trust(authority);
  const externalAddress = '127.0.0.9';
  const mail = await startMailServer();
  const slack = await startWebServer({ host: externalAddress, certificate: await authority.issue('hooks.slack.com') });
  const webhook = await startWebServer({ host: externalAddress, certificate: await authority.issue('board.example.com') });
  const telegram = await startWebServer({ script: scripts.respond('{"ok":true,"result":{"message_id":1}}') });
  const twilio = await startWebServer({ script: scripts.respond('{"sid":"SM1","status":"queued","error_message":null}', 201) });
  const workflowHost = 'prod-1.westeurope.logic.azure.com';
  const discord = await startWebServer({
    host: externalAddress,
    certificate: await authority.issue('discord.com'),
    script: acceptDiscordMessage,
  });
  const teams = await startWebServer({
    host: externalAddress,
    certificate: await authority.issue(workflowHost),
    script: acceptTeamsMessage,
  });
  const pagerDuty = await startWebServer({ script: acceptPagerDutyEvent });
  /** Every host name resolves to the external address, the only one that requests may reach. */
  const net: Net = { allow: parseRanges([externalAddress]), lookup: async () => [{ address: externalAddress, family: 4 }] };
  const { delivery } = readConfig({
    SMTP_URL: `smtp://${mail.host}`,
    MAIL_FROM: 'Sitekeeper <alerts@sitekeeper.example>',
    TELEGRAM_API_URL: telegram.url,
    TWILIO_API_URL: twilio.url,
    TWILIO_ACCOUNT_SID: `AC${'0123456789abcdef'.repeat(2)}`,
    TWILIO_AUTH_TOKEN: 'hidden-auth-token',
    SMS_FROM: '+15005550006',
    PAGERDUTY_API_URL: pagerDuty.url,
  });
  const providers = {
    email: { provider_type: 'email', recipient_email: 'ops@example.com' },
    slack: { provider_type: 'slack', webhook_url: `https://hooks.slack.com:${slack.port}/services/T0/B0/hiddenhidden`, channel: '#ops' },
    telegram: { provider_type: 'telegram', chat_id: '-100123', token: '123456:hiddenhiddenhiddenhiddenhiddenhid' },
    sms: { provider_type: 'sms', phone_number: '+4915112345678' },
    webhook: { provider_type: 'webhook', webhook_url: `https://board.example.com:${webhook.port}/hooks/hiddenhidden` },
    discord: { provider_type: 'discord', webhook_url: `https://discord.com:${discord.port}/api/webhooks/1234/hiddenhidden` },
    teams: { provider_type: 'teams', webhook_url: `https://${workflowHost}:${teams.port}/workflows/invoke?sig=hiddenhidden` },
    pagerduty: { provider_type: 'pagerduty', routing_key: 'hidden0123456789hidden0123456789' },
  } as const;
  return {
    externalAddress,
    net,
    delivery,
    providers,
    mail,
    slack,
    telegram,
    twilio,
    webhook,
    discord,
    teams,
    pagerDuty,
    /** Returns the texts that each channel has received so far. */
    received: () => ({
      email: mail.mails.map(({ parsed }) => (parsed.text ?? '').trim()),
      slack: slack.requests.map(({ body }) => String(JSON.parse(body).text)),
      telegram: telegram.requests.map(({ body }) => String(JSON.parse(body).text)),
      sms: twilio.requests.map(({ body }) => new URLSearchParams(body).get('Body') ?? ''),
      webhook: webhook.requests.map(({ body }) => String(JSON.parse(body).type)),
      discord: discord.requests.map(({ body }) => {
        const { title, description } = discordEmbed(body);
        return withoutEscapes(`${title}\n${description}`);
      }),
      teams: teams.requests.map(({ body }) => teamsCard(body).lines.join('\n')),
      pagerduty: pagerDuty.requests.map(({ body }) => {
        const event = pagerDutyEvent(body);
        return event.event_action === 'trigger' ? event.payload.summary : event.event_action;
      }),
    }),
    /** Returns the names of the monitors in the alerts about outages that each channel has received so far. */
    names: () => ({
      email: mail.mails.map(({ parsed }) => /^(?:Down|Recovered): (.*?)(?: \(|, was down)/.exec(parsed.subject ?? '')?.[1] ?? ''),
      slack: slack.requests.map(({ body }) => /(?:Down|Recovered): (.*?)\*?\n/.exec(JSON.parse(body).text)?.[1] ?? ''),
      telegram: telegram.requests.map(({ body }) => /(?:Down|Recovered): (.*?)<\/b>/.exec(JSON.parse(body).text)?.[1] ?? ''),
      sms: twilio.requests.map(({ body }) => /^(?:DOWN|UP) (.*?): /.exec(new URLSearchParams(body).get('Body') ?? '')?.[1] ?? ''),
      webhook: webhook.requests.map(({ body }) => String(JSON.parse(body).data.monitor?.friendly_name ?? '')),
      discord: discord.requests.map(({ body }) => /(?:Down|Recovered): (.*)/.exec(withoutEscapes(discordEmbed(body).title))?.[1] ?? ''),
      teams: teams.requests.map(({ body }) => /(?:Down|Recovered): (.*)/.exec(teamsCard(body).lines[0] ?? '')?.[1] ?? ''),
      /** Events that resolve an incident do not contain the name. */
      pagerduty: pagerDuty.requests.map(({ body }) => {
        const event = pagerDutyEvent(body);
        return event.event_action === 'trigger' ? (event.payload.component ?? '') : '';
      }),
    }),
    async close() {
      await Promise.all([mail, slack, telegram, twilio, discord, teams, pagerDuty, webhook].map((server) => server.close()));
    },
  };
}
