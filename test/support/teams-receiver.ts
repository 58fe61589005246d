import { createRequire } from 'node:module';
import { z } from 'zod';
import { scripts, type WebServer } from './web-server.ts';

// Node cannot load the modules of the library, because their imports have no extensions.
const { AdaptiveCard, SerializationContext }: typeof import('adaptivecards') = createRequire(import.meta.url)(
  'adaptivecards/dist/adaptivecards.js',
);

const maxBytes = 28 * 1024;

const textRun = z.strictObject({
  type: z.literal('TextRun'),
  text: z.string().min(1),
  weight: z.literal('bolder').optional(),
  size: z.enum(['medium', 'small']).optional(),
  isSubtle: z.literal(true).optional(),
});
const block = z.strictObject({ type: z.literal('RichTextBlock'), spacing: z.literal('small'), inlines: z.array(textRun).length(1) });
const container = z.strictObject({
  type: z.literal('Container'),
  style: z.enum(['attention', 'good', 'warning', 'default']),
  bleed: z.literal(true),
  items: z.array(block).min(1),
});
const factSet = z.strictObject({
  type: z.literal('FactSet'),
  facts: z.array(z.strictObject({ title: z.string().min(1), value: z.string().min(1) })).min(1),
});
const cardSchema = z.strictObject({
  type: z.literal('AdaptiveCard'),
  version: z.literal('1.4'),
  fallbackText: z.string(),
  msteams: z.strictObject({ width: z.literal('Full') }),
  body: z.union([z.tuple([container, factSet, block]), z.tuple([container, block])]),
  actions: z
    .array(z.strictObject({ type: z.literal('Action.OpenUrl'), title: z.string().min(1), url: z.url({ protocol: /^https?$/ }) }))
    .max(6),
});

const messageSchema = z.strictObject({
  type: z.literal('message'),
  attachments: z
    .array(
      z.strictObject({
        contentType: z.literal('application/vnd.microsoft.card.adaptive'),
        contentUrl: z.null(),
        content: cardSchema.refine(isValidCard, 'the library of Adaptive Cards reports errors'),
      }),
    )
    .length(1),
});

function isValidCard(json: object): boolean {
  const [card, context] = [new AdaptiveCard(), new SerializationContext()];
  card.parse(json, context);
  return context.eventCount === 0 && card.validateProperties().validationEvents.length === 0;
}

/** Responds like a workflow that posts to a channel. */
export const acceptTeamsMessage: WebServer['script'] = (request, response) => {
  const tooLong = Buffer.byteLength(request.body) > maxBytes;
  if (tooLong)
    return scripts.respond('{"error":{"code":"RequestEntityTooLarge","message":"The card is too long."}}', 413)(request, response);
  const parsed = messageSchema.safeParse(JSON.parse(request.body));
  if (parsed.success && request.headers['content-type'] === 'application/json') return scripts.respond('', 202)(request, response);
  return scripts.respond(JSON.stringify({ error: { code: 'BadRequest', message: parsed.error?.message } }), 400)(request, response);
};

/** Parses a message that was accepted. */
export function teamsCard(body: string) {
  const [attachment] = messageSchema.parse(JSON.parse(body)).attachments;
  if (!attachment) throw new Error('The message has no card.');
  const [{ style, items }] = attachment.content.body;
  const facts = attachment.content.body.length === 3 ? attachment.content.body[1].facts : [];
  const footer = attachment.content.body.at(-1) as z.infer<typeof block>;
  const textOf = ({ inlines }: z.infer<typeof block>) => inlines.map(({ text }) => text).join('');
  const { actions, fallbackText } = attachment.content;
  return {
    style,
    lines: items.map(textOf),
    facts: facts.map(({ title, value }) => [title, value]),
    footer: textOf(footer),
    actions: actions.map(({ title, url }) => [title, url]),
    fallbackText,
  };
}
