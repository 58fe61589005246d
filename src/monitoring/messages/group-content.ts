// What a message says about several events. Pure: no clock, no database.
import { shortCause } from './cause.ts';
import { roughDuration, untilExpiry } from './content.ts';
import type { EventType, StoredEvent } from './event.ts';
import type { Content, Tone } from './message-content.ts';
import { plainText } from './text.ts';

/** The lines of a list. The others are counted. */
export const maxListed = 10;

/** An event of a group. Only those that are listed need the event itself. */
export interface GroupedEvent {
  type: EventType;
  monitorId: number | null;
  event: StoredEvent | null;
}

interface Kind {
  type: EventType;
  tone: Tone;
  sign: string;
  /** After the number, if it comes first. */
  one: string;
  many: string;
  /** After a number that follows another one. */
  next: string;
}

/** The worst comes first. */
const kinds: Kind[] = [
  { type: 'monitor.down', tone: 'down', sign: '❌', one: 'monitor down', many: 'monitors down', next: 'down' },
  { type: 'monitor.reminder', tone: 'down', sign: '❌', one: 'monitor still down', many: 'monitors still down', next: 'still down' },
  {
    type: 'monitor.tls_expiring',
    tone: 'warning',
    sign: '⚠️',
    one: 'certificate expires',
    many: 'certificates expire',
    next: 'with a certificate that expires',
  },
  { type: 'monitor.recovered', tone: 'up', sign: '✅', one: 'monitor recovered', many: 'monitors recovered', next: 'recovered' },
];

/** Whether an event can be one of a group. */
export function canBeGrouped(type: EventType): boolean {
  return kinds.some((kind) => kind.type === type);
}

/** The order in which the events of a group are listed. */
export function byImportance(a: { type: EventType }, b: { type: EventType }): number {
  return rankOf(a.type) - rankOf(b.type);
}

function rankOf(type: EventType): number {
  return kinds.findIndex((kind) => kind.type === type);
}

/** Says what several events mean: how many of each kind there are, and the first ones by name. */
export function groupContent(grouped: readonly GroupedEvent[]): Content {
  const sorted = grouped.toSorted(byImportance);
  const counts = kinds.flatMap((kind) => {
    const monitors = new Set(sorted.filter(({ type }) => type === kind.type).map(({ monitorId }) => monitorId));
    return monitors.size > 0 ? [{ kind, count: monitors.size }] : [];
  });
  const [worst] = counts;
  if (!worst) throw new Error('A group needs an event that can be grouped.');
  const parts = counts.map(({ kind, count }, index) => `${count} ${index > 0 ? kind.next : count === 1 ? kind.one : kind.many}`);
  const title = parts.join(', ');
  const events = sorted.flatMap(({ event }) => (event ? [event] : []));
  const listed = events.slice(0, maxListed).map(lineOf);
  const others = sorted.length - listed.length;
  return {
    tone: worst.kind.tone,
    sign: worst.kind.sign,
    about: 'monitors',
    state: title,
    name: null,
    title,
    line: [],
    list: others > 0 ? [...listed, `and ${others} more`] : listed,
    facts: [],
    links: [],
    subject: title,
    at: new Date(Math.max(...events.map(({ timestamp }) => Date.parse(timestamp)))),
  };
}

function lineOf(event: StoredEvent): string {
  if (!('monitor' in event.data)) return '';
  const { monitor, incident } = event.data;
  const name = plainText(monitor.friendly_name);
  if (incident === null) {
    const ms = Date.parse(monitor.tls_expires_at ?? event.timestamp) - Date.parse(event.timestamp);
    return `${name}: certificate ${untilExpiry(ms)}`;
  }
  if (event.type === 'monitor.down') return `${name}: ${plainText(shortCause(incident.cause))}`;
  const duration = roughDuration(Date.parse(incident.resolved_at ?? event.timestamp) - Date.parse(incident.started_at));
  return event.type === 'monitor.reminder'
    ? `${name}: ${plainText(shortCause(incident.cause))}, ${duration}`
    : `${name}: was down ${duration}`;
}
