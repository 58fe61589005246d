import { contentOf } from '../../src/monitoring/messages/content.ts';
import type { StoredEvent } from '../../src/monitoring/messages/event.ts';
import { type GroupedEvent, groupContent } from '../../src/monitoring/messages/group-content.ts';
import type { Content } from '../../src/monitoring/messages/message-content.ts';
import { sampleEvent } from './sample-event.ts';

/** Names that would be formatted, link somewhere or mention somebody, if they were not escaped. */
export const hostileNames = [
  '@everyone <@1> <@&2> <#3> @here <at>Ana</at>',
  '**bold** _it_ __under__ ~~gone~~ ||spoiler|| `code`',
  '[text](https://evil.example) <https://evil.example> https://evil.example',
  '<:smile:123> :smile: <t:0:R> {{DATE(2026-01-01T00:00:00Z)}}',
  '\\* \\\\ \\`',
  '# Heading',
];

/** A monitor with a name and a cause that are longer than any that is stored, and characters that need an escape. */
function extremeEvent(type: StoredEvent['type'], text: string): StoredEvent {
  const event = sampleEvent({ type: type === 'monitor.recovered' ? type : 'monitor.down', name: text, cause: text });
  if (!('incident' in event.data)) return event;
  const url = `https://${'x'.repeat(60)}.example/${encodeURI(text.toWellFormed())}`.slice(0, 2048);
  const monitor = { ...event.data.monitor, url, tls_expires_at: '2026-11-24T12:59:00.000Z' };
  const { timestamp } = event;
  switch (type) {
    case 'monitor.tls_expiring':
      return { type, timestamp, data: { monitor, incident: null } };
    case 'provider.failing':
      return {
        type,
        timestamp,
        data: { provider_id: 3, provider_type: 'slack', provider_name: text, failing_since: timestamp, last_delivery_error: text },
      };
    case 'alerts.suppressed':
      return { type, timestamp, data: { provider_id: 3, provider_type: 'slack', limit: '100 messages per hour', until: timestamp } };
    default:
      return { ...event, type, data: { ...event.data, monitor } } as StoredEvent;
  }
}

const texts: [string, string][] = [
  ['5,000 characters to escape', '*'.repeat(5000)],
  ['5,000 characters to escape in HTML', '&&<&&"&&>&'.repeat(500)],
  ['5,000 letters of three bytes', '監'.repeat(5000)],
  ['5,000 emojis', '👩‍👩‍👧‍👦'.repeat(5000 / 11)],
  ['bidi controls and line breaks', '\u202eevil\u202c\r\n\u2066x\u2069 \u0000 \ud800'],
];
const types = [
  'monitor.down',
  'monitor.reminder',
  'monitor.recovered',
  'monitor.tls_expiring',
  'provider.failing',
  'alerts.suppressed',
] as const;

export const hostileEvents = texts.flatMap(([title, text]) =>
  types.map((type): [string, StoredEvent] => [`${type} with ${title}`, extremeEvent(type, text)]),
);

function groupOf(text: string): GroupedEvent[] {
  return Array.from({ length: 250 }, (_, index) => ({ type: 'monitor.down', monitorId: index, event: extremeEvent('monitor.down', text) }));
}

export const hostileGroups = texts.map(([title, text]): [string, Content] => [`a group with ${title}`, groupContent(groupOf(text))]);

/** What messages can say at most. */
export const hostileContent: [string, Content][] = [
  ...hostileEvents.map(([title, event]): [string, Content] => [title, contentOf(event)]),
  ...hostileGroups,
];
