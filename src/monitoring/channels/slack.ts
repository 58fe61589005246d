import type { DeliverySettings } from '../../config/config.ts';
import type { Net } from '../../net/resolve.ts';
import { type Channel, DeliveryFailed, type Limits, type Targets } from './channel.ts';
import { post } from './post.ts';

/** Posts to an incoming webhook. The URL comes from users, so only the hosts in the settings are allowed. */
export function slackChannel({ slackHosts }: Pick<DeliverySettings, 'slackHosts'>, net: Net, limits: Limits): Channel<Targets['slack']> {
  return {
    missingSetting: () => undefined,
    async send({ webhookUrl, channel, username }, { text }) {
      // Checked again, because the settings may have changed since it was stored.
      const error = webhookError(webhookUrl, slackHosts);
      if (error) throw new DeliveryFailed(`The Slack webhook URL ${error}.`, { permanent: true });
      const message = {
        text: text.replace(/[&<>]/g, (character) => entities[character] ?? character),
        mrkdwn: false,
        unfurl_links: false,
        unfurl_media: false,
        ...(channel && { channel }),
        ...(username && { username }),
      };
      const request = {
        service: 'Slack',
        url: webhookUrl,
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(message),
        secrets: secretsOf(webhookUrl),
        // Slack returns "ok", but compatible services return other texts. Only the status is checked.
        parse: (body: string) => ({ accepted: true, message: body }),
      };
      await post(request, net, limits);
    },
  };
}

/** Validates a webhook URL. Returns the message of a validation error, or undefined. The path is not checked: Slack may change it. */
export function webhookError(text: string, hosts: readonly string[]): string | undefined {
  const url = /[\s\p{Cc}]/u.test(text) ? null : URL.parse(text);
  if (url?.protocol !== 'https:' || !hosts.includes(url.hostname)) return `must be an https URL on ${hosts.join(' or ')}`;
  if (url.username !== '' || url.password !== '') return 'must not contain a user name or password';
  return undefined;
}

// Unescaped, a monitor's name could notify everybody in the channel: <!channel>.
const entities: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;' };

/** Everybody who knows the path can post, so it is a secret. So are its longer segments; short ones are words such as "services". */
function secretsOf(webhookUrl: string): string[] {
  const { pathname, search } = new URL(webhookUrl);
  return [pathname + search, ...`${pathname}${search}`.split(/[/?&=]/).filter((part) => part.length > 8)].filter((part) => part !== '/');
}
