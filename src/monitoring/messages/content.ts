// What messages about one event say. Pure: no clock, no database.
import { formatDuration } from '../format-duration.ts';
import { causeInWords } from './cause.ts';
import type { EventContext, EventOf, StoredEvent } from './event.ts';
import type { Content, Fact, Link } from './message-content.ts';
import { confirmationContent, failingContent, suppressedContent, testContent } from './notice-content.ts';
import { plainText } from './text.ts';

/** Says what an event means. */
export function contentOf(event: StoredEvent): Content {
  switch (event.type) {
    case 'monitor.down':
      return downContent(event);
    case 'monitor.reminder':
      return reminderContent(event);
    case 'monitor.recovered':
      return recoveredContent(event);
    case 'monitor.tls_expiring':
      return tlsContent(event);
    case 'monitor.tls_renewed':
      return renewedContent(event);
    case 'provider.failing':
      return failingContent(event);
    case 'alerts.suppressed':
      return suppressedContent(event);
    case 'recipient.confirmation':
      return confirmationContent(event);
    case 'test':
      return testContent(event);
  }
}

function downContent(event: EventOf<'monitor.down'> & EventContext): Content {
  const checks = event.data.monitor.confirmations + 1;
  const confirmed: Fact = { label: 'Confirmed', value: [new Date(event.timestamp), `, ${checks} failed checks in a row`] };
  return outageContent(event, 'Down', checks > 1 ? [confirmed] : []);
}

function reminderContent(event: EventOf<'monitor.reminder'> & EventContext): Content {
  const ms = Date.parse(event.timestamp) - Date.parse(event.data.incident.started_at);
  return outageContent(event, `Still down, ${roughDuration(ms)}`, []);
}

type Outage = EventOf<'monitor.down' | 'monitor.reminder'> & EventContext;

function outageContent({ timestamp, data: { monitor, incident }, lastGood }: Outage, state: string, facts: Fact[]): Content {
  const name = plainText(monitor.friendly_name);
  const cause = plainText(causeInWords(incident.cause));
  const since = new Date(incident.started_at);
  return {
    tone: 'down',
    sign: '❌',
    about: 'monitor',
    state,
    name,
    title: `${state}: ${name}`,
    line: [cause],
    list: [],
    facts: [
      { label: 'Since', value: [since], phrase: ['Since ', since] },
      ...facts,
      ...(lastGood ? [lastGoodFact(lastGood)] : []),
      ...addressFacts(monitor.url),
    ],
    links: siteLinks(monitor.url),
    subject: `${state}: ${name} (${cause})`,
    at: new Date(timestamp),
  };
}

function lastGoodFact({ at, ms }: NonNullable<EventContext['lastGood']>): Fact {
  const value = ms === null ? [new Date(at)] : [new Date(at), `, ${formatMs(ms)}`];
  return ms === null
    ? { label: 'Last good', value }
    : { label: 'Last good', value, short: [formatMs(ms)], phrase: [`last good ${formatMs(ms)}`] };
}

function recoveredContent({ timestamp, data: { monitor, incident } }: EventOf<'monitor.recovered'>): Content {
  const name = plainText(monitor.friendly_name);
  const cause = plainText(causeInWords(incident.cause));
  const at = new Date(timestamp);
  const from = new Date(incident.started_at);
  const to = new Date(incident.resolved_at ?? timestamp);
  const ms = to.getTime() - from.getTime();
  const responseMs = monitor.last_response_time_ms;
  return {
    tone: 'up',
    sign: '✅',
    about: 'monitor',
    state: `Recovered after ${roughDuration(ms)}`,
    name,
    title: `Recovered: ${name}`,
    line: [`Was down ${roughDuration(ms)}, `, from, ' to ', to],
    list: [],
    facts: [
      { label: 'Was down', value: [from, ' to ', to, `, ${formatDuration(ms)}`] },
      { label: 'Cause', value: [cause], phrase: [cause] },
      ...(incident.acknowledged_at ? [{ label: 'Acknowledged', value: [new Date(incident.acknowledged_at)] }] : []),
      ...(responseMs === null ? [] : [{ label: 'Now', value: [formatMs(responseMs)], phrase: [`now ${formatMs(responseMs)}`] }]),
      ...addressFacts(monitor.url),
    ],
    links: siteLinks(monitor.url),
    subject: `Recovered: ${name}, was down ${roughDuration(ms)}`,
    at,
  };
}

function tlsContent({ timestamp, data: { monitor } }: EventOf<'monitor.tls_expiring'>): Content {
  const name = plainText(monitor.friendly_name);
  const at = new Date(timestamp);
  const expiry = new Date(monitor.tls_expires_at ?? timestamp);
  const state = `Certificate ${untilExpiry(expiry.getTime() - at.getTime())}`;
  return {
    tone: 'warning',
    sign: '⚠️',
    about: 'monitor',
    state,
    name,
    title: `${state}: ${name}`,
    line: [expiry],
    list: [],
    facts: addressFacts(monitor.url),
    links: siteLinks(monitor.url),
    subject: `${state}: ${name}`,
    at,
  };
}

function renewedContent({ timestamp, data: { monitor } }: EventOf<'monitor.tls_renewed'>): Content {
  const name = plainText(monitor.friendly_name);
  const at = new Date(timestamp);
  const expiry = new Date(monitor.tls_expires_at ?? timestamp);
  const state = 'Certificate renewed';
  return {
    tone: 'up',
    sign: '✅',
    about: 'monitor',
    state,
    name,
    title: `${state}: ${name}`,
    line: ['The new one expires ', expiry],
    list: [],
    facts: addressFacts(monitor.url),
    links: siteLinks(monitor.url),
    subject: `${state}: ${name}`,
    at,
  };
}

function addressFacts(url: string | null): Fact[] {
  if (url === null) return [];
  const host = hostOf(url);
  const fact: Fact = { label: 'Address', value: [plainText(url)], short: [host], phrase: [host] };
  return [isWebUrl(url) ? { ...fact, url } : fact];
}

function siteLinks(url: string | null): Link[] {
  return url !== null && isWebUrl(url) ? [{ label: 'Open the site', url }] : [];
}

/** The host of a target, with its port if it has one. */
export function hostOf(url: string): string {
  return plainText(URL.parse(url)?.host || url);
}

function isWebUrl(url: string): boolean {
  return /^https?:$/.test(URL.parse(url)?.protocol ?? '');
}

/** "expires in 9 days", "expires in 23 h", or "has expired". */
export function untilExpiry(ms: number): string {
  if (ms <= 0) return 'has expired';
  const days = Math.round(ms / 86_400_000);
  return `expires in ${ms < 1.5 * 86_400_000 ? roughDuration(ms) : `${days} days`}`;
}

/** A duration without seconds, from a minute on. */
export function roughDuration(ms: number): string {
  return formatDuration(ms < 60_000 ? ms : Math.floor(ms / 60_000) * 60_000);
}

/** "614 ms", "1,204 ms", "12.4 s". */
function formatMs(ms: number): string {
  return ms < 10_000 ? `${ms.toLocaleString('en-US')} ms` : `${(Math.floor(ms / 100) / 10).toFixed(1)} s`;
}
