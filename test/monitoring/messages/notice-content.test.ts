import { expect, test } from 'vitest';
import { contentOf } from '../../../src/monitoring/messages/content.ts';
import type { StoredEvent } from '../../../src/monitoring/messages/event.ts';
import { utcText } from '../../../src/monitoring/messages/text.ts';

test('a provider that fails is named, with its last error and the time of the first', () => {
  const event: StoredEvent = {
    type: 'provider.failing',
    timestamp: '2026-11-15T02:41:07.000Z',
    data: {
      provider_id: 4,
      provider_type: 'slack',
      provider_name: null,
      failing_since: '2026-11-15T01:41:07.000Z',
      last_delivery_error: 'No\u202e such\nhook.',
    },
  };
  expect(contentOf(event)).toMatchObject({
    tone: 'down',
    title: 'Alerts are not delivered: slack provider 4',
    subject: 'Alerts are not delivered: slack provider 4',
    line: ['No such hook.'],
  });
  const since = new Date('2026-11-15T01:41:07.000Z');
  expect(contentOf(event).facts).toEqual([{ label: 'Since', value: [since], phrase: ['Since ', since] }]);
  event.data = { ...event.data, last_delivery_error: null, provider_name: 'Ops\nchat' };
  expect(contentOf(event)).toMatchObject({ title: 'Alerts are not delivered: Ops chat', line: ['Every attempt has failed.'] });
});

test('a limit that is reached is named, with its end, and only a mail says where the other alerts are', () => {
  const { tone, title, line, facts, at } = contentOf({
    type: 'alerts.suppressed',
    timestamp: '2026-11-15T12:20:00.000Z',
    data: { provider_id: 4, provider_type: 'sms', limit: '50 SMS per day', until: '2026-11-16T00:00:00.000Z' },
  });
  expect([tone, title, utcText(line, { now: at })]).toEqual([
    'warning',
    'Alerts are not sent for now',
    'Limit reached: 50 SMS per day. Until Mon 16 Nov, 00:00 UTC, only recoveries are sent.',
  ]);
  // Without a phrase, only mails show it.
  expect(facts).toEqual([{ label: 'Other alerts', value: ['Not sent, but in the log of deliveries of the provider'] }]);
});

test('a link that confirms an address says who wants to send what to whom, without line breaks from them', () => {
  const url = 'https://status.example.com/confirm-recipient/5/x';
  const data = { provider_id: 5, recipient: 'ops@example.com', account: 'ana@example.com\nAdmin', installation: 'Northwind\u202e', url };
  expect(contentOf({ type: 'recipient.confirmation', timestamp: '2026-11-15T12:59:00.000Z', data })).toMatchObject({
    tone: 'neutral',
    name: null,
    title: 'Confirm alerts of Northwind',
    subject: 'Confirm alerts of Northwind',
    line: ['“ana@example.com Admin” wants to send alerts about websites to “ops@example.com”.'],
    list: [expect.stringContaining('follow the link'), expect.stringContaining('ignore this mail')],
    links: [{ label: 'Confirm the address', url, isShown: true }],
  });
});

test('a test notification says so, with a bell in the subject', () => {
  expect(contentOf({ type: 'test', timestamp: '2026-11-15T12:59:00.000Z', data: {} })).toMatchObject({
    tone: 'neutral',
    name: null,
    title: 'Test notification from Sitekeeper',
    subject: '🔔 Test notification from Sitekeeper',
    line: ['If you can read this, alerts will arrive here.'],
  });
});
