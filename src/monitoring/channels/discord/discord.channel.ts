import { z } from 'zod';
import type { Channel, ChannelDeps, ChannelSettings } from '../channel.ts';
import { chatWebhookChannel } from '../chat-webhook.ts';
import { type ParsedResponse, parseJson } from '../post.ts';
import { discordMessage } from './discord-message.ts';

/** Posts to a webhook of a channel. */
export function discordChannel({
  settings: { discordHosts, installationName },
  ...deps
}: ChannelDeps): Channel<ChannelSettings<'discord'>> {
  return chatWebhookChannel<ChannelSettings<'discord'>>(
    {
      name: 'Discord',
      fields: { webhook_url: 'secret' },
      hosts: discordHosts,
      bodyOf: ({ content }) => discordMessage(content, installationName),
      parse,
      targetOf: waitForMessage,
    },
    deps,
  );
}

/** Otherwise Discord does not report that it could not store the message. */
function waitForMessage(webhookUrl: string): string {
  const url = new URL(webhookUrl);
  url.searchParams.set('wait', 'true');
  return url.href;
}

const responseSchema = z.object({ message: z.string(), retry_after: z.number().positive().optional().catch(undefined) });

/** Only the status says whether the message was accepted: the response is the message. */
function parse(body: string): ParsedResponse {
  const error = responseSchema.safeParse(parseJson(body)).data;
  return { accepted: true, message: error?.message ?? body, retryAfterSeconds: error?.retry_after && Math.ceil(error.retry_after) };
}
