import type { Content, Fact, Tone } from '../../messages/message-content.ts';
import { joinText } from '../../messages/text.ts';
import { markdownOf } from '../markdown.ts';
import { truncate } from '../redact.ts';

/** A message of a bot, which workflows post as it is. */
export interface TeamsMessage {
  type: 'message';
  attachments: { contentType: 'application/vnd.microsoft.card.adaptive'; contentUrl: null; content: AdaptiveCard }[];
}

/** The parts of an Adaptive Card that messages have. */
interface AdaptiveCard {
  type: 'AdaptiveCard';
  version: '1.4';
  /** What is shown instead of a card that the program does not know. */
  fallbackText: string;
  msteams: { width: 'Full' };
  body: (Container | FactSet | RichTextBlock)[];
  actions: { type: 'Action.OpenUrl'; title: string; url: string }[];
}

interface Container {
  type: 'Container';
  style: 'attention' | 'good' | 'warning' | 'default';
  bleed: true;
  items: RichTextBlock[];
}

interface FactSet {
  type: 'FactSet';
  facts: { title: string; value: string }[];
}

/** Its text is no Markdown, other than that of a TextBlock. */
interface RichTextBlock {
  type: 'RichTextBlock';
  spacing: 'small';
  inlines: ({ type: 'TextRun'; text: string } & TextStyle)[];
}

interface TextStyle {
  weight?: 'bolder';
  size?: 'medium' | 'small';
  isSubtle?: true;
}

const styles: Record<Tone, Container['style']> = { down: 'attention', up: 'good', warning: 'warning', neutral: 'default' };

/** Teams accepts messages of up to 28 KB. */
const limits = { title: 256, line: 1000, listed: 250, facts: 6, value: 300, links: 3, footer: 256 };

/** What Teams shows: an Adaptive Card. */
export function teamsMessage(content: Content, installation: string): TeamsMessage {
  const { tone, sign, title, line, list, facts, links } = content;
  const heading = `${sign} ${encode(title, limits.title)}`;
  const lines = [joinText(line, localTime, (part) => encode(part, limits.line)), ...list.map((text) => encode(text, limits.listed))].filter(
    (text) => text !== '',
  );
  const shown = facts.filter(({ phrase }) => phrase !== undefined).slice(0, limits.facts);
  const card: AdaptiveCard = {
    type: 'AdaptiveCard',
    version: '1.4',
    fallbackText: heading,
    msteams: { width: 'Full' },
    body: [
      {
        type: 'Container',
        style: styles[tone],
        bleed: true,
        items: [plainBlock(heading, { weight: 'bolder', size: 'medium' }), ...lines.map((text) => plainBlock(text))],
      },
      ...(shown.length > 0 ? [{ type: 'FactSet', facts: shown.map(factOf) } as const] : []),
      plainBlock(encode(installation, limits.footer), { isSubtle: true, size: 'small' }),
    ],
    actions: links.slice(0, limits.links).map(({ label, url }) => ({ type: 'Action.OpenUrl', title: label, url })),
  };
  return { type: 'message', attachments: [{ contentType: 'application/vnd.microsoft.card.adaptive', contentUrl: null, content: card }] };
}

function plainBlock(text: string, style: TextStyle = {}): RichTextBlock {
  return { type: 'RichTextBlock', spacing: 'small', inlines: [{ type: 'TextRun', text, ...style }] };
}

/** A value in a FactSet is Markdown. */
function factOf({ label, value, short = value }: Fact): FactSet['facts'][number] {
  return { title: label, value: joinText(short, localTime, (part) => markdownOf(withoutFunctions(part), limits.value)) };
}

/** Readers see times of their own time zone. */
function localTime(time: Date): string {
  const seconds = `${time.toISOString().slice(0, 19)}Z`;
  return `{{DATE(${seconds}, SHORT)}}, {{TIME(${seconds})}}`;
}

function encode(text: string, limit: number): string {
  return truncate(withoutFunctions(text), limit, '…');
}

/** The invisible character keeps Teams from showing a time instead of a name with {{DATE(…)}}. */
function withoutFunctions(text: string): string {
  return text.replace(/\{(?=\{)/g, '{\u2060');
}
