import { causeInWords } from '../../messages/cause.ts';
import { hostOf, untilExpiry } from '../../messages/content.ts';
import { plainText } from '../../messages/text.ts';
import type { Message } from '../channel.ts';
import { truncate } from '../redact.ts';

/** An event of PagerDuty's Events API v2, without the key of the service. */
export type PagerDutyEvent = TriggerEvent | ResolveEvent;

export interface TriggerEvent {
  event_action: 'trigger';
  /** PagerDuty adds an event with the key of an open incident to it. */
  dedup_key: string;
  client: string;
  payload: {
    summary: string;
    source: string;
    severity: 'critical' | 'warning' | 'info';
    timestamp: string;
    component?: string;
    group?: string;
    class: string;
    custom_details: Record<string, string | number | null>;
  };
  links: { href: string; text: string }[];
}

export interface ResolveEvent {
  event_action: 'resolve';
  dedup_key: string;
}

type Described = Pick<TriggerEvent['payload'], 'summary' | 'severity' | 'custom_details'> & {
  monitor?: { friendly_name: string; url: string | null };
};

const maxSummary = 1024;
const maxLabel = 255;

/** The event that a message is sent as, and what resolves the incident of a test. */
export function pagerDutyEvents({ topic, event, content }: Message, installation: string): [PagerDutyEvent, ResolveEvent?] {
  const resolve: ResolveEvent = { event_action: 'resolve', dedup_key: topic };
  const described = describe({ event, content });
  if (!described) return [resolve];
  const { summary, severity, custom_details, monitor } = described;
  const label = (text: string) => truncate(plainText(text), maxLabel, '…');
  const host = monitor?.url ? label(hostOf(monitor.url)) : undefined;
  const component = monitor && label(monitor.friendly_name);
  const trigger: TriggerEvent = {
    event_action: 'trigger',
    dedup_key: topic,
    client: installation,
    payload: {
      summary: truncate(summary, maxSummary, '…'),
      source: host || component || installation,
      severity,
      timestamp: content.at.toISOString(),
      ...(component && { component }),
      ...(host && { group: host }),
      class: event.type,
      custom_details,
    },
    links: content.links.map(({ label: text, url: href }) => ({ href, text })),
  };
  return event.type === 'test' ? [trigger, resolve] : [trigger];
}

/** Describes an event that opens an incident. Returns null for one that resolves it. */
function describe({ event, content }: Pick<Message, 'event' | 'content'>): Described | null {
  switch (event.type) {
    case 'monitor.down':
    // Added to the incident, or opens it again if somebody has resolved it in PagerDuty.
    case 'monitor.reminder': {
      const { monitor, incident } = event.data;
      const cause = plainText(causeInWords(incident.cause));
      return {
        summary: `${plainText(monitor.friendly_name)} is down: ${cause}`,
        severity: 'critical',
        custom_details: {
          cause,
          since: incident.started_at,
          last_good: event.lastGood?.at ?? null,
          last_good_ms: event.lastGood?.ms ?? null,
          address: monitor.url,
          monitor_id: monitor.id,
          incident_id: incident.id,
        },
        monitor,
      };
    }
    case 'monitor.tls_expiring': {
      const { monitor } = event.data;
      const expiry = monitor.tls_expires_at ?? event.timestamp;
      return {
        summary: `Certificate of ${plainText(monitor.friendly_name)} ${untilExpiry(Date.parse(expiry) - Date.parse(event.timestamp))}`,
        severity: 'warning',
        custom_details: { expires_at: expiry, address: monitor.url, monitor_id: monitor.id },
        monitor,
      };
    }
    case 'provider.failing':
      return {
        summary: content.title,
        severity: 'warning',
        custom_details: { since: event.data.failing_since, error: plainText(event.data.last_delivery_error ?? '') },
      };
    case 'alerts.suppressed':
      return { summary: content.title, severity: 'warning', custom_details: { limit: event.data.limit, until: event.data.until } };
    case 'test':
      return { summary: content.title, severity: 'info', custom_details: {} };
    case 'monitor.recovered':
    case 'monitor.tls_renewed':
    // Only mail is sent to people who must agree.
    case 'recipient.confirmation':
      return null;
  }
}
