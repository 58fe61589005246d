import type { ContextBlock, MessageAttachment } from '@slack/types';
import type { Content, Fact } from '../../messages/message-content.ts';
import { joinText, type Text, utcText } from '../../messages/text.ts';
import { colors } from '../colors.ts';
import { truncate } from '../redact.ts';

/** What Slack shows: title and line as the text, which notifications and compatible services show as well, and the facts below. */
export interface SlackMessage {
  text: string;
  mrkdwn: boolean;
  unfurl_links: false;
  unfurl_media: false;
  attachments: MessageAttachment[];
}

/**
 * In characters as they are sent, in which & is &amp;. Slack rejects a message if the facts and the installation have more than
 * 3,000 together, and splits a text of more than 4,000.
 */
const limits = { title: 256, line: 1000, listed: 250, phrase: 200, url: 2000, footer: 256 };

export function slackMessage(content: Content, installation: string): SlackMessage {
  const { tone, sign, title, line, list, facts, at } = content;
  const show = (text: Text, limit: number) =>
    joinText(
      text,
      (time) => localTime(time, at),
      (part) => encode(part, limit),
    );
  // Formatting characters cannot be escaped, so a text that contains some is not formatted. A test is what its text says.
  const isFormatted = tone !== 'neutral' && !/[*_~`]/.test([title, ...line, ...list].join(''));
  const heading = `${sign} ${encode(title, limits.title)}`;
  const shown = facts.filter(({ phrase }) => phrase !== undefined).map((fact) => phraseOf(fact, (text) => show(text, limits.phrase)));
  // Slack makes mentions and links of what it finds in a text, unless it is verbatim.
  const context: ContextBlock = {
    type: 'context',
    elements: [{ type: 'mrkdwn', verbatim: true, text: [...shown, encode(installation, limits.footer)].join(' · ') }],
  };
  return {
    text: [isFormatted ? `*${heading}*` : heading, show(line, limits.line), ...list.map((text) => encode(text, limits.listed))]
      .filter((text) => text !== '')
      .join('\n'),
    mrkdwn: isFormatted,
    unfurl_links: false,
    unfurl_media: false,
    attachments: [{ color: colors[tone], blocks: [context] }],
  };
}

function phraseOf({ phrase = [], url }: Fact, show: (text: Text) => string): string {
  const target = url === undefined ? undefined : linkTarget(url);
  return target === undefined ? show(phrase) : `<${target}|${show(phrase).replaceAll('|', '')}>`;
}

/** The replaced characters would end the link. A URL that is too long is not linked. */
function linkTarget(url: string): string | undefined {
  const target = escapeEntities(url.replace(/[|<>\s]/g, encodeURIComponent));
  return target.length <= limits.url ? target : undefined;
}

/** Readers see the time of their own time zone. */
function localTime(time: Date, now: Date): string {
  return `<!date^${Math.floor(time.getTime() / 1000)}^{date_short_pretty} {time}|${utcText([time], { now })}>`;
}

// Unescaped, a monitor's name could notify everybody in the channel: <!channel>.
const entities: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;' };

function encode(text: string, limit: number): string {
  return escapeEntities(truncate(text, limit, '…', (part) => escapeEntities(part).length));
}

function escapeEntities(text: string): string {
  return text.replace(/[&<>]/g, (character) => entities[character] ?? character);
}
