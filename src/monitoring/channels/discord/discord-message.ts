import type { APIEmbedField, RESTPostAPIWebhookWithTokenJSONBody } from 'discord-api-types/v10';
import type { Content, Fact } from '../../messages/message-content.ts';
import { joinText, type Text } from '../../messages/text.ts';
import { colors } from '../colors.ts';
import { escapeMarkdown, markdownOf } from '../markdown.ts';
import { truncate } from '../redact.ts';

/** Shorter than what Discord accepts of each, so that together they are shorter than what it accepts of an embed: 6,000. */
const limits = { title: 256, line: 1000, listed: 250, fields: 5, value: 300, footer: 256 };

/** What Discord shows: one embed with the facts as fields. */
export function discordMessage(content: Content, installation: string): RESTPostAPIWebhookWithTokenJSONBody {
  const { tone, sign, title, line, list, facts, links, at } = content;
  const description = [show(line, limits.line), ...list.map((text) => encode(text, limits.listed))].filter((text) => text !== '');
  const url = links.map((link) => linkTarget(link.url)).find((target) => target !== undefined);
  const shown = facts.filter(({ phrase }) => phrase !== undefined).slice(0, limits.fields);
  return {
    embeds: [
      {
        color: Number.parseInt(colors[tone].slice(1), 16),
        title: `${sign} ${encode(title, limits.title - sign.length - 1)}`,
        ...(url !== undefined && { url }),
        description: description.join('\n'),
        fields: shown.map(fieldOf),
        footer: { text: truncate(installation, limits.footer, '…') },
        timestamp: at.toISOString(),
      },
    ],
    allowed_mentions: { parse: [] },
  };
}

function fieldOf({ label, value, short = value }: Fact): APIEmbedField {
  const [time, ...others] = short;
  const isTime = time instanceof Date && others.length === 0;
  return { name: label, value: isTime ? `${localTime(time, 'f')} (${localTime(time, 'R')})` : show(short, limits.value), inline: true };
}

function show(text: Text, limit: number): string {
  return joinText(
    text,
    (time) => localTime(time, 'f'),
    (part) => encode(part, limit),
  );
}

/** Readers see times of their own time zone. */
function localTime(time: Date, style: 'f' | 'R'): string {
  return `<t:${Math.floor(time.getTime() / 1000)}:${style}>`;
}

function encode(text: string, limit: number): string {
  return markdownOf(text, limit, escapeText);
}

/** A colon would make links and emojis, an @ mentions, although they notify nobody. */
function escapeText(text: string): string {
  return escapeMarkdown(text).replace(/[:@]/g, '\\$&');
}

/** Discord rejects a message with a link that it does not like, such as one to a host without a dot. */
function linkTarget(text: string): string | undefined {
  const url = URL.parse(text);
  return url && /^[\w-]+(\.[\w-]+)+$/.test(url.hostname) && url.href.length <= 2048 ? url.href : undefined;
}
