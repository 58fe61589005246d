import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { appendChecks } from '../../../src/monitoring/statistics/record-checks.ts';
import type { SingleCheck } from '../../../src/monitoring/statistics/single-check.ts';
import { countLoggedChecks, readLoggedChecks } from '../../support/check-history.ts';
import { startService, type TestService, type TestUser } from '../../support/service.ts';
import { createMonitor } from '../factories.ts';
import { hourMs, type MonitorKey, startOfHour } from './stored-history.ts';

let service: TestService;
let user: TestUser;
let monitor: MonitorKey;
/** The start of an hour. */
let startMs: number;

beforeAll(async () => {
  service = await startService();
});
beforeEach(async () => {
  user = await service.createUser();
  monitor = { userId: user.id, monitorId: (await createMonitor(user)).id };
  startMs = startOfHour(service.database.now());
});
afterAll(() => service.stop());

const append = (checks: SingleCheck[], { userId, monitorId } = monitor) =>
  service.database.engineTransaction(async (query) => {
    for (const check of checks) await appendChecks(query, [{ userId, monitorId, ...check }]);
  });
const success = (atMs: number, responseTimeMs?: number): SingleCheck => ({ checkedAtMs: atMs, responseTimeMs, failure: undefined });
const failed = (atMs: number, cause: string, statusCode: number | null = null): SingleCheck => ({
  checkedAtMs: atMs,
  responseTimeMs: 9,
  failure: { cause, statusCode },
});
const logged = async () => (await readLoggedChecks(service.database, user.id)).map(({ monitorId: _, ...check }) => check);
const lengthOfLog = async () => {
  const rows = await service.database.asEngine((em) =>
    em.execute<{ bytes: number }[]>('select octet_length(checks) as bytes from check_logs where user_id = ?', [user.id]),
  );
  return rows.map(({ bytes }) => bytes);
};

test('checks are stored in the hours in which they began, with all that is known of them', async () => {
  const checks = [
    success(startMs - 1, 12),
    success(startMs, 13),
    failed(startMs + 1000, 'HTTP 503', 503),
    success(startMs + 2000),
    failed(startMs + 3000, 'HTTP 503', 503),
    failed(startMs + 4000, 'HTTP 500', 500),
    failed(startMs + 5000, 'timed out — 時間切れ'),
    failed(startMs + 6000, 'timed out — 時間切れ'),
    failed(startMs + hourMs, 'timed out — 時間切れ'),
  ];
  await append(checks);
  expect(await logged()).toEqual(checks);
  expect(await lengthOfLog()).toHaveLength(3);
});

test('a failure like the one before it takes no more space than a success', async () => {
  await append([failed(startMs, 'HTTP 503', 503)]);
  const [first = 0] = await lengthOfLog();
  await append([failed(startMs + 1, 'HTTP 503', 503), success(startMs + 2, 5), failed(startMs + 3, 'HTTP 503', 503)]);
  expect(await lengthOfLog()).toEqual([first + 12]);
});

test('the checks of several monitors are stored at once, some of them the first ones of their hour', async () => {
  const others = await Promise.all([1, 2, 3].map(async () => (await createMonitor(user)).id));
  await append([success(startMs, 1)], { userId: user.id, monitorId: others[1] ?? 0 });
  await service.database.engineTransaction((query) =>
    appendChecks(
      query,
      others.map((monitorId, index) => ({ userId: user.id, monitorId, ...success(startMs + 1000 * index, 10 + index) })),
    ),
  );
  const all = await readLoggedChecks(service.database, user.id);
  expect(others.map((id) => all.filter(({ monitorId }) => monitorId === id).map(({ responseTimeMs }) => responseTimeMs))).toEqual([
    [10],
    [1, 11],
    [12],
  ]);
});

test('a cause is cut to 200 characters, and half a character at the cut is replaced', async () => {
  await append([
    failed(startMs, `${'x'.repeat(199)}🙈 and more`),
    failed(startMs + 1, 'y'.repeat(200)),
    failed(startMs + 2, 'z'.repeat(201)),
  ]);
  expect((await logged()).map(({ failure }) => failure?.cause)).toEqual([`${'x'.repeat(199)}\uFFFD`, 'y'.repeat(200), 'z'.repeat(200)]);
});

test('checks that differ only beyond the cut have the same cause', async () => {
  await append([failed(startMs, `${'x'.repeat(200)}1`), failed(startMs + 1, `${'x'.repeat(200)}2`)]);
  const [first, second] = await logged();
  expect(second?.failure).toEqual(first?.failure);
  expect((await lengthOfLog())[0]).toBeLessThan(230);
});

test('a log has space for an hour of checks every 2 seconds, and of the next ones only the number is stored', async () => {
  const checks = Array.from({ length: 1600 }, (_, index) => success(startMs + index * 2000, 200));
  await append(checks);
  expect(await logged()).toEqual(checks);
  const more = [success(startMs + 3_300_000, 5), failed(startMs + 3_301_000, 'HTTP 503', 503), success(startMs + 3_302_000, 5)];
  await append(more);
  expect(await logged()).toEqual(checks);
  expect(await lengthOfLog()).toEqual([8000]);
  expect(await countLoggedChecks(service.database, monitor.monitorId)).toEqual({ checks: 1603, failures: 1 });
  // The next hour has space again.
  await append([failed(startMs + hourMs, 'HTTP 503', 503)]);
  expect((await logged()).at(-1)).toEqual(failed(startMs + hourMs, 'HTTP 503', 503));
});

test('the log of a monitor is not that of another user', async () => {
  const other = await service.createUser();
  const otherId = (await createMonitor(other)).id;
  await append([success(startMs, 5)]);
  await append([success(startMs, 6)], { userId: other.id, monitorId: otherId });
  expect((await readLoggedChecks(service.database, other.id)).map(({ responseTimeMs }) => responseTimeMs)).toEqual([6]);
  expect((await logged()).map(({ responseTimeMs }) => responseTimeMs)).toEqual([5]);
});
