import { z } from 'zod';
import type { DeliverySettings } from '../../config/config.ts';
import { anywhere } from '../../net/resolve.ts';
import type { Channel, Limits, Targets } from './channel.ts';
import { type ParsedResponse, parseJson, post } from './post.ts';
import { truncate } from './redact.ts';

const maxTextLength = 4096;

/** Sends to a chat through the Bot API. The operator sets its URL, so every address is allowed. */
export function telegramChannel(
  { telegramApiUrl }: Pick<DeliverySettings, 'telegramApiUrl'>,
  limits: Limits,
): Channel<Targets['telegram']> {
  return {
    missingSetting: () => undefined,
    async send({ chatId, token }, { text }) {
      const message = {
        chat_id: chatId,
        text: truncate(text, maxTextLength, '…'), // Without parse_mode it is plain text.
        link_preview_options: { is_disabled: true },
      };
      const request = {
        service: 'Telegram',
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
