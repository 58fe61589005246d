import { type Channel, type ChannelDeps, DeliveryFailed, type Message } from './channel.ts';
import { type ParsedResponse, post } from './post.ts';
import { secretsOfWebhook } from './redact.ts';

/** A chat that gives users a URL to post to. */
interface ChatWebhook<Settings> extends Pick<Channel<Settings & object>, 'fields'> {
  name: string;
  /** The hosts that the URL can have. `*.example.com` stands for every name that ends with `.example.com`. */
  hosts: readonly string[];
  bodyOf(message: Message, settings: Settings): object;
  parse(body: string): ParsedResponse;
  /** Returns the URL to post to, if it is not the one that users are given. */
  targetOf?(webhookUrl: string): string;
}

/** Posts JSON to a webhook. The URL comes from users, so only the given hosts are allowed. */
export function chatWebhookChannel<Settings extends { webhook_url: string }>(
  { name, fields, hosts, bodyOf, parse, targetOf = (url) => url }: ChatWebhook<Settings>,
  { net, limits }: Pick<ChannelDeps, 'net' | 'limits'>,
): Channel<Settings> {
  return {
    name,
    receiver: name,
    fields,
    audience: 'people',
    check({ webhook_url }) {
      const message = webhook_url === undefined ? undefined : webhookError(webhook_url, hosts);
      return message === undefined ? [] : [{ in: 'body', pointer: '/webhook_url', code: 'invalid_webhook', message }];
    },
    missingSetting: () => undefined,
    async send(settings, message) {
      const { webhook_url: webhookUrl } = settings;
      // Checked again, because the settings may have changed since it was stored.
      const error = webhookError(webhookUrl, hosts);
      if (error) throw new DeliveryFailed(`The ${name} webhook URL ${error}.`, { permanent: true });
      const request = {
        service: name,
        userId: message.userId,
        url: targetOf(webhookUrl),
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(bodyOf(message, settings)),
        secrets: secretsOfWebhook(webhookUrl),
        parse,
      };
      await post(request, net, limits);
    },
  };
}

/** Validates a webhook URL. Returns the message of a validation error, or undefined. The path is not checked: it may change. */
function webhookError(text: string, hosts: readonly string[]): string | undefined {
  const url = /[\s\p{Cc}]/u.test(text) ? null : URL.parse(text);
  const isAllowed = (hostname: string) =>
    hosts.some((host) => (host.startsWith('*.') ? hostname.endsWith(host.slice(1)) : hostname === host));
  if (url?.protocol !== 'https:' || !isAllowed(url.hostname)) return `must be an https URL on ${hosts.join(' or ')}`;
  if (url.username !== '' || url.password !== '') return 'must not contain a user name or password';
  return undefined;
}
