import { z } from 'zod';
import type { Channel, ChannelDeps, ChannelSettings } from '../channel.ts';
import { chatWebhookChannel } from '../chat-webhook.ts';
import { type ParsedResponse, parseJson } from '../post.ts';
import { teamsMessage } from './teams-message.ts';

/** Posts to a workflow that posts to a chat or a channel. */
export function teamsChannel({ settings: { teamsHosts, installationName }, ...deps }: ChannelDeps): Channel<ChannelSettings<'teams'>> {
  return chatWebhookChannel<ChannelSettings<'teams'>>(
    {
      name: 'Teams',
      fields: { webhook_url: 'secret' },
      hosts: teamsHosts,
      bodyOf: ({ content }) => teamsMessage(content, installationName),
      parse,
    },
    deps,
  );
}

const errorSchema = z.object({ error: z.object({ message: z.string() }) });

/** A workflow responds with an error or nothing, a connector with 1, or with what has gone wrong, even if the status is 200. */
function parse(body: string): ParsedResponse {
  const message = errorSchema.safeParse(parseJson(body)).data?.error.message ?? body;
  return { accepted: !body.startsWith('Webhook message delivery failed'), message };
}
