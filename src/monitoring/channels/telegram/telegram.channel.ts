import { z } from 'zod';
import { anywhere } from '../../../net/resolve.ts';
import type { Channel, ChannelDeps, ChannelSettings } from '../channel.ts';
import { type ParsedResponse, parseJson, post } from '../post.ts';
import { telegramText } from './telegram-message.ts';

/** Sends to a chat through the Bot API. The operator sets its URL, so every address is allowed. */
export function telegramChannel({
  settings: { telegramApiUrl, installationName },
  limits,
}: ChannelDeps): Channel<ChannelSettings<'telegram'>> {
  return {
    name: 'Telegram',
    receiver: 'Telegram',
    fields: { chat_id: 'plain', token: 'secret' },
    audience: 'people',
    normalize: ({ chat_id, ...others }) => ({ ...others, ...(chat_id !== undefined && { chat_id: String(chat_id) }) }),
    missingSetting: () => undefined,
    async send({ chat_id: chatId, token }, { userId, content }) {
      const message = {
        chat_id: chatId,
        text: telegramText(content, installationName),
        parse_mode: 'HTML',
        link_preview_options: { is_disabled: true },
      };
      const request = {
        service: 'Telegram',
        userId,
        url: `${telegramApiUrl}/bot${token}/sendMessage`,
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(message),
        secrets: [token, token.slice(token.indexOf(':') + 1)],
        parse,
      };
      await post(request, anywhere, limits);
    },
  };
}

const responseSchema = z.object({
  ok: z.boolean(),
  description: z.string().optional(),
  parameters: z.object({ retry_after: z.int().positive().optional() }).optional().catch(undefined),
});

function parse(body: string): ParsedResponse {
  const response = responseSchema.safeParse(parseJson(body)).data;
  if (!response) return { accepted: false, message: body };
  return { accepted: response.ok, message: response.description ?? '', retryAfterSeconds: response.parameters?.retry_after };
}
