import { setTimeout as delay } from 'node:timers/promises';
import { pino } from 'pino';
import { expect, test } from 'vitest';
import { OutageLog } from '../../src/telemetry/outage-log.ts';

function createOutageLog({ quietMs, reminderMs }: { quietMs: number; reminderMs: number }) {
  const lines: Record<string, unknown>[] = [];
  const log = pino({ base: null, timestamp: false }, { write: (line: string) => lines.push(JSON.parse(line)) });
  return { outage: new OutageLog(log, { began: 'gone', continues: 'still gone', ended: 'back', quietMs, reminderMs }), lines };
}

test('logs nothing without a failure', async () => {
  const { outage, lines } = createOutageLog({ quietMs: 0, reminderMs: 0 });
  outage.succeeded();
  await delay(20);
  expect(lines).toEqual([]);
});

test('logs many failures in one line, and the end in another', async () => {
  const { outage, lines } = createOutageLog({ quietMs: 1, reminderMs: 60_000 });
  for (let n = 0; n < 100; n++) outage.failed('connection refused');
  for (let n = 0; n < 100; n++) outage.succeeded();
  const ended = { level: 40, since: expect.any(String), until: expect.any(String), failures: 100, msg: 'back' };
  await expect.poll(() => lines).toEqual([{ level: 40, reason: 'connection refused', msg: 'gone' }, ended]);
});

test('reminds of an outage that lasts, and says since when it lasts', async () => {
  const { outage, lines } = createOutageLog({ quietMs: 60_000, reminderMs: 50 });
  outage.failed('first');
  await delay(60);
  outage.failed('second');
  outage.failed('third');
  expect(lines.slice(1)).toEqual([{ level: 40, reason: 'second', since: expect.any(String), failures: 2, msg: 'still gone' }]);
});

test('successes between failures do not end an outage', async () => {
  const { outage, lines } = createOutageLog({ quietMs: 10_000, reminderMs: 60_000 });
  for (let n = 0; n < 20; n++) {
    outage.failed('too many connections');
    outage.succeeded();
    await delay(5);
  }
  expect(lines).toHaveLength(1);
});
