import { expect, test } from 'vitest';
import { smsText } from '../../../../src/monitoring/channels/sms/sms-message.ts';
import { contentOf } from '../../../../src/monitoring/messages/content.ts';
import type { StoredEvent } from '../../../../src/monitoring/messages/event.ts';
import { hostileEvents, hostileGroups } from '../../../support/hostile-content.ts';
import { sampleEvent } from '../../../support/sample-event.ts';

interface Options {
  type?: 'monitor.down' | 'monitor.reminder' | 'monitor.recovered' | 'monitor.tls_expiring';
  name?: string;
  url?: string | null;
  cause?: string;
}

function eventOf({
  type = 'monitor.down',
  name = 'Checkout API',
  url = 'https://shop.example/health',
  cause = 'HTTP 503',
}: Options): StoredEvent {
  const event = sampleEvent({ type: type === 'monitor.tls_expiring' ? 'monitor.down' : type, name, cause });
  if (!('monitor' in event.data)) throw new Error('This is another event.');
  event.data.monitor.url = url;
  if (type !== 'monitor.tls_expiring') return event;
  const monitor = { ...event.data.monitor, tls_expires_at: '2026-11-24T12:59:00.000Z' };
  return { type, timestamp: '2026-11-15T12:59:00.000Z', data: { monitor, incident: null } };
}

const smsAbout = (event: StoredEvent) => smsText({ event, content: contentOf(event) });
const text = (options: Options = {}) => smsAbout(eventOf(options));
const longUrl = `https://shop.example/${'a'.repeat(120)}`;
const longName = 'The checkout of the shop in the northern region';
const longCause = 'HTTP 511, expected 200, 301, 302, 303, 307 or 308';

test('says what has happened, when, and where', () => {
  expect(text()).toBe('DOWN Checkout API: 503 Service Unavailable. Since 01:41 UTC. https://shop.example/health');
  expect(text({ type: 'monitor.recovered' })).toBe(
    'UP Checkout API: was down 23 min, 01:41-02:04 UTC (503 Service Unavailable). https://shop.example/health',
  );
  expect(text({ type: 'monitor.reminder' })).toBe(
    'STILL DOWN Checkout API: 22 min, 503 Service Unavailable. Since 01:41 UTC. https://shop.example/health',
  );
  expect(text({ type: 'monitor.tls_expiring' })).toBe(
    'CERT Checkout API: expires in 9 days, Tue 24 Nov, 12:59 UTC. https://shop.example/health',
  );
  expect(text({ url: null })).toBe('DOWN Checkout API: 503 Service Unavailable. Since 01:41 UTC.');
});

test('a text that is too long loses the path first, then the end of the name, then the host', () => {
  expect(text({ url: longUrl })).toBe('DOWN Checkout API: 503 Service Unavailable. Since 01:41 UTC. shop.example');
  // A shorter name would be enough, but the path is lost first.
  expect(text({ url: `https://shop.example/${'a'.repeat(48)}`, name: longName })).toBe(
    `DOWN ${longName}: 503 Service Unavailable. Since 01:41 UTC. shop.example`,
  );
  const host = `${'h'.repeat(60)}.example`;
  expect(text({ url: `https://${host}/${'a'.repeat(99)}`, name: longName })).toBe(
    `DOWN The checkout of th..: 503 Service Unavailable. Since 01:41 UTC. ${host}`,
  );
  const long = { url: `https://${'h'.repeat(60)}.${'h'.repeat(60)}.example/`, name: longName, cause: longCause };
  expect(text(long)).toBe('DOWN The checkout of th..: 511 Network Authentication Required. Since 01:41 UTC.');
  // Without the times, this host would fit.
  const shorter = { ...long, url: `https://${'h'.repeat(60)}.${'h'.repeat(22)}.example/` };
  expect(text(shorter)).toBe('DOWN The checkout of th..: 511 Network Authentication Required. Since 01:41 UTC.');
});

test('a recovery that is too long keeps the duration and the cause', () => {
  const long = {
    type: 'monitor.recovered',
    url: `https://${'h'.repeat(60)}.${'h'.repeat(60)}.example/`,
    name: longName,
    cause: longCause,
  } as const;
  expect(text(long)).toBe('UP The checkout of th..: was down 23 min, 01:41-02:04 UTC (511 Network Authentication Required).');
});

test('a name that GSM lacks loses the address, then the times, then its end', () => {
  expect(text({ name: 'Магазин' })).toBe('DOWN Магазин: 503 Service Unavailable. Since 01:41 UTC.');
  expect(text({ name: 'Магазин на диване', cause: longCause })).toBe('DOWN Магазин на диване: 511 Network Authentication Required.');
  expect(text({ type: 'monitor.recovered', name: 'Магазин на диване', cause: longCause })).toBe(
    'UP Магазин н..: was down 23 min (511 Network Authentication Required).',
  );
});

test('a name with accents that GSM lacks is simplified if the text is long', () => {
  expect(text({ name: 'Brașov 🛒 shop' })).toBe('DOWN Brasov shop: 503 Service Unavailable. Since 01:41 UTC. https://shop.example/health');
});

test('a name is never cut within a visible character', () => {
  const family = '👩‍👩‍👧‍👦';
  expect(text({ name: `Ж${family.repeat(3)}`, cause: longCause })).toBe(`DOWN Ж${family}..: 511 Network Authentication Required.`);
});

test('the test message fits one segment and begins with what it is', () => {
  const event = { type: 'test', timestamp: '2026-11-15T12:59:00.000Z', data: {} } as const;
  expect(smsAbout(event)).toBe('Test notification from Sitekeeper. If you can read this, alerts will arrive here.');
});

test.each([
  ['50 SMS per day', '2026-11-16T00:00:00.000Z', 'Mon 16 Nov, 00:00 UTC'],
  ['100 messages per hour for this provider', '2026-11-15T13:00:00.000Z', 'Sun 15 Nov, 13:00 UTC'],
  ['1,000,000 SMS per day', '2027-01-01T00:00:00.000Z', 'Fri 1 Jan 2027, 00:00 UTC'],
])('the message about the limit of %s is not cut', (limit, until, shown) => {
  const data = { provider_id: 3, provider_type: 'sms', limit, until };
  const sms = smsAbout({ type: 'alerts.suppressed', timestamp: '2026-11-15T12:59:00.000Z', data });
  expect(sms).toBe(`Alerts are not sent for now. Limit reached: ${limit}. Until ${shown}, only recoveries are sent.`);
  expect(sizeOf(sms)).toBeLessThanOrEqual(1);
});

test.each([
  ['monitor.down', 1439, 'DOWN Checkout API: 503 Service Unavailable. Since 01:41 UTC.'],
  ['monitor.down', 1440, 'DOWN Checkout API: 503 Service Unavailable.'],
  ['monitor.reminder', 1439, 'STILL DOWN Checkout API: 23 h 59 min, 503 Service Unavailable. Since 01:41 UTC.'],
  ['monitor.reminder', 1440, 'STILL DOWN Checkout API: 1 d, 503 Service Unavailable.'],
  ['monitor.recovered', 1439, 'UP Checkout API: was down 23 h 59 min, 01:41-01:40 UTC (503 Service Unavailable).'],
  ['monitor.recovered', 1440, 'UP Checkout API: was down 1 d (503 Service Unavailable).'],
] as const)('%s after %i minutes has times only if these cannot look like those of today', (type, minutes, sms) => {
  const event = eventOf({ type, url: null });
  if (!('incident' in event.data) || event.data.incident === null) expect.fail();
  const { incident } = event.data;
  event.timestamp = new Date(Date.parse(incident.started_at) + minutes * 60_000).toISOString();
  incident.resolved_at &&= event.timestamp;
  expect(smsAbout(event)).toBe(sms);
});

/** How many segments a text needs, in parts of one. */
function sizeOf(sms: string): number {
  const isGsm = /^[\n\r !-_a-~¡£¤¥§¿ÄÅÆÇÉÑÖØÜßàäåæèéìñòöøùüΓΔΘΛΞΠΣΦΨΩ€]*$/.test(sms) && !sms.includes('`');
  const gsmSize = [...sms].reduce((sum, character) => sum + ('^{}\\[~]|€'.includes(character) ? 2 : 1), 0);
  return isGsm ? gsmSize / 160 : sms.length / 70;
}

test.each(hostileEvents)('%s fits one segment', (_, event) => {
  expect(sizeOf(smsAbout(event))).toBeLessThanOrEqual(1);
});

test.each(hostileGroups)('%s fits one segment, and begins with how many monitors are down', (_, content) => {
  const sms = smsText({ event: sampleEvent(), content });
  expect(sms).toMatch(/^250 monitors down: /);
  expect(sizeOf(sms)).toBeLessThanOrEqual(1);
});

test('every message about a monitor fits one segment, whatever the name, the address and the cause are', () => {
  const names = ['x', 'ä'.repeat(100), '€'.repeat(100), 'Ж'.repeat(100), '👩‍👩‍👧‍👦'.repeat(9), 'ș'.repeat(100), `${'x'.repeat(99)}Ж`];
  const urls = [null, 'https://shop.example/', longUrl, 'http://пример.рф/путь', '€'.repeat(300)];
  const causes = ['HTTP 503', longCause, `the body does not contain "${'Ж'.repeat(200)}"`, 'Ж'.repeat(1000), '€'.repeat(36)];
  for (const type of ['monitor.down', 'monitor.reminder', 'monitor.recovered', 'monitor.tls_expiring'] as const) {
    for (const name of names)
      for (const url of urls)
        for (const cause of causes) {
          const sms = text({ type, name, url, cause });
          expect([sms, sizeOf(sms) <= 1]).toEqual([sms, true]);
        }
  }
});
