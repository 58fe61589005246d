import { pino } from 'pino';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { OutageLog } from '../../src/telemetry/outage-log.ts';

const quietMs = 1000;
const reminderMs = 60_000;
let outage: OutageLog;
let lines: Record<string, unknown>[];

beforeEach(() => {
  vi.useFakeTimers();
  lines = [];
  const log = pino({ base: null, timestamp: false }, { write: (line: string) => lines.push(JSON.parse(line)) });
  outage = new OutageLog(log, { began: 'gone', continues: 'still gone', ended: 'back', quietMs, reminderMs });
});
afterEach(() => void vi.useRealTimers());

const messages = () => lines.map(({ msg }) => msg);

test('logs nothing without a failure', () => {
  outage.succeeded();
  vi.advanceTimersByTime(reminderMs);
  expect(lines).toEqual([]);
});

test('logs many failures in one line, and the end in another', () => {
  for (let n = 0; n < 100; n++) outage.failed('connection refused');
  for (let n = 0; n < 100; n++) outage.succeeded();
  expect(lines).toEqual([{ level: 40, reason: 'connection refused', msg: 'gone' }]);
  vi.advanceTimersByTime(reminderMs);
  expect(lines.slice(1)).toEqual([{ level: 40, since: expect.any(String), until: expect.any(String), failures: 100, msg: 'back' }]);
});

test('logs the next outage like the first one', () => {
  for (const failures of [1, 2]) {
    for (let n = 0; n < failures; n++) outage.failed('connection refused');
    outage.succeeded();
    vi.advanceTimersByTime(quietMs);
    expect(lines.at(-1)).toMatchObject({ failures });
  }
  expect(messages()).toEqual(['gone', 'back', 'gone', 'back']);
});

test('reminds of an outage that lasts, and says since when it lasts', () => {
  outage.failed('first');
  vi.advanceTimersByTime(reminderMs - 1);
  outage.failed('second');
  expect(messages()).toEqual(['gone']);
  vi.advanceTimersByTime(1);
  outage.failed('third');
  outage.failed('fourth');
  expect(lines.slice(1)).toEqual([{ level: 40, reason: 'third', since: expect.any(String), failures: 3, msg: 'still gone' }]);
});

test('reminds once a minute by default', () => {
  const log = pino({ base: null, timestamp: false }, { write: (line: string) => lines.push(JSON.parse(line)) });
  outage = new OutageLog(log, { began: 'gone', continues: 'still gone', ended: 'back', quietMs });
  for (let second = 0; second <= 120; second++) {
    outage.failed('connection refused');
    vi.advanceTimersByTime(1000);
  }
  expect(messages()).toEqual(['gone', 'still gone', 'still gone']);
});

test('successes between failures do not end an outage', () => {
  for (let n = 0; n < 20; n++) {
    outage.failed('too many connections');
    outage.succeeded();
    vi.advanceTimersByTime(quietMs - 1);
  }
  expect(messages()).toEqual(['gone']);
  vi.advanceTimersByTime(1);
  expect(messages()).toEqual(['gone', 'back']);
});
