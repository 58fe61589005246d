import type { Channel, ChannelDeps, ChannelSettings } from '../channel.ts';
import { chatWebhookChannel } from '../chat-webhook.ts';
import { slackMessage } from './slack-message.ts';

/** Posts to an incoming webhook. */
export function slackChannel({ settings: { slackHosts, installationName }, ...deps }: ChannelDeps): Channel<ChannelSettings<'slack'>> {
  return chatWebhookChannel<ChannelSettings<'slack'>>(
    {
      name: 'Slack',
      fields: { webhook_url: 'secret', channel: 'optional', username: 'optional' },
      hosts: slackHosts,
      bodyOf: ({ content }, { channel, username }) => ({
        ...slackMessage(content, installationName),
        ...(channel && { channel }),
        ...(username && { username }),
      }),
      // Slack returns "ok", but compatible services return other texts. Only the status is checked.
      parse: (body) => ({ accepted: true, message: body }),
    },
    deps,
  );
}
