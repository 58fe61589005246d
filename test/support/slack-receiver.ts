import { z } from 'zod';
import { scripts, type WebServer } from './web-server.ts';

const contextSchema = z.strictObject({
  type: z.literal('context'),
  elements: z.array(z.strictObject({ type: z.literal('mrkdwn'), verbatim: z.literal(true), text: z.string().min(1).max(3000) })).length(1),
});

/** What this service sends to Slack. Slack splits a longer text into several messages. */
const messageSchema = z.strictObject({
  text: z.string().min(1).max(4000),
  mrkdwn: z.boolean(),
  unfurl_links: z.literal(false),
  unfurl_media: z.literal(false),
  attachments: z.array(z.strictObject({ color: z.string().regex(/^#[0-9a-f]{6}$/), blocks: z.array(contextSchema).length(1) })).length(1),
  channel: z.string().optional(),
  username: z.string().optional(),
});

/** Responds like an incoming webhook. */
export const acceptSlackMessage: WebServer['script'] = (request, response) => {
  const { success } = messageSchema.safeParse(JSON.parse(request.body));
  const isJson = request.headers['content-type'] === 'application/json';
  return success && isJson ? scripts.respond('ok')(request, response) : scripts.respond('invalid_attachments', 400)(request, response);
};

/** Parses a message that was accepted. */
export function slackTexts(body: string): { text: string; context: string } {
  const { text, attachments } = messageSchema.parse(JSON.parse(body));
  return { text, context: attachments[0]?.blocks[0]?.elements[0]?.text ?? '' };
}
