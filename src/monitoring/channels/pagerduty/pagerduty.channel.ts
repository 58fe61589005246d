import { z } from 'zod';
import { anywhere } from '../../../net/resolve.ts';
import type { Channel, ChannelDeps, ChannelSettings } from '../channel.ts';
import { type ParsedResponse, parseJson, post } from '../post.ts';
import { pagerDutyEvents } from './pagerduty-event.ts';

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
      for (const event of pagerDutyEvents(message, installationName)) {
        const request = {
          service: 'PagerDuty',
          userId: message.userId,
          url: `${pagerDutyApiUrl}/v2/enqueue`,
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify({ routing_key: routingKey, ...event }),
          secrets: [routingKey],
          parse,
        };
        await post(request, anywhere, limits);
      }
    },
  };
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
