import { shortCause } from '../../messages/cause.ts';
import { hostOf, roughDuration, untilExpiry } from '../../messages/content.ts';
import type { StoredEvent } from '../../messages/event.ts';
import { plainText, utcText } from '../../messages/text.ts';
import type { Message } from '../channel.ts';
import { truncate } from '../redact.ts';
import { asOneSegment, canBeGsm, fitOneSegment } from './sms-text.ts';

/** What can be left out of a message, or made shorter. */
interface Parts {
  name: string;
  /** With a space before it. */
  address: string;
  /** Whether the times of the day are in it. */
  hasClock: boolean;
}

type Compose = (parts: Parts) => string;
type MonitorEvent = Extract<StoredEvent, { data: { monitor: unknown } }>;

const shortNameLength = 20;
const dayMs = 86_400_000;

/** Says what has happened in one segment. State, duration and cause are never left out. */
export function smsText({ event, content }: Pick<Message, 'event' | 'content'>): string {
  if (content.about === 'monitors') return fitOneSegment(`${content.title}: ${content.list.join(', ')}`);
  if (!('monitor' in event.data)) return fitOneSegment(`${content.title}. ${utcText(content.line, { now: content.at })}`);
  const { friendly_name, url } = event.data.monitor;
  const name = plainText(friendly_name);
  const compose = composer(event as MonitorEvent); // Only these have a monitor.
  const full = { name, address: url === null ? '' : ` ${url}`, hasClock: true };
  const variants = canBeGsm(name) ? gsmVariants(full, url) : ucs2Variants(full);
  for (const variant of variants) {
    const text = asOneSegment(compose(variant).trim());
    if (text !== undefined) return text;
  }
  return withNameToFit(compose, name);
}

/** With a short name and without the address, every message fits. */
function gsmVariants(full: Parts, url: string | null): Parts[] {
  const withHost = { ...full, address: url === null ? '' : ` ${hostOf(url)}` };
  const withShortName = { ...withHost, name: truncate(full.name, shortNameLength, '..') };
  return [full, withHost, withShortName, { ...withShortName, address: '' }];
}

function ucs2Variants(full: Parts): Parts[] {
  return [full, { ...full, address: '' }, { ...full, address: '', hasClock: false }];
}

/** Makes the name shorter until the message fits. */
function withNameToFit(compose: Compose, name: string): string {
  const minimal = (shorter: string) => compose({ name: shorter, address: '', hasClock: false });
  for (let length = Math.min(name.length, shortNameLength); length > 2; length--) {
    const text = asOneSegment(minimal(truncate(name, length, '..')));
    if (text !== undefined) return text;
  }
  return fitOneSegment(minimal('..'));
}

function composer(event: MonitorEvent): Compose {
  const { monitor, incident } = event.data;
  if (incident === null) {
    const expiry = new Date(monitor.tls_expires_at ?? event.timestamp);
    const left = untilExpiry(expiry.getTime() - Date.parse(event.timestamp));
    const clock = utcText([expiry], { now: new Date(event.timestamp) });
    return ({ name, address, hasClock }) => `CERT ${name}: ${left}${hasClock ? `, ${clock}` : ''}.${address}`;
  }
  const cause = shortCause(incident.cause);
  const from = new Date(incident.started_at);
  const to = new Date(incident.resolved_at ?? event.timestamp);
  const ms = to.getTime() - from.getTime();
  // After a day, the times would look like those of today.
  const isRecent = ms < dayMs;
  const since = isRecent ? ` Since ${clockTime(from)} UTC.` : '';
  if (event.type === 'monitor.down') return ({ name, address, hasClock }) => `DOWN ${name}: ${cause}.${hasClock ? since : ''}${address}`;
  const duration = roughDuration(ms);
  if (event.type === 'monitor.reminder')
    return ({ name, address, hasClock }) => `STILL DOWN ${name}: ${duration}, ${cause}.${hasClock ? since : ''}${address}`;
  const times = isRecent ? `, ${clockTime(from)}-${clockTime(to)} UTC` : '';
  return ({ name, address, hasClock }) => `UP ${name}: was down ${duration}${hasClock ? times : ''} (${cause}).${address}`;
}

function clockTime(time: Date): string {
  return time.toISOString().slice(11, 16);
}
