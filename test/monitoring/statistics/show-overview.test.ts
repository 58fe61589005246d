import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { components } from '../../../generated/types/monitoring.ts';
import { purgeAll, rollUpAll } from '../../support/check-history.ts';
import { expectConditionalList } from '../../support/etags.ts';
import { startService, type TestService, type TestUser } from '../../support/service.ts';
import { createMonitor } from '../factories.ts';
import { createIncident, resolveIncident } from '../incidents/create-incident.ts';
import {
  addIncident,
  dayMs,
  hourMs,
  type MonitorKey,
  minuteMs,
  rollUpBetween,
  setObserved,
  setProgress,
  startOfHour,
  within,
} from './stored-history.ts';

const path = '/api/statistics';

let service: TestService;
let user: TestUser;

beforeAll(async () => {
  service = await startService();
});
beforeEach(async () => {
  user = await service.createUser();
});
afterAll(() => service.stop());

async function show({ api } = user): Promise<components['schemas']['Overview']> {
  const { status, body } = await api.get(path);
  expect([status, body]).toEqual([200, { data: expect.any(Object) }]);
  return body.data;
}

const uptime = async (of = user) => (await show(of)).uptime_percent;

async function create(fields: object = {}, state = ''): Promise<MonitorKey> {
  const { id } = await createMonitor(user, fields);
  if (state) await service.database.asUser(user.id, (em) => em.execute(`update monitors set ${state} where id = ?`, [id], 'run'));
  return { userId: user.id, monitorId: id };
}

const observe = (monitor: MonitorKey, ...ranges: [fromMs: number, toMs: number][]) =>
  setObserved(
    service.database,
    monitor,
    ranges.map(([fromMs, toMs]) => ({ fromMs, toMs })),
  );

test('without monitors every number is zero, and there is no uptime', async () => {
  expect(await show()).toEqual({
    monitors: { total: 0, up: 0, down: 0, pending: 0, paused: 0 },
    open_incidents: 0,
    uptime_percent: { '24h': null, '7d': null, '30d': null },
  });
});

test('counts the monitors of each status and the open incidents, and not those of others', async () => {
  for (const [status, count] of [
    ['up', 4],
    ['down', 3],
    ['pending', 2],
    ['paused', 1],
  ] as const) {
    for (let number = 0; number < count; number++) {
      const { monitorId } = await create({}, `status = '${status}'`);
      if (status === 'down') await createIncident(service, user, { monitorId });
      if (status === 'up') await createIncident(service, user, { monitorId, started: '2 hours', resolved: '1 hour' });
    }
  }
  expect(await show()).toMatchObject({ monitors: { total: 10, up: 4, down: 3, pending: 2, paused: 1 }, open_incidents: 3 });
  const other = await service.createUser();
  expect(await show(other)).toMatchObject({ monitors: { total: 0, up: 0 }, open_incidents: 0 });
});

test('a monitor that was not checked yet does not change the uptime of others', async () => {
  const [monitor] = [await create(), await create()];
  const nowMs = service.database.now();
  await setProgress(service.database, nowMs - 3 * hourMs);
  await observe(monitor, [nowMs - 2 * hourMs, nowMs - hourMs]);
  expect(await uptime()).toEqual({ '24h': 100, '7d': 100, '30d': 100 });
});

test('the time in which a monitor is paused does not change the uptime', async () => {
  const monitor = await create({}, `status = 'paused', is_active = false`);
  const nowMs = service.database.now();
  await setProgress(service.database, nowMs - 5 * hourMs);
  await observe(monitor, [nowMs - 3 * hourMs, nowMs - 2 * hourMs]);
  await addIncident(service.database, monitor, nowMs - 150 * minuteMs, nowMs - 2 * hourMs);
  expect(await uptime()).toEqual({ '24h': 50, '7d': 50, '30d': 50 });
});

describe('the uptime', () => {
  /** Monitors with each status, observed in the last hours, in the last days, and in the last weeks. */
  async function addHistory(nowMs: number) {
    user = await service.createUser();
    const [recent, daysAgo, weeksAgo] = [
      startOfHour(nowMs) - 6 * hourMs,
      startOfHour(nowMs) - 72 * hourMs,
      startOfHour(nowMs) - 20 * dayMs,
    ];
    const up = await create({}, `status = 'up'`);
    const down = await create({}, `status = 'down'`);
    const paused = await create({}, `status = 'paused', is_active = false`);
    await create({}, `status = 'pending'`);
    // In minutes: 100 + 300 observed in the last hours, of which 10 + 30 are down, as both ends of incidents were not observed.
    await observe(
      up,
      [weeksAgo, weeksAgo + 200 * minuteMs],
      [recent, recent + 60 * minuteMs],
      [recent + 80 * minuteMs, recent + 120 * minuteMs],
    );
    await addIncident(service.database, up, recent + 50 * minuteMs, recent + 70 * minuteMs);
    await observe(down, [daysAgo, daysAgo + 100 * minuteMs], [recent, recent + 300 * minuteMs]);
    await addIncident(service.database, down, daysAgo + 60 * minuteMs, daysAgo + 80 * minuteMs);
    await addIncident(service.database, down, recent + 270 * minuteMs);
    // In days: 100 + 500 more, of which 20 + 100 are down. In weeks: 200 more.
    await observe(paused, [daysAgo, daysAgo + 500 * minuteMs]);
    await addIncident(service.database, paused, daysAgo + 400 * minuteMs, daysAgo + 600 * minuteMs);
    return { recent, daysAgo, weeksAgo };
  }

  const expected = {
    monitors: { total: 4, up: 1, down: 1, pending: 1, paused: 1 },
    open_incidents: 1,
    uptime_percent: {
      '24h': 90, // 100 × (1 − 40 / 400)
      '7d': 84, // 100 × (1 − 160 / 1000)
      '30d': 86.667, // 100 × (1 − 160 / 1200)
    },
  };

  test('is that of all monitors together, before the last hours were rolled up and afterwards', async () => {
    await within(service.database, hourMs, async (nowMs) => {
      const { recent, daysAgo, weeksAgo } = await addHistory(nowMs);
      await setProgress(service.database, recent);
      for (const startMs of [weeksAgo, daysAgo]) await rollUpBetween(service.database, startMs, startMs + dayMs + 10 * hourMs);
      expect(await show()).toEqual(expected);
      await rollUpAll(service.database);
      expect(await show()).toEqual(expected);
      // What was rolled up does not depend on the details.
      await service.database.asEngine((em) => em.execute('update monitors set observed_before = null where user_id = ?', [user.id], 'run'));
      expect(await show()).toEqual(expected);
    });
  });

  test('of every user is that of their monitors', async () => {
    await within(service.database, hourMs, async (nowMs) => {
      const { recent } = await addHistory(nowMs);
      await setProgress(service.database, recent);
      const first = user;
      user = await service.createUser();
      const monitor = await create();
      await observe(monitor, [recent, recent + 100 * minuteMs]);
      await addIncident(service.database, monitor, recent, recent + 75 * minuteMs);
      for (const rollUp of [async () => {}, () => rollUpAll(service.database)]) {
        await rollUp();
        expect((await uptime(first))['24h']).toBe(90);
        expect(await uptime(user)).toEqual({ '24h': 25, '7d': 25, '30d': 25 });
      }
    });
  });

  test('equals that of the only monitor, in all windows', async () => {
    await within(service.database, hourMs, async (nowMs) => {
      user = await service.createUser();
      const monitor = await create();
      const startMs = startOfHour(nowMs) - 50 * hourMs;
      await observe(monitor, [startMs, startMs + 10 * hourMs], [startMs + 11 * hourMs, nowMs]);
      await addIncident(service.database, monitor, startMs + 9 * hourMs, startMs + 14 * hourMs);
      await addIncident(service.database, monitor, nowMs - 100 * minuteMs, nowMs - 33 * minuteMs);
      for (const rolledUntilMs of [startOfHour(nowMs) - 4 * hourMs, startOfHour(nowMs) - hourMs]) {
        await rollUpBetween(service.database, startMs, rolledUntilMs);
        await setProgress(service.database, rolledUntilMs);
        const all = await uptime();
        for (const window of ['24h', '7d', '30d'] as const) {
          const { body } = await user.api.get(`/api/monitors/${monitor.monitorId}/statistics?window=${window}`);
          expect([window, all[window]]).toEqual([window, body.data.uptime_percent]);
          expect(all[window]).toBeLessThan(100);
        }
      }
    });
  });

  test('counts open incidents until now, and the time of the present until now', async () => {
    const monitor = await create();
    const nowMs = service.database.now();
    await setProgress(service.database, nowMs - 5 * hourMs);
    await service.database.asEngine((em) =>
      em.execute(
        `update monitors set observed_since = app_now() - interval '200 minutes', observed_until = app_now() + interval '1 minute' where id = ?`,
        [monitor.monitorId],
        'run',
      ),
    );
    await createIncident(service, user, { monitorId: monitor.monitorId, started: '50 minutes' });
    const shown = await show();
    expect(shown.open_incidents).toBe(1);
    expect(shown.uptime_percent['24h']).toBeCloseTo(75, 0);
  });

  test('starts with the first hour of each window', async () => {
    await within(service.database, hourMs, async (nowMs) => {
      user = await service.createUser();
      const monitor = await create();
      const today = Math.floor(nowMs / dayMs) * dayMs;
      const start = { '24h': startOfHour(nowMs) - 23 * hourMs, '7d': startOfHour(nowMs) - 167 * hourMs, '30d': today - 29 * dayMs };
      // Before each window there is an hour that is down, and its first hour is up.
      await observe(monitor, ...Object.values(start).map((ms): [number, number] => [ms - hourMs, ms + hourMs]));
      for (const ms of Object.values(start)) {
        await addIncident(service.database, monitor, ms - hourMs, ms);
        await rollUpBetween(service.database, ms - 25 * hourMs, Math.min(ms + 25 * hourMs, startOfHour(nowMs) - hourMs));
      }
      await setProgress(service.database, startOfHour(nowMs) - hourMs);
      expect(await uptime()).toEqual({
        '24h': 100, // 1 hour
        '7d': 66.667, // 3 hours, 1 of them down
        '30d': 60, // 5 hours, 2 of them down
      });
    });
  });

  test('no longer contains a deleted monitor', async () => {
    await within(service.database, hourMs, async (nowMs) => {
      user = await service.createUser();
      const [kept, deleted] = [await create(), await create()];
      const startMs = startOfHour(nowMs) - 6 * hourMs;
      for (const monitor of [kept, deleted]) await observe(monitor, [startMs, startMs + 3 * hourMs]);
      await addIncident(service.database, kept, startMs, startMs + hourMs);
      await addIncident(service.database, deleted, startMs, startMs + 2 * hourMs);
      await setProgress(service.database, startMs);
      await rollUpAll(service.database);
      expect(await uptime()).toEqual({ '24h': 50, '7d': 50, '30d': 50 });
      await user.api.delete(`/api/monitors/${deleted.monitorId}`);
      await purgeAll(service.database);
      expect(await uptime()).toEqual({ '24h': 66.667, '7d': 66.667, '30d': 66.667 });
    });
  });
});

test('If-None-Match with the ETag returns 304 until a monitor or an incident changes', async () => {
  const monitor = await create({}, `status = 'down'`);
  const id = await createIncident(service, user, { monitorId: monitor.monitorId });
  await expectConditionalList(user.api, path, () => resolveIncident(service, id));
  await expectConditionalList(user.api, path, () => user.api.put(`/api/monitors/${monitor.monitorId}`, { json: { is_active: false } }));
});
