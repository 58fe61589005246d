// What happens while statistics are read, and whose clock counts.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { Query, Statement } from '../../../src/db/statement.ts';
import { readOverview } from '../../../src/monitoring/statistics/overview.ts';
import { readStatistics } from '../../../src/monitoring/statistics/read-statistics.ts';
import { addChecks, rollUpAll } from '../../support/check-history.ts';
import { startService, type TestService, type TestUser } from '../../support/service.ts';
import { createMonitor } from '../factories.ts';
import {
  addIncident,
  dayMs,
  hourMs,
  type MonitorKey,
  minuteMs,
  readProgress,
  setObserved,
  setProgress,
  startOfHour,
  within,
} from './stored-history.ts';

let service: TestService;
let user: TestUser;
let monitor: MonitorKey;

beforeAll(async () => {
  service = await startService();
});
beforeEach(createNewMonitor);
afterAll(() => service.stop());

async function createNewMonitor() {
  user = await service.createUser();
  monitor = { userId: user.id, monitorId: (await createMonitor(user)).id };
}

const inOneHour = (run: (nowMs: number) => Promise<void>) =>
  within(service.database, hourMs, async (nowMs) => {
    await createNewMonitor();
    await run(nowMs);
  });

/** An hour that is over, half of it down, and not rolled up yet. */
async function addHour(startMs: number) {
  await addChecks(service.database, monitor, [{ atMs: startMs, ms: 100 }]);
  await setObserved(service.database, monitor, [{ fromMs: startMs, toMs: startMs + hourMs }]);
  await addIncident(service.database, monitor, startMs, startMs + 30 * minuteMs);
  await setProgress(service.database, startMs);
}

describe('a roll-up between two of the statements that read', () => {
  /** Runs statements as a PostgreSQL server does: each one sees what others have committed before it. */
  const rollingUpAfter = (count: number): Query => {
    let done = 0;
    return (async (...statements: Statement[]) => {
      const rows: unknown[][] = [];
      for (const statement of statements) {
        if (done++ === count) await rollUpAll(service.database);
        const [found = []] = await service.database.query(user.id)(statement);
        rows.push(found);
      }
      return rows;
    }) as Query;
  };

  test.each([1, 2, 3, 4, 5])('after statement %d leaves the statistics of a monitor as they are', async (count) => {
    await inOneHour(async (nowMs) => {
      const startMs = startOfHour(nowMs) - 2 * hourMs;
      await addHour(startMs);
      const wanted = { userId: user.id, monitorIds: [monitor.monitorId], window: '24h' as const };
      const [statistics] = await readStatistics(rollingUpAfter(count), wanted, nowMs);
      expect(statistics).toMatchObject({ incidentCount: 1, total: { observedMs: hourMs, downMs: 30 * minuteMs, checks: 1 } });
      await rollUpAll(service.database);
      expect((await readProgress(service.database)).hour).toBeGreaterThan(startMs);
    });
  });

  test.each([1, 2, 3, 4])('after statement %d leaves the uptime of all monitors as it is', async (count) => {
    await inOneHour(async (nowMs) => {
      await addHour(startOfHour(nowMs) - 2 * hourMs);
      const { uptime_percent } = await readOverview(rollingUpAfter(count), user.id, nowMs);
      expect(uptime_percent).toEqual({ '24h': 50, '7d': 50, '30d': 50 });
    });
  });
});

test('the uptime of 24 hours contains no time before, however long no hour was rolled up', async () => {
  await inOneHour(async (nowMs) => {
    await addHour(startOfHour(nowMs) - 40 * hourMs);
    expect(await readOverview(service.database.query(user.id), user.id, nowMs)).toMatchObject({
      uptime_percent: { '24h': null, '7d': 50, '30d': 50 },
    });
  });
});

describe('if the clock of this process is wrong, that of the database counts', () => {
  test.each([-40 * dayMs, -dayMs, -hourMs, hourMs, 3 * hourMs, dayMs, 40 * dayMs])(
    'for the statistics of a monitor (%d ms)',
    async (wrongMs) => {
      await inOneHour(async (nowMs) => {
        await addHour(startOfHour(nowMs) - 5 * hourMs);
        for (const window of ['24h', '7d', '30d'] as const) {
          const read = (ms: number) =>
            readStatistics(service.database.query(user.id), { userId: user.id, monitorIds: [monitor.monitorId], window }, ms);
          const [[right], [wrong]] = [await read(nowMs), await read(nowMs + wrongMs)];
          expect(wrong).toEqual({ ...right, range: { fromMs: right?.range.fromMs, toMs: expect.any(Number) } });
          expect(wrong).toMatchObject({ incidentCount: 1, total: { observedMs: hourMs, downMs: 30 * minuteMs, checks: 1 } });
        }
      });
    },
  );
});

test('statistics of no monitors are none', async () => {
  const query = service.database.query(user.id);
  expect(await readStatistics(query, { userId: user.id, monitorIds: [], window: '7d' }, service.database.now())).toEqual([]);
});

test('a monitor that does not exist, and one of another user, have no statistics', async () => {
  const other = await service.createUser();
  const monitorIds = [monitor.monitorId, 999_999_999];
  const query = service.database.query(other.id);
  expect(await readStatistics(query, { userId: other.id, monitorIds, window: '24h' }, service.database.now())).toEqual([]);
});

test('several monitors have their statistics in the order in which they are wanted', async () => {
  const ids = [monitor.monitorId, (await createMonitor(user)).id, (await createMonitor(user)).id];
  for (const monitorIds of [ids, ids.toReversed()]) {
    const wanted = { userId: user.id, monitorIds, window: '24h' as const };
    const all = await readStatistics(service.database.query(user.id), wanted, service.database.now());
    expect(all.map(({ monitorId }) => monitorId)).toEqual(monitorIds);
  }
});
