import { type Channel, type ChannelDeps, type ChannelSettings, DeliveryFailed } from '../channel.ts';
import { post } from '../post.ts';
import { secretsOfWebhook } from '../redact.ts';
import { slackMessage } from './slack-message.ts';

/** Posts to an incoming webhook. The URL comes from users, so only the hosts in the settings are allowed. */
export function slackChannel({ settings: { slackHosts, installationName }, net, limits }: ChannelDeps): Channel<ChannelSettings<'slack'>> {
  return {
    name: 'Slack',
    receiver: 'Slack',
    fields: { webhook_url: 'secret', channel: 'optional', username: 'optional' },
    audience: 'people',
    check({ webhook_url }) {
      const message = webhook_url === undefined ? undefined : webhookError(webhook_url, slackHosts);
      return message === undefined ? [] : [{ in: 'body', pointer: '/webhook_url', code: 'invalid_webhook', message }];
    },
    missingSetting: () => undefined,
    async send({ webhook_url: webhookUrl, channel, username }, { userId, content }) {
      // Checked again, because the settings may have changed since it was stored.
      const error = webhookError(webhookUrl, slackHosts);
      if (error) throw new DeliveryFailed(`The Slack webhook URL ${error}.`, { permanent: true });
      const message = { ...slackMessage(content, installationName), ...(channel && { channel }), ...(username && { username }) };
      const request = {
        service: 'Slack',
        userId,
        url: webhookUrl,
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(message),
        secrets: secretsOfWebhook(webhookUrl),
        // Slack returns "ok", but compatible services return other texts. Only the status is checked.
        parse: (body: string) => ({ accepted: true, message: body }),
      };
      await post(request, net, limits);
    },
  };
}

/** Validates a webhook URL. Returns the message of a validation error, or undefined. The path is not checked: Slack may change it. */
function webhookError(text: string, hosts: readonly string[]): string | undefined {
  const url = /[\s\p{Cc}]/u.test(text) ? null : URL.parse(text);
  if (url?.protocol !== 'https:' || !hosts.includes(url.hostname)) return `must be an https URL on ${hosts.join(' or ')}`;
  if (url.username !== '' || url.password !== '') return 'must not contain a user name or password';
  return undefined;
}
