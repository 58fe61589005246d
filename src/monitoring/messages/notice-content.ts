// What messages say that are about the delivery of alerts, not about a monitor.

import type { EventOf } from './event.ts';
import type { Content } from './message-content.ts';
import { plainText } from './text.ts';

export function failingContent({ timestamp, data }: EventOf<'provider.failing'>): Content {
  const provider = data.provider_name === null ? `${data.provider_type} provider ${data.provider_id}` : plainText(data.provider_name);
  const since = new Date(data.failing_since);
  return {
    tone: 'down',
    sign: '❌',
    about: 'providers',
    state: 'Alerts are not delivered',
    name: provider,
    title: `Alerts are not delivered: ${provider}`,
    line: [plainText(data.last_delivery_error ?? 'Every attempt has failed.')],
    list: [],
    facts: [{ label: 'Since', value: [since], phrase: ['Since ', since] }],
    links: [],
    subject: `Alerts are not delivered: ${provider}`,
    at: new Date(timestamp),
  };
}

export function suppressedContent({ timestamp, data }: EventOf<'alerts.suppressed'>): Content {
  const title = 'Alerts are not sent for now';
  const line = [`Limit reached: ${data.limit}. Until `, new Date(data.until), ', only recoveries are sent.'];
  return {
    tone: 'warning',
    sign: '⚠️',
    about: 'providers',
    state: title,
    name: null,
    title,
    line,
    list: [],
    facts: [{ label: 'Other alerts', value: ['Not sent, but in the log of deliveries of the provider'] }],
    links: [],
    subject: title,
    at: new Date(timestamp),
  };
}

export function confirmationContent({ timestamp, data }: EventOf<'recipient.confirmation'>): Content {
  const [account, recipient] = [plainText(data.account), plainText(data.recipient)];
  const state = `Confirm alerts of ${plainText(data.installation)}`;
  return {
    tone: 'neutral',
    sign: '✉️',
    about: null,
    state,
    name: null,
    title: state,
    line: [`“${account}” wants to send alerts about websites to “${recipient}”.`],
    list: [
      'To get them, follow the link and press the button there.',
      'If you do not want them, ignore this mail. Nothing more will be sent.',
    ],
    facts: [],
    links: [{ label: 'Confirm the address', url: data.url, isShown: true }],
    subject: state,
    at: new Date(timestamp),
  };
}

export function testContent({ timestamp }: EventOf<'test'>): Content {
  const state = 'Test notification from Sitekeeper';
  return {
    tone: 'neutral',
    sign: '🔔',
    about: null,
    state,
    name: null,
    title: state,
    line: ['If you can read this, alerts will arrive here.'],
    list: [],
    facts: [],
    links: [],
    subject: `🔔 ${state}`,
    at: new Date(timestamp),
  };
}
