// A failure of this machine, its network or its database is never recorded as a failure of a monitor.
import { tmpdir } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { pino } from 'pino';
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest';
import type { Database } from '../../../src/db/database.ts';
import { pingCheck } from '../../../src/monitoring/checks/ping/ping.check.ts';
import { Engine, type EngineDeps } from '../../../src/monitoring/engine/engine.ts';
import { parseRanges } from '../../../src/net/addresses.ts';
import { Pinger } from '../../../src/net/ping.ts';
import { createMetrics } from '../../../src/telemetry/metrics.ts';
import { countLoggedChecks } from '../../support/check-history.ts';
import { testCipher } from '../../support/cipher.ts';
import { urlOf } from '../../support/database.ts';
import { run } from '../../support/process.ts';
import { startService, type TestService, type TestUser } from '../../support/service.ts';
import { startTestClock } from '../../support/test-clock.ts';
import { scripts, startWebServer, type WebServer } from '../../support/web-server.ts';
import { createMonitor } from '../factories.ts';

let service: TestService;
let user: TestUser;

beforeAll(async () => {
  service = await startService({ netAllow: ['127.0.0.0/8'] });
  user = await service.createUser();
});
afterAll(() => service.stop());

/** Creates a monitor that is deleted at the end of the test, so that the engines of other tests do not check it. */
async function createTemporaryMonitor(fields: object): Promise<{ id: number; path: string }> {
  const { id, path } = await createMonitor(user, fields);
  onTestFinished(async () => void (await user.api.delete(path)));
  return { id, path };
}

async function startTarget(script = scripts.respond()): Promise<WebServer> {
  const target = await startWebServer({ script });
  onTestFinished(() => target.close());
  return target;
}

const show = async (path: string) => (await user.api.get(path)).body.data;

async function secondsUntilDue(id: number): Promise<number> {
  const [row] = await service.database.asEngine((em) =>
    em.execute<{ due_in: number }[]>('select extract(epoch from next_check_at - now())::float8 as due_in from monitors where id = ?', [id]),
  );
  return row?.due_in ?? 0;
}

/** Lets the test move the clock of the engine, which is started afterwards. */
function moveableClock() {
  const clock = startTestClock();
  onTestFinished(() => clock.stop());
  return clock;
}

function captureLog() {
  const lines: string[] = [];
  return { log: pino({ level: 'warn' }, { write: (line: string) => lines.push(line) }), text: () => lines.join('') };
}

/** Resolves no name. */
const failWith = (code: string) => () => Promise.reject(Object.assign(new Error('injected'), { code }));

/** Makes all monitors due and starts an engine that cannot ping. It is stopped at the end of the test, if not before. */
async function startEngine(deps: Partial<EngineDeps> = {}): Promise<Engine> {
  const engine = new Engine({
    database: service.database,
    net: { allow: parseRanges(['127.0.0.0/8']) },
    pinger: new Pinger(async () => undefined),
    cipher: testCipher,
    log: pino({ level: 'silent' }),
    metrics: createMetrics(),
    ...deps,
  });
  await service.database.asEngine((em) => em.execute('update monitors set next_check_at = now()', [], 'run'));
  engine.start();
  onTestFinished(() => engine.stop());
  return engine;
}

test('a lack of resources is logged and counted but not recorded as a result, and the check is repeated later', async () => {
  const { id, path } = await createTemporaryMonitor({ url: 'https://shop.example/' });
  const { log, text } = captureLog();
  const metrics = createMetrics();
  const engine = await startEngine({ net: { allow: parseRanges([]), lookup: failWith('EMFILE') }, log, metrics });
  await expect.poll(text, { timeout: 10_000 }).toContain('Checks cannot run because of a local failure; no results are recorded');
  await expect.poll(() => secondsUntilDue(id), { timeout: 15_000 }).toBeGreaterThan(5);
  await expect.poll(() => secondsUntilDue(id), { timeout: 12_000 }).toBeLessThan(11);
  await engine.stop();
  expect(await metrics.registry.metrics()).toMatch(/^sitekeeper_checks_total\{type="http",outcome="local_failure"\} [1-9]/m);
  const last_error = 'not checked: too many open files locally';
  expect(await show(path)).toMatchObject({ status: 'pending', last_checked_at: null, last_error });
});

test('forgets a local failure with the first check', async () => {
  const target = await startTarget();
  const { id, path } = await createTemporaryMonitor({ url: `http://shop.example:${target.port}/` });
  const before = await user.api.get(path);
  const engine = await startEngine({ net: { allow: parseRanges([]), lookup: failWith('EMFILE') } });
  const last_error = 'not checked: too many open files locally';
  await expect.poll(async () => (await show(path)).last_error, { timeout: 15_000 }).toBe(last_error);
  await engine.stop();
  const after = await user.api.get(path);
  expect(after.body.data).toEqual({ ...before.body.data, last_error });
  expect(after.headers.get('ETag')).not.toBe(before.headers.get('ETag'));
  expect((await user.api.get(`${path}/incidents`)).body.data).toEqual([]);
  expect(await countLoggedChecks(service.database, id)).toEqual({ checks: 0, failures: 0 });

  await startEngine({ net: { allow: parseRanges(['127.0.0.0/8']), lookup: async () => [{ address: '127.0.0.1', family: 4 }] } });
  await expect.poll(async () => (await show(path)).status, { timeout: 15_000 }).toBe('up');
  expect((await show(path)).last_error).toBeNull();
});

test('a ping monitor fails if this machine cannot ping', async () => {
  const { path } = await createTemporaryMonitor({ url: '127.0.0.1', type: 'ping' });
  await startEngine();
  const cause = 'this service cannot ping: neither fping nor ping works here';
  await expect.poll(async () => (await show(path)).last_error, { timeout: 15_000 }).toBe(cause);
});

test('a short local failure leaves last_error alone, and one that lasts a minute longer than the interval replaces it', async () => {
  const { id, path } = await createTemporaryMonitor({ url: 'https://shop.example/', interval: 60 });
  const net = { allow: parseRanges([]), lookup: failWith('EMFILE') };
  const setChecked = (ago: string) =>
    service.database.asEngine((em) =>
      em.execute(
        `update monitors set status = 'down', failures = 3, last_error = 'no reply', last_checked_at = now() - ?::interval where id = ?`,
        [ago, id],
        'run',
      ),
    );
  await setChecked('90 seconds');
  const engine = await startEngine({ net });
  await expect.poll(() => secondsUntilDue(id), { timeout: 15_000 }).toBeGreaterThan(5);
  // A claim lasts 30 seconds, and a check that could not run is repeated after 10.
  await expect.poll(() => secondsUntilDue(id), { timeout: 15_000 }).toBeLessThan(11);
  expect(await show(path)).toMatchObject({ status: 'down', last_error: 'no reply' });
  await engine.stop();
  await setChecked('130 seconds');
  await startEngine({ net });
  await expect.poll(async () => (await show(path)).last_error, { timeout: 15_000 }).toMatch(/^not checked: /);
  expect(await show(path)).toMatchObject({ status: 'down' });
}, 60_000);

test('a bug in a check is not described to the user', async () => {
  const { path } = await createTemporaryMonitor({ url: '127.0.0.1', type: 'ping' });
  const buggyPing = async () => {
    throw new TypeError('internal detail');
  };
  await startEngine({ pinger: new Pinger(async () => buggyPing) });
  await expect.poll(async () => (await show(path)).last_error, { timeout: 15_000 }).toBe('not checked: an internal error');
});

test('a slow database is not mistaken for a suspension: results are recorded', async () => {
  const target = await startTarget();
  const { path } = await createTemporaryMonitor({ url: target.url });
  const clock = moveableClock();
  const engineTransaction: Database['engineTransaction'] = (work) => {
    clock.advance(5500);
    return service.database.engineTransaction(work);
  };
  await startEngine({ database: { engineTransaction } as Database });
  await expect.poll(async () => (await show(path)).status, { timeout: 15_000 }).toBe('up');
});

test('a check that never ends does not occupy its slot forever', async () => {
  const target = await startTarget();
  await createTemporaryMonitor({ url: '127.0.0.1', type: 'ping' });
  const { log, text } = captureLog();
  const clock = moveableClock();
  const pinging = vi.spyOn(pingCheck, 'run').mockReturnValue(new Promise(() => {}));
  onTestFinished(() => pinging.mockRestore());
  await startEngine({ log, concurrency: 1 });
  await expect.poll(() => pinging.mock.calls, { timeout: 15_000 }).toHaveLength(1);
  const { id, path } = await createTemporaryMonitor({ url: target.url });
  await service.database.asEngine((em) => em.execute('update monitors set next_check_at = now() where id = ?', [id], 'run'));
  clock.advance(30_000);
  await expect.poll(async () => (await show(path)).status, { timeout: 15_000 }).toBe('up');
  expect(text()).toContain('The check did not end within its timeout');
});

// The worker is a separate process, which needs a database on a server.
test.runIf(process.env.TEST_DATABASE_URL)(
  'a worker that was suspended during a check records no failure',
  async () => {
    const target = await startTarget(scripts.hang());
    const worker = run(
      tmpdir(),
      { DATABASE_URL: urlOf(service.database), SECRET_KEY: Buffer.alloc(32, 1).toString('base64'), NET_ALLOW: '127.0.0.0/8' },
      ['worker'],
    );
    try {
      const { path } = await createTemporaryMonitor({ url: target.url });
      await expect.poll(() => target.requests.length, { timeout: 30_000 }).toBeGreaterThan(0);
      worker.child.kill('SIGSTOP');
      await delay(12_000); // Longer than the timeout of a check.
      target.script = scripts.respond();
      worker.child.kill('SIGCONT');
      const errors: unknown[] = [];
      await expect
        .poll(
          async () => {
            const { status, last_error } = await show(path);
            errors.push(last_error);
            return status;
          },
          { timeout: 30_000, interval: 200 },
        )
        .toBe('up');
      expect(new Set(errors)).toEqual(new Set([null]));
    } finally {
      worker.child.kill('SIGTERM');
      expect(await worker.ended).toBe(0);
    }
  },
  90_000,
);
