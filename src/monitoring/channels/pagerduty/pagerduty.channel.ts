import { z } from 'zod';
import { anywhere } from '../../../net/resolve.ts';
import { type Channel, type ChannelDeps, type ChannelSettings, DeliveryFailed } from '../channel.ts';
import { type ParsedResponse, parseJson, post } from '../post.ts';
import { type PagerDutyEvent, pagerDutyEvents } from './pagerduty-event.ts';

/** Sends to a service through the Events API v2. The operator sets its URL, so every address is allowed. */
export function pagerDutyChannel({
  settings: { pagerDutyApiUrl, installationName },
  limits,
}: ChannelDeps): Channel<ChannelSettings<'pagerduty'>> {
  return {
    name: 'PagerDuty',
    receiver: 'PagerDuty',
    fields: { routing_key: 'secret' },
    audience: 'programs',
    missingSetting: () => undefined,
    async send({ routing_key: routingKey }, message) {
      const sendEvent = (event: PagerDutyEvent) => {
        const request = {
          service: 'PagerDuty',
          userId: message.userId,
          url: `${pagerDutyApiUrl}/v2/enqueue`,
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify({ routing_key: routingKey, ...event }),
          secrets: [routingKey],
          parse,
        };
        return post(request, anywhere, limits);
      };
      const [event, resolve] = pagerDutyEvents(message, installationName);
      await sendEvent(event);
      if (!resolve) return;
      // Nobody else would repeat it: tests are not retried.
      await sendEvent(resolve)
        .catch(() => sendEvent(resolve))
        .catch((error: unknown) => {
          throw error instanceof DeliveryFailed ? unresolved(error) : error;
        });
    },
  };
}

function unresolved({ message, permanent, retryAfterSeconds }: DeliveryFailed): DeliveryFailed {
  const reason = `PagerDuty accepted the test, but the incident that it opened could not be resolved: ${message}`;
  return new DeliveryFailed(reason, { permanent, retryAfterSeconds });
}

const responseSchema = z.object({
  status: z.string(),
  message: z.string().catch(''),
  errors: z.array(z.string()).catch([]),
});

function parse(body: string): ParsedResponse {
  const response = responseSchema.safeParse(parseJson(body)).data;
  if (!response) return { accepted: false, message: body };
  const { status, message, errors } = response;
  return { accepted: status === 'success', message: [message, ...errors].filter((part) => part !== '').join(': ') };
}
