import { z } from 'zod';
import type { DeliverySettings } from '../../config.ts';
import { anywhere } from '../../net/resolve.ts';
import type { Channel, Limits, Targets } from './channel.ts';
import { jsonOf, post, type Reply } from './post.ts';
import { shortened } from './words.ts';

const longestText = 4096;

/** Writes to a chat through the Bot API. Its address is the operator's setting, so it may be any. */
export function telegramChannel(
  { telegramApiUrl }: Pick<DeliverySettings, 'telegramApiUrl'>,
  limits: Limits,
): Channel<Targets['telegram']> {
  return {
    missingSetting: () => undefined,
    async send({ chatId, token }, { text }) {
      const message = {
        chat_id: chatId,
        text: shortened(text, longestText, '…'), // without parse_mode it is plain text, whatever signs it holds
        link_preview_options: { is_disabled: true },
      };
      const said = {
        service: 'Telegram',
        url: `${telegramApiUrl}/bot${token}/sendMessage`,
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(message),
        secrets: [token, token.slice(token.indexOf(':') + 1)],
        read,
      };
      await post(said, anywhere, limits);
    },
  };
}

const answerShape = z.object({
  ok: z.boolean(),
  description: z.string().optional(),
  parameters: z.object({ retry_after: z.int().positive().optional() }).optional().catch(undefined),
});

function read(body: string): Reply {
  const answer = answerShape.safeParse(jsonOf(body)).data;
  if (!answer) return { accepted: false, words: body };
  return { accepted: answer.ok, words: answer.description ?? '', retryAfterSeconds: answer.parameters?.retry_after };
}
