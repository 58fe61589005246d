import { pino } from 'pino';
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest';
import { readConfig } from '../../../src/config/config.ts';
import { Engine } from '../../../src/monitoring/engine/engine.ts';
import { startEngine } from '../../../src/monitoring/engine/start-engine.ts';
import { dayMs, hourMs, rings, startOfHour, startOfMonth } from '../../../src/monitoring/statistics/periods.ts';
import { setProgress, startProgress } from '../../../src/monitoring/statistics/progress.ts';
import { createMetrics } from '../../../src/telemetry/metrics.ts';
import { addChecks, readHistoryRows } from '../../support/check-history.ts';
import { startService, type TestService } from '../../support/service.ts';
import { startTestClock } from '../../support/test-clock.ts';
import { startWebServer } from '../../support/web-server.ts';
import { createMonitor } from '../factories.ts';

let service: TestService;

beforeAll(async () => {
  service = await startService({ netAllow: ['127.0.0.1'] });
});
afterAll(() => service.stop());

function start(settings: Record<string, string> = {}, log = pino({ level: 'silent' })) {
  const { database } = service;
  return startEngine({ config: readConfig(settings), database, secretKeys: [Buffer.alloc(32, 1)], log, metrics: createMetrics() });
}

test('deletes old statistics and incidents after the start', async () => {
  const user = await service.createUser();
  const { id } = await createMonitor(user, { is_active: false });
  const count = () =>
    service.database.asEngine((em) =>
      em.execute(
        `select (select count(*)::int from day_statistics where monitor_id = ?) as months,
                (select count(*)::int from incidents where monitor_id = ?) as incidents`,
        [id, id],
      ),
    );
  await service.database.asEngine(async (em) => {
    const month = startOfMonth(startOfMonth(Date.now() - 400 * dayMs) - 1); // It ended more than 400 days ago.
    await em.execute(
      'insert into day_statistics (user_id, monitor_id, month, slot, days) values (?, ?, to_timestamp(?)::date, ?, ?)',
      [user.id, id, month / 1000, rings.day_statistics.slotOf(month), Buffer.alloc(1)],
      'run',
    );
    await em.execute(
      `insert into incidents (user_id, monitor_id, started_at, resolved_at, cause)
       values (?, ?, app_now() - interval '402 days', app_now() - interval '401 days', 'HTTP 503')`,
      [user.id, id],
      'run',
    );
  });
  expect(await count()).toEqual([{ months: 1, incidents: 1 }]);
  const engine = await start();
  try {
    await expect.poll(count, { timeout: 20_000 }).toEqual([{ months: 0, incidents: 0 }]);
  } finally {
    await engine.stop();
  }
});

test('calculates statistics, and deletes the history of deleted monitors, after the start', async () => {
  const { database } = service;
  const user = await service.createUser();
  const [kept, deleted] = [await createMonitor(user, { is_active: false }), await createMonitor(user, { is_active: false })];
  const hour = startOfHour(Date.now()) - 2 * hourMs;
  for (const { id } of [kept, deleted]) await addChecks(database, { userId: user.id, monitorId: id }, [{ atMs: hour, ms: 5 }]);
  await user.api.delete(deleted.path);
  const rowsOf = async (monitorId: number) => (await readHistoryRows(database, { userId: user.id, monitorId })).map(({ table }) => table);
  expect(await rowsOf(kept.id)).toEqual(['check_logs']);
  expect(await rowsOf(deleted.id)).toEqual(['check_logs', 'deleted_monitors']);
  await database.engineTransaction((query) => query(startProgress({}), setProgress({ hour: new Date(hour), monitorId: 0 })));
  const engine = await start();
  onTestFinished(() => engine.stop());
  await expect.poll(() => rowsOf(kept.id), { timeout: 20_000 }).toContain('hour_statistics');
  await expect.poll(() => rowsOf(deleted.id), { timeout: 20_000 }).toEqual([]);
});

test('asks the address of CONNECTIVITY_CHECK if a check gets no reply', async () => {
  const asked = await startWebServer();
  onTestFinished(() => asked.close());
  const user = await service.createUser();
  const { path } = await createMonitor(user, { url: 'http://unknown.invalid/' });
  onTestFinished(async () => void (await user.api.delete(path)));
  const engine = await start({ CONNECTIVITY_CHECK: `127.0.0.1:${asked.port}` });
  onTestFinished(() => engine.stop());
  await expect.poll(() => asked.connections, { timeout: 20_000 }).toBeGreaterThan(0);
});

test('warns once if no program can ping', async () => {
  const { PATH } = process.env;
  const clock = startTestClock();
  onTestFinished(() => {
    clock.stop();
    process.env.PATH = PATH;
  });
  process.env.PATH = '/nonexistent';
  const warnings: string[] = [];
  const engine = await start(
    { NET_ALLOW: '127.0.0.1' },
    pino({ level: 'warn' }, { write: (line) => void warnings.push(JSON.parse(line).msg) }),
  );
  onTestFinished(() => engine.stop());
  const user = await service.createUser();
  const { id } = await createMonitor(user, { type: 'ping', url: '127.0.0.1' });
  const run = (statement: string) => service.database.asEngine((em) => em.execute<{ failures: number }[]>(statement, [id]));
  for (const expected of [1, 2]) {
    await run('update monitors set next_check_at = app_now() where id = ?');
    while ((await run('select failures from monitors where id = ?'))[0]?.failures !== expected) await clock.pass(500);
    await clock.pass(11_000); // The next check looks for a program again.
  }
  expect(warnings).toEqual(['Neither fping nor ping can be used on this machine: all ping monitors fail']);
});

test('says that checks do not run when their loop does not turn', async () => {
  const engine = await start();
  expect(engine.stalled()).toBeUndefined();
  await engine.stop();
  expect(engine.stalled()).toBe('the loop that runs checks does not turn');
});

test('stops the loop that sends alerts, and says so when only that one does not turn', async () => {
  const isAlive = vi.spyOn(Engine.prototype, 'isAlive', 'get').mockReturnValue(true);
  onTestFinished(() => isAlive.mockRestore());
  const engine = await start();
  expect(engine.stalled()).toBeUndefined();
  await engine.stop();
  expect(engine.stalled()).toBe('the loop that sends alerts does not turn');
});
