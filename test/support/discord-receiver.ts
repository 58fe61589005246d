import { z } from 'zod';
import { scripts, type WebServer } from './web-server.ts';

const text = (limit: number) => z.string().min(1).max(limit);

const embedSchema = z
  .strictObject({
    title: text(256),
    url: z
      .url({ protocol: /^https?$/, hostname: z.regexes.domain })
      .max(2048)
      .optional(),
    description: text(4096),
    color: z.int().min(0).max(0xffffff),
    fields: z.array(z.strictObject({ name: text(256), value: text(1024), inline: z.literal(true) })).max(25),
    footer: z.strictObject({ text: text(2048) }),
    timestamp: z.iso.datetime(),
  })
  .refine(
    ({ title, description, fields, footer }) =>
      [title, description, footer.text, ...fields.flatMap(({ name, value }) => [name, value])].join('').length <= 6000,
    'an embed has at most 6,000 characters',
  );

/** What this service sends to Discord: stricter than what Discord accepts. */
const messageSchema = z.strictObject({
  embeds: z.array(embedSchema).length(1),
  allowed_mentions: z.strictObject({ parse: z.array(z.never()) }),
});

/** Responds like a webhook of Discord. */
export const acceptDiscordMessage: WebServer['script'] = (request, response) => {
  const url = new URL(request.path, 'https://discord.com');
  if (!/^\/api\/webhooks\/\d+\/[\w-]+$/.test(url.pathname))
    return scripts.respond('{"message":"Unknown Webhook","code":10015}', 404)(request, response);
  const parsed = messageSchema.safeParse(JSON.parse(request.body));
  const isJson = request.headers['content-type'] === 'application/json';
  if (!parsed.success || !isJson || url.searchParams.get('wait') !== 'true')
    return scripts.respond(JSON.stringify({ message: 'Invalid Form Body', code: 50035, errors: parsed.error }), 400)(request, response);
  return scripts.respond('{"id":"1234567890","type":0,"content":""}')(request, response);
};

/** Parses a message that was accepted. */
export function discordEmbed(body: string): z.infer<typeof embedSchema> {
  const [embed] = messageSchema.parse(JSON.parse(body)).embeds;
  if (!embed) throw new Error('The message has no embed.');
  return embed;
}

/** A text as Discord shows it, if nothing in it is formatted. */
export function withoutEscapes(text: string): string {
  return text.replace(/\\([^0-9A-Za-z\s])/g, '$1');
}
