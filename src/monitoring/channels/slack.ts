import type { DeliverySettings } from '../../config.ts';
import type { Net } from '../../net/resolve.ts';
import { type Channel, DeliveryFailed, type Limits, type Targets } from './channel.ts';
import { post } from './post.ts';

/** Posts to an incoming webhook, which users name: through the guarded door, and only to the hosts in the settings. */
export function slackChannel({ slackHosts }: Pick<DeliverySettings, 'slackHosts'>, net: Net, limits: Limits): Channel<Targets['slack']> {
  return {
    missingSetting: () => undefined,
    async send({ webhookUrl, channel, username }, { text }) {
      // Again, because the settings may have changed since it was stored.
      const fault = refuseWebhook(webhookUrl, slackHosts);
      if (fault) throw new DeliveryFailed(`The address of the Slack webhook ${fault}.`, { permanent: true });
      const message = {
        text: text.replace(/[&<>]/g, (sign) => entities[sign] ?? sign),
        mrkdwn: false,
        unfurl_links: false,
        unfurl_media: false,
        ...(channel && { channel }),
        ...(username && { username }),
      };
      const said = {
        service: 'Slack',
        url: webhookUrl,
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(message),
        secrets: secretsOf(webhookUrl),
        // "ok" is Slack's own; services that speak its format say other things beside the status.
        read: (body: string) => ({ accepted: true, words: body }),
      };
      await post(said, net, limits);
    },
  };
}

/** What is wrong with the address of a webhook, in the words of a fault. Its path is not judged: Slack may change it. */
export function refuseWebhook(text: string, hosts: readonly string[]): string | undefined {
  const url = /[\s\p{Cc}]/u.test(text) ? null : URL.parse(text);
  if (url?.protocol !== 'https:' || !hosts.includes(url.hostname)) return `must be an https URL on ${hosts.join(' or ')}`;
  if (url.username !== '' || url.password !== '') return 'must not hold a user name or password';
  return undefined;
}

// Left as they are, they would let a monitor's name call everybody in the channel: <!channel>.
const entities: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;' };

/** Whoever knows the path can post. Parts of it are secrets, too; short ones are words such as "services". */
function secretsOf(webhookUrl: string): string[] {
  const { pathname, search } = new URL(webhookUrl);
  return [pathname + search, ...`${pathname}${search}`.split(/[/?&=]/).filter((part) => part.length > 8)].filter((part) => part !== '/');
}
