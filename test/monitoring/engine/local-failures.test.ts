// A failure of this machine, its network or its database is never recorded as a failure of a monitor.
import { tmpdir } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { pino } from 'pino';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import type { Database } from '../../../src/db/database.ts';
import { Engine, type EngineDeps } from '../../../src/monitoring/engine/engine.ts';
import { parseRanges } from '../../../src/net/addresses.ts';
import { Pinger } from '../../../src/net/ping.ts';
import { createMetrics } from '../../../src/telemetry/metrics.ts';
import { urlOf } from '../../support/database.ts';
import { run } from '../../support/process.ts';
import { startService, type TestService, type TestUser } from '../../support/service.ts';
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

function captureLog() {
  const lines: string[] = [];
  return { log: pino({ level: 'warn' }, { write: (line: string) => lines.push(line) }), text: () => lines.join('') };
}

/** Makes all monitors due and starts an engine that cannot ping. It is stopped at the end of the test, if not before. */
async function startEngine(deps: Partial<EngineDeps> = {}): Promise<Engine> {
  const engine = new Engine({
    database: service.database,
    net: { allow: parseRanges(['127.0.0.0/8']) },
    pinger: new Pinger(Promise.resolve(undefined)),
    log: pino({ level: 'silent' }),
    metrics: createMetrics(),
    ...deps,
  });
  await service.database.asEngine((em) => em.execute('update monitors set next_check_at = now()', [], 'run'));
  engine.start();
  onTestFinished(() => engine.stop());
  return engine;
}

test.each(['EMFILE', 'EAI_AGAIN', 'ENETUNREACH'])(
  '%s is logged and counted but not recorded, and the check is repeated later',
  async (code) => {
    const { id, path } = await createTemporaryMonitor({ url: 'https://shop.example/' });
    const { log, text } = captureLog();
    const metrics = createMetrics();
    const lookup = async () => {
      throw Object.assign(new Error('injected'), { code });
    };
    const engine = await startEngine({ net: { allow: parseRanges([]), lookup }, log, metrics });
    await expect.poll(text, { timeout: 10_000 }).toContain('A check could not run because of a local failure; no result was recorded');
    await expect.poll(() => secondsUntilDue(id), { timeout: 15_000 }).toBeGreaterThan(5);
    await expect.poll(() => secondsUntilDue(id), { timeout: 12_000 }).toBeLessThan(11);
    await engine.stop();
    expect(await metrics.registry.metrics()).toMatch(/^sitekeeper_checks_total\{type="http",outcome="local_failure"\} [1-9]/m);
    expect(await show(path)).toMatchObject({ status: 'pending', last_checked_at: null, last_error: null });
  },
);

test('a ping monitor stays pending if this machine cannot ping', async () => {
  const { id, path } = await createTemporaryMonitor({ url: '127.0.0.1', type: 'ping' });
  const engine = await startEngine();
  await expect.poll(() => secondsUntilDue(id), { timeout: 15_000 }).toBeGreaterThan(5);
  await engine.stop();
  expect(await show(path)).toMatchObject({ status: 'pending', last_error: null });
});

test('a slow database is not mistaken for a suspension: results are recorded', async () => {
  const target = await startTarget();
  const { path } = await createTemporaryMonitor({ url: target.url });
  const asEngine: Database['asEngine'] = async (work) => {
    await delay(5500);
    return service.database.asEngine(work);
  };
  await startEngine({ database: { asEngine } as Database });
  await expect.poll(async () => (await show(path)).status, { timeout: 50_000 }).toBe('up');
}, 90_000);

test('a check that never ends does not occupy its slot forever', async () => {
  const target = await startTarget();
  await createTemporaryMonitor({ url: '127.0.0.1', type: 'ping' });
  const { log, text } = captureLog();
  await startEngine({ pinger: new Pinger(new Promise(() => {})), log, concurrency: 1 });
  await delay(500);
  const { path } = await createTemporaryMonitor({ url: target.url });
  await expect.poll(async () => (await show(path)).status, { timeout: 60_000 }).toBe('up');
  expect(text()).toContain('The check did not end within its timeout');
}, 90_000);

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
