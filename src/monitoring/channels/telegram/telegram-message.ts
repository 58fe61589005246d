import type { Content, Fact } from '../../messages/content.ts';
import { type Text, utcText } from '../../messages/text.ts';

/** The text of a Telegram message in its HTML: the title, the line, and the facts below. */
export function telegramText(content: Content, installation: string): string {
  const { tone, sign, title, line, list, facts, at } = content;
  const show = (text: Text) => utcText(text, { now: at, encode });
  const [first, ...others] = facts.filter(({ phrase }) => phrase !== undefined).map((fact) => phraseOf(fact, show));
  const heading = `${sign} ${encode(title)}`;
  const lines = [
    tone === 'neutral' ? heading : `<b>${heading}</b>`,
    show(line),
    ...list.map(encode),
    first,
    [...others, encode(installation)].join(' · '),
  ];
  return lines.filter((text) => text !== undefined && text !== '').join('\n');
}

function phraseOf({ phrase = [], url }: Fact, show: (text: Text) => string): string {
  return url === undefined ? show(phrase) : `<a href="${encode(url)}">${show(phrase)}</a>`;
}

const entities: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };

function encode(text: string): string {
  return text.replace(/[&<>"]/g, (character) => entities[character] ?? character);
}
