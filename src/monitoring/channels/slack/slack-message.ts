import type { ContextBlock, MessageAttachment } from '@slack/types';
import type { Content, Fact } from '../../messages/message-content.ts';
import { joinText, type Text, utcText } from '../../messages/text.ts';
import { colors } from '../colors.ts';

/** What Slack shows: title and line as the text, which notifications and compatible services show as well, and the facts below. */
export interface SlackMessage {
  text: string;
  mrkdwn: boolean;
  unfurl_links: false;
  unfurl_media: false;
  attachments: MessageAttachment[];
}

export function slackMessage(content: Content, installation: string): SlackMessage {
  const { tone, sign, title, line, list, facts, at } = content;
  const show = (text: Text) => joinText(text, (time) => localTime(time, at), encode);
  // Formatting characters cannot be escaped, so a text that contains some is not formatted. A test is what its text says.
  const isFormatted = tone !== 'neutral' && !/[*_~`]/.test([title, ...line, ...list].join(''));
  const heading = `${sign} ${encode(title)}`;
  const shown = facts.filter(({ phrase }) => phrase !== undefined).map((fact) => phraseOf(fact, show));
  // Slack makes mentions and links of what it finds in a text, unless it is verbatim.
  const context: ContextBlock = {
    type: 'context',
    elements: [{ type: 'mrkdwn', verbatim: true, text: [...shown, encode(installation)].join(' · ') }],
  };
  return {
    text: [isFormatted ? `*${heading}*` : heading, show(line), ...list.map(encode)].filter((text) => text !== '').join('\n'),
    mrkdwn: isFormatted,
    unfurl_links: false,
    unfurl_media: false,
    attachments: [{ color: colors[tone], blocks: [context] }],
  };
}

function phraseOf({ phrase = [], url }: Fact, show: (text: Text) => string): string {
  return url === undefined ? show(phrase) : `<${encode(linkTarget(url))}|${show(phrase).replaceAll('|', '')}>`;
}

/** These characters would end the link. */
function linkTarget(url: string): string {
  return url.replace(/[|<>\s]/g, encodeURIComponent);
}

/** Readers see the time of their own time zone. */
function localTime(time: Date, now: Date): string {
  return `<!date^${Math.floor(time.getTime() / 1000)}^{date_short_pretty} {time}|${encode(utcText([time], { now }))}>`;
}

// Unescaped, a monitor's name could notify everybody in the channel: <!channel>.
const entities: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;' };

function encode(text: string): string {
  return text.replace(/[&<>]/g, (character) => entities[character] ?? character);
}
