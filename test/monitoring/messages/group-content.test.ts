import { describe, expect, test } from 'vitest';
import type { EventType, StoredEvent } from '../../../src/monitoring/messages/event.ts';
import { canBeGrouped, type GroupedEvent, groupContent } from '../../../src/monitoring/messages/group-content.ts';
import { sampleEvent } from '../../support/sample-event.ts';

interface Options {
  type?: 'monitor.down' | 'monitor.reminder' | 'monitor.recovered' | 'monitor.tls_expiring';
  name?: string;
  cause?: string;
}

function eventOf({ type = 'monitor.down', ...options }: Options): StoredEvent {
  if (type !== 'monitor.tls_expiring') return sampleEvent({ type, ...options });
  const event = sampleEvent(options);
  if (!('monitor' in event.data)) throw new Error('This is another event.');
  const monitor = { ...event.data.monitor, tls_expires_at: '2026-11-24T12:59:00.000Z' };
  return { type, timestamp: '2026-11-15T12:59:00.000Z', data: { monitor, incident: null } };
}

const grouped = (count: number, options: Options = {}, firstId = 1): GroupedEvent[] =>
  Array.from({ length: count }, (_, index) => ({
    type: options.type ?? 'monitor.down',
    monitorId: firstId + index,
    event: eventOf({ name: `M${firstId + index}`, ...options }),
  }));

test('outages are counted and listed with their causes', () => {
  expect(groupContent(grouped(6, { cause: 'timed out after 10 s while connecting' }))).toMatchObject({
    tone: 'down',
    sign: '❌',
    about: 'monitors',
    title: '6 monitors down',
    subject: '6 monitors down',
    line: [],
    list: Array.from({ length: 6 }, (_, index) => `M${index + 1}: timed out after 10 s`),
  });
});

describe('a group of several kinds', () => {
  const recovered = grouped(2, { type: 'monitor.recovered' }, 10);
  const expiring = grouped(1, { type: 'monitor.tls_expiring' }, 20);

  test('begins with the worst, and has its colour', () => {
    expect(groupContent([...recovered, ...expiring, ...grouped(1)])).toMatchObject({
      tone: 'down',
      sign: '❌',
      title: '1 monitor down, 1 with a certificate that expires, 2 recovered',
      list: ['M1: 503 Service Unavailable', 'M20: certificate expires in 9 days', 'M10: was down 23 min', 'M11: was down 23 min'],
    });
  });

  test('names reminders after new outages', () => {
    const reminders = grouped(2, { type: 'monitor.reminder' }, 30);
    expect(groupContent([...recovered, ...reminders, ...grouped(1)])).toMatchObject({
      title: '1 monitor down, 2 still down, 2 recovered',
      list: [
        'M1: 503 Service Unavailable',
        'M30: 503 Service Unavailable, 22 min',
        'M31: 503 Service Unavailable, 22 min',
        'M10: was down 23 min',
        'M11: was down 23 min',
      ],
    });
    expect(groupContent(reminders)).toMatchObject({ tone: 'down', sign: '❌', title: '2 monitors still down' });
  });

  test('without an outage is about certificates, and without these about recoveries', () => {
    expect(groupContent([...recovered, ...expiring])).toMatchObject({
      tone: 'warning',
      sign: '⚠️',
      title: '1 certificate expires, 2 recovered',
    });
    expect(groupContent(recovered)).toMatchObject({ tone: 'up', sign: '✅', title: '2 monitors recovered' });
  });
});

test('a monitor that went down twice counts once, and is listed twice', () => {
  const [first] = grouped(1) as [GroupedEvent];
  expect(groupContent([first, first, ...grouped(1, {}, 2)])).toMatchObject({ title: '2 monitors down', list: { length: 3 } });
});

test('ten are listed, and the others, whose events need not be read, are counted', () => {
  const others = grouped(240, {}, 100).map((other) => ({ ...other, event: null }));
  const { title, list } = groupContent([...grouped(12), ...others]);
  expect([title, list.length, list.at(-2), list.at(-1)]).toEqual(['252 monitors down', 11, 'M10: 503 Service Unavailable', 'and 242 more']);
});

test('has the time of the last event', () => {
  const events = [...grouped(1, { type: 'monitor.recovered' }), ...grouped(1)];
  expect(groupContent(events).at).toEqual(new Date('2026-11-15T02:04:18.000Z'));
});

test('a name cannot begin a line, or change the direction of writing', () => {
  expect(groupContent(grouped(2, { name: 'A\n\u202eB' })).list[0]).toBe('A B: 503 Service Unavailable');
});

test('only events about monitors that people get can be grouped', () => {
  const expected: Record<EventType, boolean> = {
    'monitor.down': true,
    'monitor.reminder': true,
    'monitor.recovered': true,
    'monitor.tls_expiring': true,
    'monitor.tls_renewed': false,
    'provider.failing': false,
    'alerts.suppressed': false,
    'recipient.confirmation': false,
    test: false,
  };
  const types = Object.keys(expected) as EventType[];
  expect(Object.fromEntries(types.map((type) => [type, canBeGrouped(type)]))).toEqual(expected);
});
