// The engine with a real database. Its monitors ping, because the test decides when and how a ping ends.
import { pino } from 'pino';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import type { Database } from '../../../src/db/database.ts';
import { RetryLaterError } from '../../../src/errors.ts';
import { Engine, type EngineDeps } from '../../../src/monitoring/engine/engine.ts';
import { parseRanges } from '../../../src/net/addresses.ts';
import { type Ping, Pinger } from '../../../src/net/ping.ts';
import { createMetrics } from '../../../src/telemetry/metrics.ts';
import { startService, type TestService, type TestUser } from '../../support/service.ts';

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
    pinger: new Pinger(Promise.resolve(ping)),
    log: pino({ level: 'silent' }),
    metrics: createMetrics(),
    ...deps,
  });
}

/** Creates ping monitors that are due, each with an address of its own. */
function createDue(count: number): Promise<unknown> {
  return service.database.asUser(user.id, (em) =>
    em.execute(
      `insert into monitors (user_id, friendly_name, url, target_host, type, next_check_at)
       select ?, 'M ' || n, '127.0.0.' || n, '127.0.0.' || n, 'ping', app_now() from generate_series(1, ?) n`,
      [user.id, count],
    ),
  );
}

const readMonitors = () =>
  service.database.asUser(user.id, (em) =>
    em.execute('select status, claim_token as token, next_check_at <= app_now() as due from monitors order by id'),
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
    // Results are recorded together after 250 ms, so this one is recorded by the shutdown.
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
  let failures = 0;
  const asEngine: Database['asEngine'] = (work) => {
    if (pings === 0 || failures === 3) return service.database.asEngine(work);
    failures++;
    return Promise.reject(new RetryLaterError('unavailable', 'injected', 1));
  };
  const engine = createEngine(
    (addresses, requests) => {
      pings++;
      return respond(addresses, requests);
    },
    { database: { asEngine } as Database },
  );
  engine.start();
  try {
    await expect.poll(readMonitors, { timeout: 15_000 }).toEqual([{ status: 'up', token: null, due: false }]);
    expect([pings, failures]).toEqual([1, 3]);
  } finally {
    await engine.stop();
  }
});

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
