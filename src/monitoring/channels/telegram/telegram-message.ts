import type { Content, Fact } from '../../messages/message-content.ts';
import { type Text, utcText } from '../../messages/text.ts';

/** The text of a Telegram message in its HTML: the title, the line, and the facts below. */
export function telegramText(content: Content, installation: string): string {
  const { tone, sign, title, line, list, facts, at } = content;
  const show = (text: Text) => utcText(text, { now: at, encode: encodeText });
  const [first, ...others] = facts.filter(({ phrase }) => phrase !== undefined).map((fact) => phraseOf(fact, show));
  const heading = `${sign} ${encodeText(title)}`;
  const lines = [
    tone === 'neutral' ? heading : `<b>${heading}</b>`,
    show(line),
    ...list.map(encodeText),
    first,
    [...others, encodeText(installation)].join(' · '),
  ];
  return lines.filter((text) => text !== undefined && text !== '').join('\n');
}

function phraseOf({ phrase = [], url }: Fact, show: (text: Text) => string): string {
  return url === undefined ? show(phrase) : `<a href="${encode(url)}">${show(phrase)}</a>`;
}

/** The invisible character keeps Telegram from making a mention of a name with an @. */
function encodeText(text: string): string {
  return encode(text.replace(/@(?=\w)/g, '@\u2060'));
}

const entities: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };

function encode(text: string): string {
  return text.replace(/[&<>"]/g, (character) => entities[character] ?? character);
}
