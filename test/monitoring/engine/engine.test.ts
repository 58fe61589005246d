// The engine with a real database. Its monitors ping, because the test decides when and how a ping ends.
import { pino } from 'pino';
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import type { Database } from '../../../src/db/database.ts';
import { RetryLaterError } from '../../../src/errors.ts';
import { Engine, type EngineDeps } from '../../../src/monitoring/engine/engine.ts';
import { parseRanges } from '../../../src/net/addresses.ts';
import { NetworkError } from '../../../src/net/network-error.ts';
import { type Ping, Pinger } from '../../../src/net/ping.ts';
import { createMetrics } from '../../../src/telemetry/metrics.ts';
import { testCipher } from '../../support/cipher.ts';
import { startService, type TestService, type TestUser } from '../../support/service.ts';
import { startTestClock } from '../../support/test-clock.ts';
import { countTransactions } from '../count-transactions.ts';
import { createUsersWithDueMonitor } from './due-monitors.ts';

let service: TestService;
let user: TestUser;

beforeAll(async () => {
  service = await startService();
});
beforeEach(async () => {
  // Engines check the monitors of all users.
  await service.database.asEngine((em) => em.execute('update monitors set next_check_at = null', [], 'run'));
  user = await service.createUser();
});
afterAll(() => service.stop());

const respond: Ping = async (addresses) => new Map(addresses.map((address) => [address, 1]));

function createEngine(ping: Ping, deps: Partial<EngineDeps> = {}): Engine {
  return new Engine({
    database: service.database,
    net: { allow: parseRanges(['127.0.0.0/8']) },
    pinger: new Pinger(async () => ping),
    cipher: testCipher,
    log: pino({ level: 'silent' }),
    metrics: createMetrics(),
    ...deps,
  });
}

/** Creates ping monitors that are due, each with an address of its own. */
function createDue(count: number, since = '0 seconds'): Promise<unknown> {
  return service.database.asUser(user.id, (em) =>
    em.execute(
      `insert into monitors (user_id, friendly_name, url, target_host, type, next_check_at)
       select ?, 'M ' || n, '127.0.0.' || n, '127.0.0.' || n, 'ping', app_now() - ?::interval from generate_series(1, ?) n`,
      [user.id, since, count],
    ),
  );
}

/** Starts an engine, which is stopped at the end of the test. */
function startEngine(ping: Ping, deps: Partial<EngineDeps> = {}): Engine {
  const engine = createEngine(ping, deps);
  engine.start();
  onTestFinished(() => engine.stop());
  return engine;
}

/** Starts an engine and waits until it has looked for due monitors once. */
async function startIdleEngine(deps: Partial<EngineDeps> = {}): Promise<Engine> {
  const { counting, transactions } = countTransactions(service.database);
  const engine = startEngine(respond, { database: counting, ...deps });
  // The first iteration spreads overdue monitors, then claims.
  await expect.poll(transactions, { timeout: 15_000 }).toBeGreaterThanOrEqual(2);
  return engine;
}

/** Both clocks that show a suspension stand still or run as usual, however slow the machine is. Returns a function that moves one. */
function controlClocks(): () => void {
  const wallMs = Date.now();
  const wall = vi.spyOn(Date, 'now').mockReturnValue(wallMs);
  onTestFinished(() => wall.mockRestore());
  const clock = startTestClock();
  onTestFinished(() => clock.stop());
  return () => void wall.mockReturnValue(wallMs + 6000);
}

/** A database that fails three times after `isFailing` became true, as in an outage. */
function failingDatabase(isFailing: () => boolean) {
  let failures = 0;
  const engineTransaction: Database['engineTransaction'] = (work) => {
    if (!isFailing() || failures === 3) return service.database.engineTransaction(work);
    failures++;
    return Promise.reject(new RetryLaterError('unavailable', 'injected', 1));
  };
  return { database: { engineTransaction } as Database, failures: () => failures };
}

async function readMetric(metric: { get(): Promise<{ values: { value: number; metricName?: string }[] }> }, name?: string) {
  return (await metric.get()).values.find(({ metricName }) => name === undefined || metricName === name)?.value;
}

const readMonitors = () =>
  service.database.asUser(user.id, (em) =>
    em.execute<{ status: string; token: number | null; due: boolean }[]>(
      'select status, claim_token as token, next_check_at <= app_now() as due from monitors order by id',
    ),
  );

test('a shutdown releases the claims of running checks, so that another process can take them at once', async () => {
  await createDue(2);
  const started = Promise.withResolvers<void>();
  const engine = createEngine(() => {
    started.resolve();
    return new Promise(() => {});
  });
  engine.start();
  await started.promise;
  await engine.stop();
  const released = { status: 'pending', token: null, due: true };
  expect(await readMonitors()).toEqual([released, released]);
});

test('a shutdown records completed checks', async () => {
  await createDue(1);
  const stopped = Promise.withResolvers<void>();
  const engine = createEngine((addresses, requests) => {
    // Results are recorded together after half a second, so this one is recorded by the shutdown.
    setTimeout(() => stopped.resolve(engine.stop()), 10);
    return respond(addresses, requests);
  });
  engine.start();
  await stopped.promise;
  expect(await readMonitors()).toEqual([{ status: 'up', token: null, due: false }]);
});

test('results that cannot be written are written when the database is back, without another check', async () => {
  await createDue(1);
  let pings = 0;
  const { database, failures } = failingDatabase(() => pings > 0);
  startEngine(
    (addresses, requests) => {
      pings++;
      return respond(addresses, requests);
    },
    { database },
  );
  await expect.poll(readMonitors, { timeout: 15_000 }).toEqual([{ status: 'up', token: null, due: false }]);
  expect([pings, failures()]).toEqual([1, 3]);
});

test('claims of checks that failed locally are released when the database is back, before their lease expires', async () => {
  await createDue(1);
  let pings = 0;
  const { database, failures } = failingDatabase(() => pings > 0);
  startEngine(
    () => {
      pings++;
      return Promise.reject(new NetworkError('local', 'injected'));
    },
    { database },
  );
  const readClaims = () =>
    service.database.asUser(user.id, (em) =>
      em.execute(`select claim_token as token, next_check_at <= app_now() + interval '10 seconds' as soon from monitors`),
    );
  // A lease lasts 30 seconds.
  const readState = async () => ({ failures: failures(), claims: await readClaims() });
  await expect.poll(readState, { timeout: 15_000 }).toEqual({ failures: 3, claims: [{ token: null, soon: true }] });
});

test('a result that can never be written is dropped, and other monitors are checked', async () => {
  await createDue(1);
  const metrics = createMetrics();
  const unwritableMs = 1e10; // It does not fit into the column.
  let pings = 0;
  const engine = startEngine(async (addresses) => new Map(addresses.map((address) => [address, ++pings === 1 ? unwritableMs : 1])), {
    metrics,
  });
  await expect.poll(() => readMetric(metrics.engineErrors), { timeout: 15_000 }).toBe(1);
  await createDue(1);
  engine.wake();
  await expect.poll(async () => (await readMonitors())[1]?.status, { timeout: 15_000 }).toBe('up');
});

test('counts every iteration that fails', async () => {
  await createDue(1);
  const metrics = createMetrics();
  const { database } = failingDatabase(() => true);
  startEngine(respond, { database, metrics });
  await expect.poll(readMonitors, { timeout: 15_000 }).toEqual([{ status: 'up', token: null, due: false }]);
  expect(await readMetric(metrics.engineErrors)).toBe(3);
});

test('measures in seconds how long a monitor had been due when its check started', async () => {
  const metrics = createMetrics();
  const engine = await startIdleEngine({ metrics });
  await createDue(1, '1 hour');
  engine.wake();
  await expect.poll(readMonitors, { timeout: 15_000 }).toEqual([{ status: 'up', token: null, due: false }]);
  expect(await readMetric(metrics.lateness, 'sitekeeper_check_lateness_seconds_sum')).toBeCloseTo(3600, -2);
});

test('after a start, overdue monitors wait for their turn within the next minute', async () => {
  await createDue(200, '6 seconds');
  const metrics = createMetrics();
  await startIdleEngine({ metrics });
  // 3 or 4 of them have their turn in each second.
  expect(await readMetric(metrics.lateness, 'sitekeeper_check_lateness_seconds_count')).toBeLessThanOrEqual(40);
  const dueIn = await service.database.asUser(user.id, (em) =>
    em.execute<{ seconds: number }[]>('select extract(epoch from next_check_at - app_now())::float8 as seconds from monitors'),
  );
  expect(Math.max(...dueIn.map(({ seconds }) => seconds))).toBeLessThanOrEqual(60);
});

test('postpones overdue monitors once after a suspension, and checks those that are overdue later at once', async () => {
  const suspend = controlClocks();
  const metrics = createMetrics();
  const engine = await startIdleEngine({ metrics });
  suspend();
  await createDue(1, '1 hour');
  engine.wake();
  const isOverdue = async () => (await readMonitors())[0]?.due;
  await expect.poll(isOverdue, { timeout: 15_000 }).toBe(false);
  const lateness = async () => (await readMetric(metrics.lateness, 'sitekeeper_check_lateness_seconds_sum')) ?? 0;
  expect(await lateness()).toBeLessThan(1800);
  await createDue(1, '1 hour');
  engine.wake();
  await expect.poll(lateness, { timeout: 15_000 }).toBeGreaterThanOrEqual(3600);
});

test('a claim during which the process was suspended is released without a check', async () => {
  const suspend = controlClocks();
  await createDue(1);
  let [wasClaimed, checks] = [false, 0];
  const engineTransaction: Database['engineTransaction'] = async (work) => {
    const result = await service.database.engineTransaction(work);
    if ((await readMonitors())[0]?.token) {
      wasClaimed = true;
      suspend();
    }
    return result;
  };
  startEngine(
    (addresses, requests) => {
      checks++;
      return respond(addresses, requests);
    },
    { database: { engineTransaction } as Database },
  );
  await expect.poll(readMonitors, { timeout: 15_000 }).toEqual([{ status: 'pending', token: null, due: false }]);
  expect([wasClaimed, checks]).toEqual([true, 0]);
});

test('the claim of a check that ran during a suspension is released without a result, before its lease expires', async () => {
  const suspend = controlClocks();
  await createDue(1);
  const [started, ended] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  startEngine(async (addresses, requests) => {
    started.resolve();
    await ended.promise;
    return respond(addresses, requests);
  });
  await started.promise;
  suspend();
  ended.resolve();
  await expect.poll(readMonitors, { timeout: 15_000 }).toEqual([{ status: 'pending', token: null, due: false }]);
});

test('the monitor of the last of 1,001 users is not checked after those of all others', async () => {
  await createUsersWithDueMonitor(service.database, 1001);
  const metrics = createMetrics();
  let checksBefore: number | undefined;
  startEngine(
    async (addresses, requests) => {
      if (addresses.includes('127.0.0.2')) checksBefore ??= (await readMetric(metrics.checks)) ?? 0;
      return respond(addresses, requests);
    },
    { concurrency: 10, metrics },
  );
  await expect.poll(() => checksBefore, { timeout: 30_000 }).toBeDefined();
  expect(checksBefore).toBeLessThan(100);
}, 60_000);

test('runs no more checks at once than its concurrency', async () => {
  await createDue(20);
  const batches: number[] = [];
  const pinged = new Set<string>();
  const engine = createEngine(
    (addresses, requests) => {
      batches.push(addresses.length);
      for (const address of addresses) pinged.add(address);
      return respond(addresses, requests);
    },
    { concurrency: 5 },
  );
  engine.start();
  try {
    // Checks that start within 50 ms are pinged together, so a batch is as large as the number of checks that run.
    // On a slow machine a check can be repeated.
    await expect.poll(() => pinged.size, { timeout: 20_000 }).toBe(20);
    expect(Math.max(...batches)).toBeLessThanOrEqual(5);
  } finally {
    await engine.stop();
  }
});

test('while checks with long options start, other events get their turn', async () => {
  let turns = 0;
  const turnsAtStart: number[] = [];
  const cipher = Object.create(testCipher, {
    decrypt: {
      value() {
        turnsAtStart.push(turns);
        const endMs = performance.now() + 5;
        while (performance.now() < endMs);
        throw new Error('The secret is lost.');
      },
    },
  });
  const settings = { headers: [{ name: 'X-Key', value: { encrypted: 'v1.a.b', mask: '****' } }] };
  await createDue(20);
  await service.database.asUser(user.id, (em) =>
    em.execute(`update monitors set type = 'http', url = 'http://' || url, settings = ?::jsonb`, [JSON.stringify(settings)], 'run'),
  );
  const count = setInterval(() => turns++, 0);
  onTestFinished(() => clearInterval(count));
  startEngine(respond, { cipher });
  await expect.poll(() => turnsAtStart.length, { timeout: 15_000 }).toBe(20);
  expect(new Set(turnsAtStart).size).toBeGreaterThan(5);
});
