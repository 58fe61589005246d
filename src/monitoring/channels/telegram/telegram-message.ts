import type { Content, Fact } from '../../messages/message-content.ts';
import { type Text, utcText } from '../../messages/text.ts';
import { truncate } from '../redact.ts';

/** In characters as they are shown. Together they are fewer than what Telegram accepts: 4,096. */
const limits = { title: 256, line: 1000, listed: 250, phrase: 300, footer: 256 };

/** The text of a Telegram message in its HTML: the title, the line, and the facts below. */
export function telegramText(content: Content, installation: string): string {
  const { tone, sign, title, line, list, facts, at } = content;
  const show = (text: Text, limit: number) => utcText(text, { now: at, encode: (part) => encodeText(part, limit) });
  const [first, ...others] = facts
    .filter(({ phrase }) => phrase !== undefined)
    .map((fact) => phraseOf(fact, (text) => show(text, limits.phrase)));
  const heading = `${sign} ${encodeText(title, limits.title)}`;
  const lines = [
    tone === 'neutral' ? heading : `<b>${heading}</b>`,
    show(line, limits.line),
    ...list.map((text) => encodeText(text, limits.listed)),
    first,
    [...others, encodeText(installation, limits.footer)].join(' · '),
  ];
  return lines.filter((text) => text !== undefined && text !== '').join('\n');
}

function phraseOf({ phrase = [], url }: Fact, show: (text: Text) => string): string {
  return url === undefined ? show(phrase) : `<a href="${encode(url)}">${show(phrase)}</a>`;
}

/** The invisible character keeps Telegram from making a mention of a name with an @. */
function encodeText(text: string, limit: number): string {
  return encode(truncate(text.replace(/@(?=\w)/g, '@\u2060'), limit, '…'));
}

const entities: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };

function encode(text: string): string {
  return text.replace(/[&<>"]/g, (character) => entities[character] ?? character);
}
