import { expect, test } from 'vitest';
import { contentOf, hostOf, roughDuration, untilExpiry } from '../../../src/monitoring/messages/content.ts';
import type { StoredEvent } from '../../../src/monitoring/messages/event.ts';
import { utcText } from '../../../src/monitoring/messages/text.ts';
import { sampleEvent } from '../../support/sample-event.ts';

/** The facts as texts, each with what a row of facts shows. */
function factsOf(event: StoredEvent) {
  const { facts, at } = contentOf(event);
  const show = (text: readonly (string | Date)[]) => utcText(text, { now: at });
  return facts.map(({ label, value, phrase }) => [label, show(value), phrase && show(phrase)]);
}

function outageOf(type: 'monitor.down' | 'monitor.recovered') {
  const event = sampleEvent({ type });
  if (event.type !== type) throw new Error('This is another event.');
  return event;
}

const address = ['Address', 'https://api.northwind.example/v2/checkout/health', 'api.northwind.example'];

test('an outage has the cause in words, its start, the confirmation and the last good response', () => {
  expect(contentOf(sampleEvent())).toMatchObject({
    tone: 'down',
    about: 'monitor',
    sign: '❌',
    state: 'Down',
    name: 'Checkout API',
    title: 'Down: Checkout API',
    line: ['503 Service Unavailable, expected 2xx'],
    subject: 'Down: Checkout API (503 Service Unavailable, expected 2xx)',
    links: [{ label: 'Open the site', url: 'https://api.northwind.example/v2/checkout/health' }],
  });
  expect(factsOf(sampleEvent())).toEqual([
    ['Since', 'Sun 15 Nov, 01:41 UTC', 'Since Sun 15 Nov, 01:41 UTC'],
    ['Confirmed', 'Sun 15 Nov, 01:41 UTC, 3 failed checks in a row', undefined],
    ['Last good', 'Sun 15 Nov, 01:40 UTC, 614 ms', 'last good 614 ms'],
    address,
  ]);
});

test('a reminder says for how long the monitor has been down', () => {
  const event = sampleEvent({ type: 'monitor.reminder' });
  expect(contentOf(event)).toMatchObject({
    tone: 'down',
    about: 'monitor',
    sign: '❌',
    state: 'Still down, 22 min',
    title: 'Still down, 22 min: Checkout API',
    line: ['503 Service Unavailable, expected 2xx'],
    subject: 'Still down, 22 min: Checkout API (503 Service Unavailable, expected 2xx)',
  });
  expect(factsOf(event)).toEqual([
    ['Since', 'Sun 15 Nov, 01:41 UTC', 'Since Sun 15 Nov, 01:41 UTC'],
    ['Last good', 'Sun 15 Nov, 01:40 UTC, 614 ms', 'last good 614 ms'],
    address,
  ]);
});

test('the recovery of an incident that was acknowledged says when', () => {
  const event = outageOf('monitor.recovered');
  event.data.incident.acknowledged_at = '2026-11-15T01:50:00.000Z';
  expect(factsOf(event)[2]).toEqual(['Acknowledged', 'Sun 15 Nov, 01:50 UTC', undefined]);
  delete (event.data.incident as { acknowledged_at?: unknown }).acknowledged_at; // As stored by an older version.
  expect(factsOf(event).map(([label]) => label)).toEqual(['Was down', 'Cause', 'Now', 'Address']);
});

test('a recovery says how long the outage was, why it was, and how fast the response is now', () => {
  const event = sampleEvent({ type: 'monitor.recovered' });
  expect(contentOf(event)).toMatchObject({
    tone: 'up',
    about: 'monitor',
    sign: '✅',
    state: 'Recovered after 23 min',
    title: 'Recovered: Checkout API',
    subject: 'Recovered: Checkout API, was down 23 min',
  });
  expect(utcText(contentOf(event).line, { now: contentOf(event).at })).toBe('Was down 23 min, Sun 15 Nov, 01:41 to 02:04 UTC');
  expect(factsOf(event)).toEqual([
    ['Was down', 'Sun 15 Nov, 01:41 to 02:04 UTC, 23 min 11 s', undefined],
    ['Cause', '503 Service Unavailable, expected 2xx', '503 Service Unavailable, expected 2xx'],
    ['Now', '205 ms', 'now 205 ms'],
    address,
  ]);
});

test.each([
  ['2026-11-24T12:59:00.000Z', 'Certificate expires in 9 days'],
  ['2026-11-16T09:59:00.000Z', 'Certificate expires in 21 h'],
  ['2026-11-15T12:59:00.000Z', 'Certificate has expired'],
])('a warning says on Sun 15 Nov that a certificate until %s %s', (expiry, state) => {
  const { monitor } = outageOf('monitor.down').data;
  const event: StoredEvent = {
    type: 'monitor.tls_expiring',
    timestamp: '2026-11-15T12:59:00.000Z',
    data: { monitor: { ...monitor, tls_expires_at: expiry }, incident: null },
  };
  expect(contentOf(event)).toMatchObject({
    tone: 'warning',
    about: 'monitor',
    sign: '⚠️',
    title: `${state}: Checkout API`,
    subject: `${state}: Checkout API`,
    line: [new Date(expiry)],
  });
});

test('a renewal says when the new certificate expires', () => {
  const { monitor } = outageOf('monitor.down').data;
  const data = { monitor: { ...monitor, tls_expires_at: '2027-02-01T00:00:00.000Z' }, incident: null };
  const [timestamp, replacedExpiry] = ['2026-11-15T12:59:00.000Z', '2026-11-24T12:59:00.000Z'];
  expect(contentOf({ type: 'monitor.tls_renewed', timestamp, data, replacedExpiry })).toMatchObject({
    tone: 'up',
    about: 'monitor',
    sign: '✅',
    title: 'Certificate renewed: Checkout API',
    line: ['The new one expires ', new Date('2027-02-01T00:00:00.000Z')],
  });
});

test('a monitor without a target has neither an address nor a link', () => {
  const event = outageOf('monitor.down');
  event.data.monitor.url = null;
  expect(contentOf(event).links).toEqual([]);
  expect(factsOf(event).map(([label]) => label)).toEqual(['Since', 'Confirmed', 'Last good']);
});

test('a failure that needs no confirmation has none, and a first failure follows no response', () => {
  const event = outageOf('monitor.down');
  event.data.monitor.confirmations = 0;
  expect(factsOf({ ...event, lastGood: null }).map(([label]) => label)).toEqual(['Since', 'Address']);
  expect(factsOf({ ...event, lastGood: { at: event.timestamp, ms: null } })[1]).toEqual(['Last good', 'Sun 15 Nov, 01:41 UTC', undefined]);
});

test('a recovery that was reported without a response has no response time', () => {
  const event = outageOf('monitor.recovered');
  event.data.monitor.last_response_time_ms = null;
  expect(factsOf(event).map(([label]) => label)).toEqual(['Was down', 'Cause', 'Address']);
});

test('only web addresses are links', () => {
  const event = outageOf('monitor.down');
  event.data.monitor.url = 'http://shop.example/';
  expect(contentOf(event).links).toEqual([{ label: 'Open the site', url: 'http://shop.example/' }]);
  for (const url of ['tcp://db.example.org:5432', 'db.example.org']) {
    event.data.monitor.url = url;
    expect(contentOf(event).links).toEqual([]);
    const host = [url.replace('tcp://', '')];
    expect(contentOf(event).facts.at(-1)).toEqual({ label: 'Address', value: [url], short: host, phrase: host });
  }
});

test.each([
  ['https://shop.example:8443/a', 'shop.example:8443'],
  ['https://müller.example/', 'xn--mller-kva.example'],
  ['tcp://db.example.org:5432', 'db.example.org:5432'],
  ['db.example.org', 'db.example.org'],
  ['2001:db8::1', '2001:db8::1'],
])('the host of %s is %s', (url, host) => {
  expect(hostOf(url)).toBe(host);
});

test.each([
  [42_900, '43 s'],
  [60_000, '1 min'],
  [1_391_000, '23 min'],
  [10_140_000, '2 h 49 min'],
  [93_600_000, '1 d 2 h'],
])('%i ms are %s', (ms, text) => {
  expect(roughDuration(ms)).toBe(text);
});

test.each([
  [-1, 'has expired'],
  [3_600_000, 'expires in 1 h'],
  [35 * 3_600_000, 'expires in 1 d 11 h'],
  [13.99 * 86_400_000, 'expires in 14 days'],
])('a certificate whose end is %i ms away %s', (ms, text) => {
  expect(untilExpiry(ms)).toBe(text);
});

test('a response time from ten seconds on is in seconds', () => {
  const event = sampleEvent();
  const lastGood = (ms: number) => factsOf({ ...event, lastGood: { at: event.timestamp, ms } })[2]?.[2];
  expect([lastGood(1204), lastGood(9999), lastGood(12_480)]).toEqual(['last good 1,204 ms', 'last good 9,999 ms', 'last good 12.4 s']);
});
