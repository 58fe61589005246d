// Without a network, no monitor goes down. Names that cannot be resolved represent hosts that do not reply.
import { pino } from 'pino';
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test } from 'vitest';
import { Engine, type EngineDeps } from '../../../src/monitoring/engine/engine.ts';
import { parseRanges } from '../../../src/net/addresses.ts';
import { Pinger } from '../../../src/net/ping.ts';
import { createMetrics } from '../../../src/telemetry/metrics.ts';
import { startFullServer } from '../../support/full-server.ts';
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
  await service.database.asEngine((em) => em.execute('update monitors set next_check_at = null', [], 'run'));
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
async function createUp(...names: string[]): Promise<string[]> {
  const paths: string[] = [];
  for (const name of names) {
    const { id, path } = await createMonitor(user, { url: `http://${name}:${target.port}/`, interval: 86_400 });
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
  const ids = paths.map((path) => path.split('/').at(-1)).join();
  const run = (statement: string) => service.database.asEngine((em) => em.execute(statement, [ids]));
  const isOne = `id = any (string_to_array(?, ',')::bigint[])`;
  // The end of a check removes the token.
  await run(`update monitors set next_check_at = app_now(), claim_token = 0 where ${isOne}`);
  engine.wake();
  clock.advance(5000); // Without a network, an engine looks for due monitors this often.
  await expect.poll(() => run(`select id from monitors where claim_token is not null and ${isOne}`), { timeout: 20_000 }).toEqual([]);
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
  clock.advance(61_000);
  await check(engine, ...paths);
  for (const path of paths) {
    const last_error = expect.stringMatching(/^not checked since \d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ: no network here$/);
    expect(await show(path)).toMatchObject({ status: 'up', last_error });
    expect(await readIncidents(path)).toEqual([]);
  }
  expect(await service.database.asEngine((em) => em.execute('select from check_hours where user_id = ?', [user.id]))).toEqual([]);
  const [first = ''] = paths;
  const { last_error: noticed } = await show(first);
  // Another process notices it later.
  const other = startEngine();
  await engine.stop();
  clock.advance(61_000);
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

test('a reply that arrives while a check runs is enough: no other host is asked', async () => {
  const [broken = '', working = ''] = await createUp('a.example', 'b.example', 'c.example', 'd.example');
  addresses.set('b.example', '127.0.0.1');
  // The name is not resolved until the other monitor was checked.
  const metrics = createMetrics();
  const countUp = async () => (await metrics.checks.get()).values.find(({ labels }) => labels.outcome === 'up')?.value ?? 0;
  let checked = 0;
  const lookup = async (name: string) => {
    if (name === 'a.example') await expect.poll(countUp, { timeout: 10_000 }).toBe(++checked);
    return lookUp(name);
  };
  const engine = startEngine({ net: { allow: parseRanges(['127.0.0.0/8']), lookup }, metrics });
  const before = target.requests.length;
  for (let count = 0; count < 3; count++) await check(engine, broken, working);
  expect(await show(broken)).toMatchObject({ status: 'down' });
  expect(target.requests.length).toBe(before + 3);
});

test.each([
  ['two servers', ['a.example', 'b.example'], []],
  ['three names of one domain', ['www.shop.example', 'api.shop.example', 'shop.example'], []],
  ['three names of one server', ['a.example', 'b.example', 'c.example'], ['127.0.0.1', '127.0.0.1', '127.0.0.1']],
])('%s are too few to blame the network', async (_, names, resolved) => {
  const [broken = ''] = await createUp(...names);
  for (const [index, address] of resolved.entries()) addresses.set(names[index] ?? '', address);
  const engine = startEngine({ pinger: new Pinger(async () => async () => new Map()) });
  await service.database.asUser(user.id, (em) => em.execute(`update monitors set type = 'ping', url = target_host`));
  for (let count = 0; count < 3; count++) await check(engine, broken);
  expect(await show(broken)).toMatchObject({ status: 'down' });
});

test('three servers that do not reply to echo requests are enough to blame the network', async () => {
  const names = ['a.example', 'b.example', 'c.example'];
  const [silent = ''] = await createUp(...names);
  for (const [index, name] of names.entries()) addresses.set(name, `127.0.0.${index + 1}`);
  const engine = startEngine({ pinger: new Pinger(async () => async () => new Map()) });
  await service.database.asUser(user.id, (em) => em.execute(`update monitors set type = 'ping', url = target_host`));
  for (let count = 0; count < 3; count++) await check(engine, silent);
  expect(await show(silent)).toMatchObject({ status: 'up', last_error: null });
});

test.each([
  ['replies', () => target.port],
  ['refuses connections', () => 1],
])('while the address of CONNECTIVITY_CHECK %s, the monitors fail', async (_, port) => {
  const [broken = ''] = await createUp('a.example', 'b.example', 'c.example', 'd.example');
  const engine = startEngine({ connectivityCheck: { host: '127.0.0.1', port: port() } });
  for (let count = 0; count < 3; count++) await check(engine, broken);
  expect(await show(broken)).toMatchObject({ status: 'down' });
});

test('while the address of CONNECTIVITY_CHECK and all hosts are silent, one monitor is enough to blame the network', async () => {
  const [silent = ''] = await createUp('a.example');
  const full = await startFullServer('127.0.0.1');
  onTestFinished(() => void full.close());
  const engine = startEngine({ connectivityCheck: { host: '127.0.0.1', port: full.port } });
  for (let count = 0; count < 3; count++) await check(engine, silent);
  expect(await show(silent)).toMatchObject({ status: 'up', last_error: null });

  const [working = ''] = await createUp('b.example');
  addresses.set('b.example', '127.0.0.1');
  for (let count = 0; count < 3; count++) await check(engine, silent);
  expect(await show(silent)).toMatchObject({ status: 'down' });
  expect(await show(working)).toMatchObject({ status: 'up' });
});

test('no other host is asked on behalf of a monitor that is down already', async () => {
  const [down = ''] = await createUp('a.example', 'b.example', 'c.example', 'd.example');
  for (const name of ['b.example', 'c.example', 'd.example']) addresses.set(name, '127.0.0.1');
  const engine = startEngine();
  for (let count = 0; count < 3; count++) await check(engine, down);
  expect(await show(down)).toMatchObject({ status: 'down' });
  const before = target.requests.length;
  await check(engine, down);
  expect(await show(down)).toMatchObject({ status: 'down', last_error: notResolved });
  expect(target.requests.length).toBe(before);
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

test('hosts that have just replied count no more when they are silent, and last_error says since when', async () => {
  const names = ['a.example', 'b.example', 'c.example'];
  const paths = await createUp(...names);
  for (const name of names) addresses.set(name, '127.0.0.1');
  const engine = startEngine();
  clock.advance(30_000);
  const before = Date.now();
  await check(engine, ...paths);
  addresses.clear();
  clock.advance(2000);
  for (let count = 0; count < 3; count++) await check(engine, ...paths);
  for (const path of paths) expect(await show(path)).toMatchObject({ status: 'up', last_error: null });
  clock.advance(61_000);
  await check(engine, ...paths);
  const [, since = ''] = /^not checked since (\S+): /.exec((await show(paths[0] ?? '')).last_error) ?? [];
  expect(Date.parse(since)).toBeGreaterThanOrEqual(before - 1000);
});

test('a monitor that was never checked does not count as a server that became silent, whichever is checked', async () => {
  const [up = ''] = await createUp('a.example', 'b.example');
  const { path } = await createMonitor(user, { url: `http://c.example:${target.port}/`, interval: 86_400 });
  const engine = startEngine();
  for (let count = 0; count < 2; count++) await check(engine, path);
  for (let count = 0; count < 3; count++) await check(engine, up);
  expect(await show(up)).toMatchObject({ status: 'down' });
  await check(engine, path);
  expect(await show(path)).toMatchObject({ status: 'down' });
});

test('without a network, nothing is recorded of monitors that are down either', async () => {
  const [down = '', ...others] = await createUp('a.example', 'b.example', 'c.example', 'd.example');
  addresses.set('d.example', '127.0.0.1');
  const engine = startEngine();
  for (let count = 0; count < 3; count++) await check(engine, down);
  const before = await show(down);
  expect(before).toMatchObject({ status: 'down' });
  addresses.clear();
  clock.advance(2000);
  await check(engine, ...others);
  await check(engine, down);
  expect(await show(down)).toEqual(before);
});

test('the hosts of other users are asked as well', async () => {
  const [broken = ''] = await createUp('a.example', 'b.example', 'c.example');
  const owner = user;
  user = await service.createUser();
  await createUp('d.example');
  addresses.set('d.example', '127.0.0.1');
  const engine = startEngine();
  for (let count = 0; count < 3; count++) await check(engine, broken);
  user = owner;
  expect(await show(broken)).toMatchObject({ status: 'down' });
});

test('hundreds of monitors on one host do not hide the other hosts', async () => {
  const [silent = ''] = await createUp('a.example', 'b.example', 'c.example', 'site.example');
  await service.database.asUser(user.id, (em) =>
    em.execute(
      `insert into monitors (user_id, friendly_name, url, target_host, status, last_checked_at, next_check_at)
       select ?, 'M', 'http://site.example/', 'site.example', 'up', app_now(), app_now() + random() * interval '1 hour' + interval '1 minute'
       from generate_series(1, 900)`,
      [user.id],
    ),
  );
  const engine = startEngine();
  for (let count = 0; count < 3; count++) await check(engine, silent);
  expect(await show(silent)).toMatchObject({ status: 'up', last_error: null });
});
