// A running service on a clock that the test moves, and a real target: up, down, slow, in maintenance, paused, and not checked because the
// service itself was away. The statistics equal what follows from the list of checks and from the times of the requests.
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { MovableDatabase } from '../../../src/db/embedded.ts';
import { openFreshDatabase } from '../../support/fresh-database.ts';
import { startService, type TestService, type TestUser } from '../../support/service.ts';
import { wakeAll } from '../../support/wake.ts';
import { startWebServer, type WebServer } from '../../support/web-server.ts';
import { createMonitor } from '../factories.ts';

const interval = 60;
const netAllow = ['127.0.0.0/8'];

let database: MovableDatabase;
let service: TestService;
/** It runs the checks. */
let worker: TestService;
let user: TestUser;
let target: WebServer;
let offsetMs = 0;

beforeAll(async () => {
  database = (await openFreshDatabase('')) as MovableDatabase; // Only the clock of the embedded database can be moved.
  service = await startService({ netAllow }, { database });
  worker = await startWorker();
  user = await service.createUser();
  target = await startWebServer();
});
afterAll(async () => {
  await worker.stop();
  await service.stop();
  await target.close();
  await database.close();
});

function startWorker(): Promise<TestService> {
  return startService({ netAllow }, { database, engine: true });
}

/** Lets time pass, and waits until everything that is due then was checked. */
async function pass(seconds: number) {
  offsetMs += seconds * 1000;
  await database.moveClock(offsetMs);
  await expect
    .poll(
      async () => {
        await wakeAll(database);
        const due = await database.asEngine((em) =>
          em.execute<object[]>(`select from monitors where is_active and (next_check_at <= app_now() or claim_token is not null)`),
        );
        return due.length;
      },
      { timeout: 20_000, interval: 50 },
    )
    .toBe(0);
}

async function passOften(times: number, seconds = interval) {
  for (let count = 0; count < times; count++) await pass(seconds);
}

const respond = (status: number, delayMs = 0): WebServer['script'] => {
  return (_, response) => void setTimeout(() => response.writeHead(status).end(), delayMs);
};

interface Range {
  from: number;
  to: number;
}

/** How many milliseconds of one range lie in others that do not overlap. */
const overlap = (range: Range, others: Range[]) =>
  others.reduce((sum, other) => sum + Math.max(0, Math.min(range.to, other.to) - Math.max(range.from, other.from)), 0);

test('uptime, observed time and down time equal a calculation by hand, to the second', { timeout: 180_000 }, async () => {
  target.script = respond(200);
  const monitor = await createMonitor(user, { url: `${target.url}/health`, interval, type: 'http' });
  const update = async (json: object) => {
    const { status, body } = await user.api.put(monitor.path, { json });
    expect(status).toBe(200);
    return Date.parse(body.data.updated_at);
  };
  const statusNow = async () => (await user.api.get(monitor.path)).body.data.status;

  await pass(5);
  await passOften(4);
  expect(await statusNow()).toBe('up');

  target.script = respond(503);
  await pass(interval);
  await passOften(2, 6); // The confirmations.
  expect(await statusNow()).toBe('down');
  await passOften(4);
  target.script = respond(200, 300); // It is slow from now on.
  await pass(interval);
  expect(await statusNow()).toBe('up');
  await passOften(2);

  const until = database.now() + 10 * 60_000;
  const maintenance = { from: await update({ maintenance_until: new Date(until).toISOString() }), to: until };
  await passOften(2);
  target.script = respond(503);
  await passOften(3);
  target.script = respond(200);
  await passOften(6); // Beyond the end.

  const paused = await update({ is_active: false });
  await pass(7 * 60);
  await update({ is_active: true });
  await pass(5);
  await passOften(2);

  await worker.stop();
  offsetMs += 12 * 60_000;
  await database.moveClock(offsetMs);
  worker = await startWorker();
  await pass(61); // What is overdue after a start is spread over a minute.
  await passOften(2);

  const { body } = await user.api.get(`${monitor.path}/statistics`);
  const { body: listed } = await user.api.get(`${monitor.path}/checks?pageSize=1000`);
  const { body: incidents } = await user.api.get(`${monitor.path}/incidents`);
  const now = Date.parse(body.data.to);
  const checks: number[] = listed.data.map((check: { checked_at: string }) => Date.parse(check.checked_at)).reverse();

  // Each check counts until the next one, and for one interval if that comes more than a minute late. A pause ends it.
  const observed = checks.map((from, index): Range => {
    const to = checks[index + 1] ?? now;
    const isLate = to - from > (interval + 60) * 1000;
    const end = isLate ? from + interval * 1000 : to;
    return { from, to: from < paused && paused < to ? Math.min(paused, from + interval * 1000) : end };
  });
  const down: Range[] = incidents.data.map((incident: { started_at: string; resolved_at: string }) => ({
    from: Date.parse(incident.started_at),
    to: Date.parse(incident.resolved_at),
  }));
  const countedSeconds = (range: Range) => {
    const inMaintenance = { from: Math.max(range.from, maintenance.from), to: Math.min(range.to, maintenance.to) };
    return (overlap(range, observed) - overlap(inMaintenance, observed)) / 1000;
  };
  const observedSeconds = countedSeconds({ from: checks[0] ?? 0, to: now });
  const downSeconds = down.reduce((sum, range) => sum + countedSeconds(range), 0);

  expect(down).toHaveLength(1);
  expect(observed.filter(({ to }, index) => to < (checks[index + 1] ?? now))).toHaveLength(2); // The pause, and the absence.
  expect(downSeconds).toBeGreaterThan(4 * 60);
  expect(Math.abs(body.data.observed_seconds - observedSeconds)).toBeLessThanOrEqual(1.5); // `to` is cut to a second, and the sum is rounded.
  expect(Math.abs(body.data.down_seconds - downSeconds)).toBeLessThanOrEqual(1);
  expect(body.data.uptime_percent).toBeCloseTo(100 * (1 - body.data.down_seconds / body.data.observed_seconds), 2);
  expect(body.data).toMatchObject({ incident_count: 1, checks: { total: checks.length } });
  const failed = listed.data.filter(({ outcome }: { outcome: string }) => outcome === 'down').length;
  expect(body.data.checks.failed).toBe(failed);
  expect(body.data.response_time_ms.max).toBeGreaterThanOrEqual(300);
  expect(body.data.response_time_ms.p50).toBeLessThan(300);

  const { body: overview } = await user.api.get('/api/statistics');
  expect(overview.data).toMatchObject({ monitors: { total: 1, up: 1 }, open_incidents: 0 });
  expect(overview.data.uptime_percent['24h']).toBeCloseTo(body.data.uptime_percent, 0); // Some seconds have passed since.
});
