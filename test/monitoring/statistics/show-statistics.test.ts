import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { components } from '../../../generated/types/monitoring.ts';
import { addChecks, rollUpAll, rollUpFrom } from '../../support/check-history.ts';
import { hashETag } from '../../support/etags.ts';
import { expectSameProblem } from '../../support/same-problem.ts';
import { startService, type TestService, type TestUser } from '../../support/service.ts';
import { createMonitor } from '../factories.ts';
import { createHeartbeat } from '../heartbeats/heartbeat-monitors.ts';
import { createIncident } from '../incidents/create-incident.ts';
import { checkMonitor, failure, success } from './engine-checks.ts';
import {
  addIncident,
  dayMs,
  hourMs,
  letPass,
  type MonitorKey,
  minuteMs,
  readProgress,
  rollUpBetween,
  setObserved,
  setProgress,
  startOfHour,
  within,
} from './stored-history.ts';

type Statistics = components['schemas']['Statistics'];
type Bucket = Statistics['buckets'][number];

let service: TestService;
let user: TestUser;
let monitor: MonitorKey;
let path: string;

beforeAll(async () => {
  service = await startService();
});
beforeEach(createNewMonitor);
afterAll(() => service.stop());

async function createNewMonitor() {
  user = await service.createUser();
  const created = await createMonitor(user);
  monitor = { userId: user.id, monitorId: created.id };
  path = `${created.path}/statistics`;
}

/** Runs a test that depends on the present period. If that ends meanwhile, the test runs again, with a new monitor. */
const inOne = (periodMs: number, run: (nowMs: number) => Promise<void>) =>
  within(service.database, periodMs, async (nowMs) => {
    await createNewMonitor();
    await run(nowMs);
  });

const iso = (ms: number) => new Date(ms).toISOString();
const add = (checks: Parameters<typeof addChecks>[2]) => addChecks(service.database, monitor, checks);
const observe = (...ranges: [fromMs: number, toMs: number][]) =>
  setObserved(
    service.database,
    monitor,
    ranges.map(([fromMs, toMs]) => ({ fromMs, toMs })),
  );

async function show(query = ''): Promise<Statistics> {
  const { status, body } = await user.api.get(`${path}${query}`);
  expect([status, body]).toEqual([200, { data: expect.any(Object) }]);
  return body.data;
}

/** The parts of the statistics that stay the same while time passes. */
const lasting = ({ to: _, ...rest }: Statistics) => rest;
const isEmptyBucket = ({ uptime_percent, checks }: Bucket) => uptime_percent === null && checks.total === 0;
/** The buckets in which something was observed or checked, by their starts. */
const filled = ({ buckets }: Statistics) => buckets.filter((bucket) => !isEmptyBucket(bucket));

/** Reads before hours are rolled up and afterwards, and expects the same. */
async function showBeforeAndAfterRollUp(fromMs: number, query = ''): Promise<Statistics> {
  await setProgress(service.database, fromMs);
  const before = await show(query);
  expect((await readProgress(service.database)).hour).toBe(startOfHour(fromMs));
  await rollUpAll(service.database);
  expect((await readProgress(service.database)).hour).toBeGreaterThan(fromMs);
  expect(lasting(await show(query))).toEqual(lasting(before));
  return before;
}

/** Deletes the details of the monitor. What was rolled up is then all that is left. */
async function forgetDetails() {
  await observe();
  await service.database.asEngine((em) => em.execute('delete from check_logs where monitor_id = ?', [monitor.monitorId], 'run'));
}

/** Three hours, the last of which is over for an hour at least: an hour of successes, one with an outage, and its end. */
async function addOutage(startMs: number) {
  await add([
    { atMs: startMs + 10 * minuteMs, ms: 100 },
    { atMs: startMs + 20 * minuteMs, ms: 120 },
    { atMs: startMs + 30 * minuteMs, ms: 140 },
    { atMs: startMs + hourMs, ms: 110 },
    { atMs: startMs + hourMs + 30 * minuteMs, ms: 9, cause: 'HTTP 503', statusCode: 503 },
    { atMs: startMs + hourMs + 31 * minuteMs, ms: 8, cause: 'HTTP 503', statusCode: 503 },
    { atMs: startMs + hourMs + 32 * minuteMs, cause: 'timed out after 10 s' },
    { atMs: startMs + 2 * hourMs + 5 * minuteMs, ms: 300 },
  ]);
  await observe([startMs + 10 * minuteMs, startMs + 3 * hourMs]);
  await addIncident(service.database, monitor, startMs + hourMs + 30 * minuteMs, startMs + 2 * hourMs + 5 * minuteMs);
}

// 100, 110, 120, 140 and 300 ms: the third is the median, and the fifth every higher percentile. 120 ms is in the bucket that ends at
// 2^7 ms, and whose middle is 2^(55.5/8) = 122.6 ms; 300 ms in the one whose middle is 2^(65.5/8) = 291.7 ms.
const outage = {
  uptime_percent: 79.412, // 170 minutes observed, 35 of them down: 100 × (1 − 2100 / 10,200)
  observed_seconds: 10_200,
  down_seconds: 2100,
  incident_count: 1,
  checks: { total: 8, failed: 3 },
  response_time_ms: { average: 154, p50: 123, p95: 292, p99: 292, min: 100, max: 300 },
};

const outageBuckets = (startMs: number): Bucket[] => [
  {
    from: iso(startMs),
    to: iso(startMs + hourMs),
    uptime_percent: 100,
    checks: { total: 3, failed: 0 },
    // The middle of the bucket of 140 ms is 145.8 ms, but no response took longer than 140 ms.
    response_time_ms: { average: 120, p50: 123, p95: 140, p99: 140, min: 100, max: 140 },
  },
  {
    from: iso(startMs + hourMs),
    to: iso(startMs + 2 * hourMs),
    uptime_percent: 50,
    checks: { total: 4, failed: 3 },
    response_time_ms: { average: 110, p50: 110, p95: 110, p99: 110, min: 110, max: 110 },
  },
  {
    from: iso(startMs + 2 * hourMs),
    to: iso(startMs + 3 * hourMs),
    uptime_percent: 91.667, // 100 × (1 − 300 / 3600)
    checks: { total: 1, failed: 0 },
    response_time_ms: { average: 300, p50: 300, p95: 300, p99: 300, min: 300, max: 300 },
  },
];

describe('an outage', () => {
  test.each(['', '?window=24h', '?window=7d'])(
    '%s: is shown in hours, in total and in buckets, before it is rolled up and afterwards',
    async (query) => {
      await inOne(hourMs, async (nowMs) => {
        const startMs = startOfHour(nowMs) - 6 * hourMs;
        await addOutage(startMs);
        const shown = await showBeforeAndAfterRollUp(startMs, query);
        const hours = query === '?window=7d' ? 168 : 24;
        expect(shown).toMatchObject({ monitor_id: monitor.monitorId, window: query.slice(8) || '24h', ...outage });
        expect([shown.from, shown.buckets.length]).toEqual([iso(startOfHour(nowMs) - (hours - 1) * hourMs), hours]);
        expect(filled(shown)).toEqual(outageBuckets(startMs));
        await forgetDetails();
        expect(lasting(await show(query))).toEqual(lasting(shown));
      });
    },
  );

  test('?resolution=5m: is shown in 288 buckets of 5 minutes, before it is rolled up and afterwards', async () => {
    await inOne(5 * minuteMs, async (nowMs) => {
      const startMs = startOfHour(nowMs) - 6 * hourMs;
      await addOutage(startMs);
      const shown = await showBeforeAndAfterRollUp(startMs, '?resolution=5m');
      expect(shown).toMatchObject({ window: '24h', ...outage });
      const lastMs = Math.floor(nowMs / (5 * minuteMs)) * 5 * minuteMs;
      expect([shown.from, shown.buckets.length]).toEqual([iso(lastMs - 287 * 5 * minuteMs), 288]);
      const observed = filled(shown);
      expect(observed.map(({ from }) => Date.parse(from))).toEqual(
        Array.from({ length: 34 }, (_, index) => startMs + (10 + 5 * index) * minuteMs), // From minute 10 to 180.
      );
      const at = (minutes: number) => observed.find(({ from }) => from === iso(startMs + minutes * minuteMs));
      expect(at(10)).toEqual({
        from: iso(startMs + 10 * minuteMs),
        to: iso(startMs + 15 * minuteMs),
        uptime_percent: 100,
        checks: { total: 1, failed: 0 },
        response_time_ms: { average: 100, p50: 100, p95: 100, p99: 100, min: 100, max: 100 },
      });
      expect(at(85)).toMatchObject({ uptime_percent: 100, checks: { total: 0, failed: 0 }, response_time_ms: null });
      expect(at(90)).toMatchObject({ uptime_percent: 0, checks: { total: 3, failed: 3 }, response_time_ms: null });
      expect(at(120)).toMatchObject({ uptime_percent: 0, checks: { total: 0, failed: 0 }, response_time_ms: null });
      expect(at(125)).toMatchObject({ uptime_percent: 100, checks: { total: 1, failed: 0 } });
    });
  });

  test.each([
    ['30d', 20],
    ['90d', 80],
    ['6mo', 150],
    ['1y', 300],
  ] as const)('?window=%s: is shown in days, in total and in buckets, before it is rolled up and afterwards', async (window, daysAgo) => {
    await inOne(dayMs, async (nowMs) => {
      const today = Math.floor(nowMs / dayMs) * dayMs;
      const dayStart = today - daysAgo * dayMs;
      await addOutage(dayStart + 10 * hourMs);
      // The next day is observed as a whole.
      await observe([dayStart + 10 * hourMs + 10 * minuteMs, dayStart + 13 * hourMs], [dayStart + dayMs - minuteMs, dayStart + 2 * dayMs]);
      await setProgress(service.database, dayStart);
      const before = await show(`?window=${window}`);
      await rollUpBetween(service.database, dayStart, dayStart + 2 * dayMs);
      await setProgress(service.database, nowMs);
      await forgetDetails();
      expect(lasting(await show(`?window=${window}`))).toEqual(lasting(before));
      expect(before).toMatchObject({
        ...outage,
        window,
        observed_seconds: 10_200 + 60 + 86_400,
        uptime_percent: 97.827, // 100 × (1 − 2100 / 96,660)
      });
      expect(before.buckets.at(-1)).toMatchObject({ from: iso(today), to: iso(today + dayMs) });
      expect(filled(before)).toEqual([
        {
          from: iso(dayStart),
          to: iso(dayStart + dayMs),
          uptime_percent: 79.532, // 100 × (1 − 2100 / 10,260)
          checks: outage.checks,
          response_time_ms: outage.response_time_ms,
        },
        {
          from: iso(dayStart + dayMs),
          to: iso(dayStart + 2 * dayMs),
          uptime_percent: 100,
          checks: { total: 0, failed: 0 },
          response_time_ms: null,
        },
      ]);
    });
  });
});

describe.each<[query: string, bucketMs: number]>([
  ['?window=24h', hourMs],
  ['?resolution=5m', 5 * minuteMs],
  ['?window=7d', hourMs],
  ['?window=30d', dayMs],
  ['?window=90d', dayMs],
  ['?window=6mo', dayMs],
  ['?window=1y', dayMs],
])('the start of the window, %s', (query, bucketMs) => {
  /** Reads before the first bucket of the window was rolled up, and afterwards. The details are needed only for 5 minutes. */
  async function showAtStart(fromMs: number, nowMs: number): Promise<Statistics> {
    await setProgress(service.database, fromMs - 3 * hourMs);
    const before = await show(query);
    const firstHour = startOfHour(fromMs) - 3 * hourMs;
    await rollUpBetween(service.database, firstHour, firstHour + 3 * hourMs + Math.max(bucketMs, 3 * hourMs));
    await setProgress(service.database, nowMs);
    if (bucketMs >= hourMs) await forgetDetails();
    expect(lasting(await show(query))).toEqual(lasting(before));
    return before;
  }

  test('what happened a millisecond before does not count', async () => {
    await inOne(bucketMs, async (nowMs) => {
      const fromMs = Date.parse((await show(query)).from);
      await add([
        { atMs: fromMs - 1, ms: 500 },
        { atMs: fromMs, ms: 100 },
        { atMs: fromMs, cause: 'HTTP 503', statusCode: 503 },
      ]);
      await observe([fromMs - hourMs, fromMs + bucketMs]);
      const shown = await showAtStart(fromMs, nowMs);
      const counts = { uptime_percent: 100, checks: { total: 2, failed: 1 }, response_time_ms: { min: 100, max: 100, average: 100 } };
      expect(shown).toMatchObject({ from: iso(fromMs), observed_seconds: bucketMs / 1000, down_seconds: 0, incident_count: 0, ...counts });
      expect(shown.buckets[0]).toMatchObject({ from: iso(fromMs), to: iso(fromMs + bucketMs), ...counts });
      expect(shown.buckets.slice(1).every(isEmptyBucket)).toBe(true);
    });
  });

  test('counts the incidents that overlap the window, and their time in it', async () => {
    await inOne(bucketMs, async (nowMs) => {
      const fromMs = Date.parse((await show(query)).from);
      await observe([fromMs - 2 * hourMs, fromMs + 3 * hourMs]);
      for (const [start, end] of [
        [-120, -90],
        [-60, -40], // It ended before.
        [-30, 30],
        [60, 90],
        [100, 100], // It has no length.
        [150, undefined], // It is open: 30 minutes of it were observed.
      ] as const) {
        await addIncident(service.database, monitor, fromMs + start * minuteMs, end === undefined ? end : fromMs + end * minuteMs);
      }
      const shown = await showAtStart(fromMs, nowMs);
      expect(shown).toMatchObject({ incident_count: 4, observed_seconds: 10_800, down_seconds: 5400, uptime_percent: 50 });
    });
  });

  test('an incident that ended when the window began does not overlap it, and one that began then does', async () => {
    await inOne(bucketMs, async (nowMs) => {
      const fromMs = Date.parse((await show(query)).from);
      await observe([fromMs - hourMs, fromMs + hourMs]);
      await addIncident(service.database, monitor, fromMs - hourMs, fromMs);
      expect(await showAtStart(fromMs, nowMs)).toMatchObject({ incident_count: 0, down_seconds: 0, uptime_percent: 100 });
      await observe([fromMs - hourMs, fromMs + hourMs]);
      await addIncident(service.database, monitor, fromMs, fromMs + 15 * minuteMs);
      expect(await showAtStart(fromMs, nowMs)).toMatchObject({ incident_count: 1, down_seconds: 900, uptime_percent: 75 });
    });
  });

  test('an incident that has been open since before counts, and all the observed time is down', async () => {
    await inOne(bucketMs, async (nowMs) => {
      const fromMs = Date.parse((await show(query)).from);
      await observe([fromMs - hourMs, fromMs + hourMs]);
      await addIncident(service.database, monitor, fromMs - 30 * minuteMs);
      const shown = await showAtStart(fromMs, nowMs);
      expect(shown).toMatchObject({ incident_count: 1, observed_seconds: 3600, down_seconds: 3600, uptime_percent: 0 });
    });
  });
});

describe('the present', () => {
  const queries = ['?window=24h', '?resolution=5m', '?window=7d', '?window=30d', '?window=90d', '?window=6mo', '?window=1y'];

  test.each(queries)('%s: a check of this moment counts, and time until now is observed', async (query) => {
    const sinceMs = service.database.now() - 3 * hourMs;
    await add([
      { atMs: sinceMs, ms: 100 },
      { atMs: service.database.now(), ms: 200 },
    ]);
    await rollUpFrom(service.database, sinceMs);
    const earliest = Math.floor((service.database.now() - sinceMs) / 1000);
    const shown = await show(query);
    const latest = Math.ceil((service.database.now() - sinceMs) / 1000);
    expect(shown).toMatchObject({ checks: { total: 2, failed: 0 }, uptime_percent: 100, response_time_ms: { average: 150 } });
    expect(shown.observed_seconds).toBeGreaterThanOrEqual(earliest);
    expect(shown.observed_seconds).toBeLessThanOrEqual(latest);
  });

  test.each(queries)('%s: the statistics end now, in whole seconds, and the last bucket has not ended yet', async (query) => {
    const before = service.database.now();
    const { to, buckets } = await show(query);
    expect(to).toMatch(/:\d\d\.000Z$/);
    expect(Date.parse(to)).toBeGreaterThan(before - 1001);
    expect(Date.parse(to)).toBeLessThanOrEqual(service.database.now());
    const last = buckets.at(-1);
    expect([Date.parse(last?.from ?? '') <= Date.parse(to), Date.parse(last?.to ?? '') > Date.parse(to)]).toEqual([true, true]);
  });

  test('an open incident is down until now', async () => {
    const sinceMs = service.database.now() - 3 * hourMs;
    await add([{ atMs: sinceMs, ms: 100 }]);
    await createIncident(service, user, { monitorId: monitor.monitorId, started: '90 minutes' });
    await rollUpFrom(service.database, sinceMs);
    for (const query of queries) {
      const { down_seconds, uptime_percent, incident_count } = await show(query);
      expect([query, Math.round(down_seconds / 60), Math.round(uptime_percent ?? 0), incident_count]).toEqual([query, 90, 50, 1]);
    }
  });

  test('hours that are over, but not rolled up for longer than usual, count as well', async () => {
    await inOne(hourMs, async (nowMs) => {
      const startMs = startOfHour(nowMs) - 12 * hourMs;
      await addOutage(startMs);
      await rollUpBetween(service.database, startMs, startMs + hourMs);
      await setProgress(service.database, startMs + hourMs); // The rest was not rolled up.
      for (const query of ['?window=24h', '?window=7d', '?window=30d']) expect(await show(query)).toMatchObject(outage);
    });
  });
});

test('a new monitor has empty statistics in every window', async () => {
  for (const [query, count] of [
    ['', 24],
    ['?resolution=5m', 288],
    ['?window=7d', 168],
    ['?window=30d', 30],
    ['?window=90d', 90],
  ] as const) {
    const shown = await show(query);
    expect(shown).toMatchObject({
      monitor_id: monitor.monitorId,
      uptime_percent: null,
      observed_seconds: 0,
      down_seconds: 0,
      incident_count: 0,
      checks: { total: 0, failed: 0 },
      response_time_ms: null,
    });
    expect(shown.buckets).toHaveLength(count);
    expect(shown.buckets.every((bucket) => isEmptyBucket(bucket) && bucket.response_time_ms === null)).toBe(true);
  }
});

test('without a window the statistics are those of 24 hours', async () => {
  expect((await show()).window).toBe('24h');
  expect(lasting(await show('?window=24h'))).toEqual(lasting(await show()));
});

test('failed checks alone leave no response times, and without an incident nothing is down', async () => {
  const atMs = service.database.now() - 3 * hourMs;
  await add([{ atMs, ms: 7, cause: 'HTTP 500', statusCode: 500 }]);
  await rollUpFrom(service.database, atMs);
  expect(await show()).toMatchObject({ checks: { total: 1, failed: 1 }, response_time_ms: null, uptime_percent: 100, down_seconds: 0 });
});

test('checks for which the log of an hour has no space count, also after the roll-up', async () => {
  await inOne(hourMs, async (nowMs) => {
    const atMs = startOfHour(nowMs) - 3 * hourMs;
    await add([{ atMs, ms: 7 }]);
    await observe([atMs, atMs + hourMs]);
    await service.database.asEngine((em) =>
      em.execute('update check_logs set more_successes = 3000, more_failures = 17 where monitor_id = ?', [monitor.monitorId], 'run'),
    );
    const shown = await showBeforeAndAfterRollUp(atMs);
    expect(shown).toMatchObject({ checks: { total: 3018, failed: 17 }, response_time_ms: { average: 7, min: 7, max: 7 } });
  });
});

test('a heartbeat monitor has checks, and no response times', async () => {
  const { path: ofHeartbeat, receiver } = await createHeartbeat(user);
  await service.anonymous.post(receiver);
  await service.anonymous.post(`${receiver}/fail`);
  const { body } = await user.api.get(`${ofHeartbeat}/statistics?resolution=5m`);
  expect(body.data).toMatchObject({ checks: { total: 2, failed: 1 }, incident_count: 1, response_time_ms: null });
});

const letMinutesPass = (minutes: number) => letPass(service.database, monitor, minutes * minuteMs);
/** In whole minutes, because the test itself takes a moment. */
async function showMinutes() {
  const { observed_seconds, down_seconds, checks, incident_count } = await show('?resolution=5m');
  return { observed: Math.round(observed_seconds / 60), down: Math.round(down_seconds / 60), checks, incidents: incident_count };
}

test.each([
  ['is paused', { is_active: false }, 0],
  ['is in maintenance', { maintenance_until: '2099-01-01T00:00:00Z' }, 1],
] as const)('while a monitor %s, no time is observed, and what was before stays', async (_, change, checks) => {
  await checkMonitor(service.database, monitor, success);
  await user.api.put(`/api/monitors/${monitor.monitorId}`, { json: { interval: 3600, confirmations: 0 } });
  await letMinutesPass(10);
  await checkMonitor(service.database, monitor, failure);
  await letMinutesPass(1);
  expect((await user.api.put(`/api/monitors/${monitor.monitorId}`, { json: change })).status).toBe(200);
  await letMinutesPass(30);
  if (checks > 0) await checkMonitor(service.database, monitor, failure);
  expect(await showMinutes()).toEqual({ observed: 2, down: 1, checks: { total: 2 + checks, failed: 1 + checks }, incidents: 1 });
});

test('If-None-Match with the ETag returns 304, until the next second or a check', async () => {
  const conditional = async () => {
    const { headers } = await user.api.get(path);
    expect(headers.get('ETag')).toEqual(hashETag);
    return user.api.get(path, { headers: { 'If-None-Match': headers.get('ETag') ?? '' } });
  };
  // The end of the statistics is cut to seconds, so both requests must come within one.
  await expect.poll(async () => (await conditional()).status).toBe(304);
  const first = (await user.api.get(path)).headers.get('ETag') ?? '';
  await add([{ atMs: service.database.now(), ms: 5 }]);
  expect((await user.api.get(path, { headers: { 'If-None-Match': first } })).status).toBe(200);
});

test.each(['window=1h', 'window=', 'window=24H', 'window=24h&window=7d', 'resolution=1m', 'resolution=', 'resolution=1h'])(
  'returns 422 for %s',
  async (query) => {
    expect((await user.api.get(`${path}?${query}`)).status).toBe(422);
  },
);

test.each(['7d', '30d', '90d', '6mo', '1y'])('returns 422 for resolution=5m with the window %s', async (window) => {
  const { status, body } = await user.api.get(`${path}?window=${window}&resolution=5m`);
  expect([status, body.errors]).toEqual([
    422,
    [{ in: 'query', name: 'resolution', code: 'needs_window_24h', message: 'can be used only with the window 24h' }],
  ]);
});

test("returns 404 for another user's monitor, as for an unknown id and a deleted monitor", async () => {
  await add([{ atMs: service.database.now(), ms: 5 }]);
  const other = await service.createUser();
  const foreign = await other.api.get(path);
  expect([foreign.status, foreign.body.detail]).toEqual([404, `Monitor ${monitor.monitorId} was not found.`]);
  expectSameProblem(foreign, await other.api.get('/api/monitors/999999999/statistics'));
  await user.api.delete(`/api/monitors/${monitor.monitorId}`);
  expectSameProblem(foreign, await user.api.get(path));
});
