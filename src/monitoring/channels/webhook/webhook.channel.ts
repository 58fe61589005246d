import { isAllowed, literalAddress, type Ranges, urlError } from '../../../net/addresses.ts';
import type { Channel, ChannelDeps, ChannelSettings } from '../channel.ts';
import { post } from '../post.ts';
import { secretsOfWebhook } from '../redact.ts';
import { keyTextOf, signatureHeaders } from './signature.ts';
import { webhookEvent } from './webhook-event.ts';

/** Posts events to a program of the user, signed as in Standard Webhooks. */
export function webhookChannel({ net, limits }: ChannelDeps): Channel<ChannelSettings<'webhook'>> {
  return {
    name: 'Webhook',
    receiver: 'the webhook',
    fields: { webhook_url: 'secret' },
    audience: 'programs',
    isSigned: true,
    check({ webhook_url }) {
      const message = webhook_url === undefined ? undefined : webhookError(webhook_url, net.allow);
      return message === undefined ? [] : [{ in: 'body', pointer: '/webhook_url', code: 'invalid_webhook', message }];
    },
    missingSetting: () => undefined,
    async send({ webhook_url: url }, { id, userId, event }, signing) {
      if (!signing) throw new Error('A message to a webhook needs a secret that signs it.');
      const body = JSON.stringify(webhookEvent(event));
      const request = {
        service: 'The webhook',
        userId,
        url,
        headers: { 'content-type': 'application/json', ...signatureHeaders({ id, at: signing.at, body }, signing.secrets) },
        body,
        secrets: [...secretsOfWebhook(url), ...signing.secrets.flatMap((secret) => [secret, keyTextOf(secret)])],
        parse: (text: string) => ({ accepted: true, message: text }),
      };
      await post(request, isSecure(url) ? net : { ...net, onlyAllowed: true }, limits);
    },
  };
}

/**
 * Validates a URL. Returns the message of a validation error, or undefined. http is only for addresses that the operator allows. What a
 * name resolves to is checked when a message is sent.
 */
function webhookError(text: string, allow: Ranges): string | undefined {
  const protocols = isSecure(text) || !mayBeAllowed(text, allow) ? ['https'] : ['http', 'https'];
  return urlError(text, { protocols }, allow);
}

function isSecure(url: string): boolean {
  return URL.parse(url)?.protocol === 'https:';
}

function mayBeAllowed(url: string, allow: Ranges): boolean {
  const address = literalAddress(URL.parse(url)?.hostname ?? '');
  return address === undefined ? allow.length > 0 : isAllowed(address, allow);
}
