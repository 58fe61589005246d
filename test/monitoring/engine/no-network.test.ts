// Without a network, no monitor goes down. Names that cannot be resolved represent hosts that do not reply.
import { pino } from 'pino';
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import { DatabaseOutage } from '../../../src/errors.ts';
import { Engine, type EngineDeps } from '../../../src/monitoring/engine/engine.ts';
import { parseRanges } from '../../../src/net/addresses.ts';
import { Pinger } from '../../../src/net/ping.ts';
import { createMetrics } from '../../../src/telemetry/metrics.ts';
import { readLoggedChecks } from '../../support/check-history.ts';
import { testCipher } from '../../support/cipher.ts';
import { startService, type TestService, type TestUser } from '../../support/service.ts';
import { startTestClock, type TestClock } from '../../support/test-clock.ts';
import { scripts, startWebServer, type WebServer } from '../../support/web-server.ts';
import { createMonitor } from '../factories.ts';

let service: TestService;
let target: WebServer;
let user: TestUser;
let clock: TestClock;
/** The addresses of the names that can be resolved now. */
let addresses: Map<string, string>;

beforeAll(async () => {
  service = await startService({ netAllow: ['127.0.0.0/8'] });
  target = await startWebServer({ host: '0.0.0.0' });
});
beforeEach(async () => {
  await service.database.asEngine((em) =>
    em.execute('update monitors set next_check_at = null where next_check_at is not null', [], 'run'),
  );
  user = await service.createUser();
  addresses = new Map();
  clock = startTestClock();
  onTestFinished(() => clock.stop());
});
afterAll(async () => {
  await service.stop();
  await target.close();
});

/** Creates monitors that have been up, with names that cannot be resolved any more. */
const createUp = (...names: string[]) => createUpEvery(86_400, ...names);

async function createUpEvery(interval: number, ...names: string[]): Promise<string[]> {
  const paths: string[] = [];
  for (const name of names) {
    const { id, path } = await createMonitor(user, { url: `http://${name}:${target.port}/`, interval });
    await service.database.asEngine((em) =>
      em.execute(
        `update monitors set status = 'up', last_checked_at = app_now(), next_check_at = app_now() + interval '1 hour' where id = ?`,
        [id],
        'run',
      ),
    );
    paths.push(path);
  }
  return paths;
}

async function lookUp(name: string) {
  const address = addresses.get(name);
  if (address === undefined) throw Object.assign(new Error('injected'), { code: 'EAI_AGAIN' });
  return [{ address, family: 4 }];
}

/** Starts an engine. It is stopped at the end of the test. */
function startEngine(deps: Partial<EngineDeps> = {}): Engine {
  const engine = new Engine({
    database: service.database,
    net: { allow: parseRanges(['127.0.0.0/8']), lookup: lookUp },
    pinger: new Pinger(async () => undefined),
    cipher: testCipher,
    log: pino({ level: 'silent' }),
    metrics: createMetrics(),
    ...deps,
  });
  engine.start();
  onTestFinished(() => engine.stop());
  return engine;
}

/** Makes monitors due and returns when their checks have ended. */
async function check(engine: Engine, ...paths: string[]) {
  const ids = [paths.map((path) => path.split('/').at(-1)).join()];
  const isOne = `id = any (string_to_array(?, ',')::bigint[])`;
  // The end of a check removes the token.
  await run(`update monitors set next_check_at = app_now(), claim_token = 0 where ${isOne}`, ids);
  engine.wake();
  await passTimeUntil(async () => (await run(`select id from monitors where claim_token is not null and ${isOne}`, ids)).length === 0);
}

const run = (statement: string, values: unknown[]) => service.database.asEngine((em) => em.execute(statement, values));

async function passTimeUntil(isReached: () => boolean | Promise<boolean>) {
  while (!(await isReached())) await clock.pass(500);
}

const show = async (path: string) => (await user.api.get(path)).body.data;
const readIncidents = async (path: string) => (await user.api.get(`${path}/incidents`)).body.data;
const notResolved = 'DNS lookup failed: no response';

test('if three servers have become silent and no host replies, no failure is recorded, and last_error says so after a minute', async () => {
  const paths = await createUp('a.example', 'b.example', 'c.example');
  const engine = startEngine();
  const before = await Promise.all(paths.map(show));
  for (let count = 0; count < 3; count++) await check(engine, ...paths);
  expect(await Promise.all(paths.map(show))).toEqual(before);
  await clock.pass(61_000);
  await check(engine, ...paths);
  for (const path of paths) {
    const last_error = expect.stringMatching(/^not checked since \d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ: no network here$/);
    expect(await show(path)).toMatchObject({ status: 'up', last_error });
    expect(await readIncidents(path)).toEqual([]);
  }
  expect(await readLoggedChecks(service.database, user.id)).toEqual([]);
  const [first = ''] = paths;
  const { last_error: noticed } = await show(first);
  // Another process notices it later.
  const other = startEngine();
  await engine.stop();
  await clock.pass(61_000);
  await check(other, first);
  expect((await show(first)).last_error).toBe(noticed);

  for (const name of ['a.example', 'b.example', 'c.example']) addresses.set(name, '127.0.0.1');
  await check(other, ...paths);
  for (const path of paths) expect(await show(path)).toMatchObject({ status: 'up', last_error: null });
}, 60_000);

test('if any other host replies, a name that is not resolved is a failure of its monitor', async () => {
  const [broken = ''] = await createUp('a.example', 'b.example', 'c.example', 'd.example');
  addresses.set('d.example', '127.0.0.1');
  target.script = scripts.respond('', 500); // Any reply counts.
  onTestFinished(() => {
    target.script = scripts.respond();
  });
  const engine = startEngine();
  for (let count = 0; count < 3; count++) await check(engine, broken);
  expect(await show(broken)).toMatchObject({ status: 'down', last_error: notResolved });
  expect(await readIncidents(broken)).toMatchObject([{ status: 'open', cause: notResolved }]);
});

test('without a network, monitors wait for their turn within the next minute', async () => {
  const names = Array.from({ length: 20 }, (_, index) => `m${index}.example`);
  const paths = await createUp(...names);
  const engine = startEngine();
  await check(engine, ...paths);
  const rows = await service.database.asEngine((em) =>
    em.execute<{ seconds: number }[]>(
      'select extract(epoch from next_check_at - app_now())::float8 as seconds from monitors where user_id = ?',
      [user.id],
    ),
  );
  const seconds = rows.map((row) => row.seconds);
  expect(Math.max(...seconds)).toBeLessThanOrEqual(60);
  expect(Math.max(...seconds) - Math.min(...seconds)).toBeGreaterThan(15);
});

test('without a network, an engine looks for due monitors only every 5 seconds, even if it is woken', async () => {
  const paths = await createUp('a.example', 'b.example', 'c.example');
  const engine = startEngine();
  await check(engine, ...paths);
  await run(`update monitors set next_check_at = app_now() + interval '1 hour' where user_id = ?`, [user.id]);
  const claims: number[] = [];
  const transaction = service.database.engineTransaction.bind(service.database);
  const spy = vi.spyOn(service.database, 'engineTransaction').mockImplementation((work) => {
    claims.push(performance.now());
    return transaction(work);
  });
  onTestFinished(() => spy.mockRestore());
  await passTimeUntil(() => {
    engine.wake();
    return claims.length === 5;
  });
  // The first one may still belong to the checks before.
  const [, ...later] = claims;
  for (const [index, ms] of later.slice(1).entries()) expect(ms - (later[index] ?? 0)).toBeGreaterThanOrEqual(5000);
});

/** Creates 30 monitors that are long overdue. Returns a function that counts those of them that are checked within so many seconds. */
async function createOverdue(): Promise<(engine: Engine, seconds: number) => Promise<number>> {
  const names = Array.from({ length: 30 }, (_, index) => `overdue${index}.example`);
  for (const name of names) addresses.set(name, '127.0.0.1');
  await createUpEvery(60, ...names);
  const isOne = `user_id = ? and target_host like 'overdue%'`;
  await run(`update monitors set next_check_at = app_now() - interval '1 hour', last_checked_at = null where ${isOne}`, [user.id]);
  return async (engine, seconds) => {
    const [start] = await service.database.asEngine((em) => em.execute<{ time: string }[]>('select app_now()::text as time'));
    const checked = `select id from monitors where last_checked_at < ?::timestamptz + ? * interval '1 second' and ${isOne}`;
    const over = `select where app_now() >= ?::timestamptz + ? * interval '1 second'`;
    const time = [start?.time, seconds];
    const count = async () => (await run(checked, [...time, user.id])).length;
    engine.wake();
    await passTimeUntil(async () => (await count()) === names.length || (await run(over, time)).length > 0);
    return count();
  };
}

test('overdue monitors are checked at once as long as nothing interrupts the engine', async () => {
  const engine = startEngine();
  await clock.pass(65_000);
  const countChecks = await createOverdue();
  expect(await countChecks(engine, 20)).toBe(30);
});

test('after an outage of the database, overdue monitors wait for their turn', async () => {
  const engine = startEngine();
  await clock.pass(2000);
  const transaction = vi.spyOn(service.database, 'engineTransaction');
  onTestFinished(() => transaction.mockRestore());
  transaction.mockRejectedValue(new DatabaseOutage('unavailable', 'injected', 1));
  const countChecks = await createOverdue();
  await clock.pass(65_000);
  transaction.mockRestore();
  expect(await countChecks(engine, 3)).toBeLessThan(15);
});

test('after a time without a network, overdue monitors wait for their turn', async () => {
  const silent = await createUp('a.example', 'b.example', 'c.example');
  const engine = startEngine({ concurrency: 1 });
  await check(engine, ...silent);
  const countChecks = await createOverdue();
  expect(await countChecks(engine, 3)).toBeLessThan(15);
});

test('while the database cannot say which other hosts there are, nothing is recorded', async () => {
  const { path } = await createMonitor(user, { url: `http://a.example:${target.port}/`, interval: 86_400 });
  const engine = startEngine({ net: { allow: parseRanges(['127.0.0.0/8']), lookup: lookUpInOutage } });
  let outages = 0;
  // The check fails, and the database with it.
  async function lookUpInOutage(name: string) {
    const transaction = vi.spyOn(service.database, 'engineTransaction');
    transaction.mockImplementation(() => {
      transaction.mockRestore();
      outages++;
      return Promise.reject(new DatabaseOutage('unavailable', 'injected', 1));
    });
    return lookUp(name);
  }
  const before = await show(path);
  await check(engine, path);
  expect(outages).toBe(1);
  expect(await show(path)).toEqual({ ...before, last_error: 'not checked: the database is not available' });
});
