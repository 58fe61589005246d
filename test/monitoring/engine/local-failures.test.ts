// What goes wrong on our side is never the monitor's fault.
import { spawnSync } from 'node:child_process';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import type { Database } from '../../../src/db/database.ts';
import { checkPing } from '../../../src/monitoring/checks/ping.ts';
import { Engine, type EngineDeps } from '../../../src/monitoring/engine/engine.ts';
import { SuspensionDetector } from '../../../src/monitoring/engine/suspension-detector.ts';
import { parseRanges } from '../../../src/net/addresses.ts';
import { findPing, Pinger } from '../../../src/net/ping.ts';
import { createMetrics } from '../../../src/telemetry/metrics.ts';
import { urlOf } from '../../support/database.ts';
import { run } from '../../support/process.ts';
import { startService, type TestService, type TestUser } from '../../support/service.ts';
import { scripts, startWebServer } from '../../support/web-server.ts';

let service: TestService;
let user: TestUser;

beforeAll(async () => {
  service = await startService({ netAllow: ['127.0.0.0/8'] });
  user = await service.createUser();
});
afterAll(() => service.stop());

const create = async (url: string) => Number((await user.api.post('/api/monitors', { json: { friendly_name: 'Shop', url } })).body.data.id);
const monitor = async (id: number) => (await user.api.get(`/api/monitors/${id}`)).body.data;
const dueInSeconds = async (id: number) => {
  const [row] = await service.database.asEngine((em) =>
    em.execute<{ due_in: number }[]>('select extract(epoch from next_check_at - now())::float8 as due_in from monitors where id = ?', [id]),
  );
  return row?.due_in ?? 0;
};

/** An engine of its own, for which everything is due; without a program that pings. */
async function startEngine(parts: Partial<EngineDeps> = {}): Promise<Engine> {
  const engine = new Engine({
    database: service.database,
    net: { allow: parseRanges(['127.0.0.0/8']) },
    pinger: new Pinger(Promise.resolve(undefined)),
    log: pino({ level: 'silent' }),
    metrics: createMetrics(),
    ...parts,
  });
  await service.database.asEngine((em) => em.execute('update monitors set next_check_at = now()', [], 'run'));
  engine.start();
  return engine;
}

test.each(['EMFILE', 'EAI_AGAIN', 'ENETUNREACH'])(
  '%s: nothing is recorded, a line is logged, it is counted, and the check is tried again later',
  async (code) => {
    const id = await create('https://shop.example/');
    const lines: string[] = [];
    const log = pino({ level: 'warn' }, { write: (line: string) => lines.push(line) });
    const metrics = createMetrics();
    const lookup = async () => {
      throw Object.assign(new Error('planted'), { code });
    };
    const engine = await startEngine({ net: { allow: parseRanges([]), lookup }, log, metrics });
    await expect.poll(() => lines.join(''), { timeout: 10_000 }).toContain('for a reason on our side');
    await expect.poll(() => dueInSeconds(id), { timeout: 15_000 }).toBeGreaterThan(5);
    await expect.poll(() => dueInSeconds(id), { timeout: 12_000 }).toBeLessThan(11);
    await engine.stop();
    expect(await metrics.registry.metrics()).toMatch(/^sitekeeper_checks_total\{type="http",outcome="local_failure"\} [1-9]/m);
    expect(await monitor(id)).toMatchObject({ status: 'pending', last_checked_at: null, last_error: null });
    await user.api.delete(`/api/monitors/${id}`);
  },
);

test('where nobody may ping, a ping monitor has no verdict', async () => {
  const { body } = await user.api.post('/api/monitors', { json: { friendly_name: 'Ping', url: '127.0.0.1', type: 'ping' } });
  const engine = await startEngine();
  await expect.poll(() => dueInSeconds(body.data.id), { timeout: 15_000 }).toBeGreaterThan(5);
  await engine.stop();
  expect(await monitor(body.data.id)).toMatchObject({ status: 'pending', last_error: null });
  await user.api.delete(`/api/monitors/${body.data.id}`);
});

test('a slow database is not taken for a sleep: what was found out meanwhile is recorded', async () => {
  const target = await startWebServer();
  const id = await create(target.url);
  const asEngine: Database['asEngine'] = async (work) => {
    await pause(5500);
    return service.database.asEngine(work);
  };
  const engine = await startEngine({ database: { asEngine } as Database });
  await expect.poll(async () => (await monitor(id)).status, { timeout: 50_000 }).toBe('up');
  await engine.stop();
  await user.api.delete(`/api/monitors/${id}`);
  await target.close();
}, 90_000);

test('a check that never ends does not take the room of the others for ever', async () => {
  const target = await startWebServer();
  await user.api.post('/api/monitors', { json: { friendly_name: 'Endless', url: '127.0.0.1', type: 'ping' } });
  const lines: string[] = [];
  const log = pino({ level: 'warn' }, { write: (line: string) => lines.push(line) });
  const engine = await startEngine({ pinger: new Pinger(new Promise(() => {})), log, concurrency: 1 });
  await pause(500);
  const id = await create(target.url);
  await expect.poll(async () => (await monitor(id)).status, { timeout: 60_000 }).toBe('up');
  expect(lines.join('')).toContain('did not end within its time limit');
  await engine.stop();
  await target.close();
}, 90_000);

test('a sleep of this process is noticed by either clock, until it is forgotten', () => {
  const watch = new SuspensionDetector();
  const sleeps = () => {
    const [first, again] = [watch.wasSuspended(), watch.wasSuspended()];
    watch.acknowledge();
    return [first, again, watch.wasSuspended()];
  };
  expect(sleeps()).toEqual([false, false, false]);
  for (const clock of [Date, performance]) {
    const now = clock.now();
    const spy = vi.spyOn(clock, 'now').mockReturnValue(now + 6000);
    onTestFinished(() => spy.mockRestore());
    expect(sleeps()).toEqual([true, true, false]);
    expect(watch.resumedAtMs()).toBeGreaterThan(0);
    spy.mockRestore();
  }
  watch.stop();
});

test('a name whose server is silent does not hold up the pings of others', async () => {
  const lookup = (name: string) =>
    name === 'shop.example' ? Promise.resolve([{ address: '127.0.0.1', family: 4 }]) : new Promise<never>(() => {});
  const net = { allow: parseRanges(['127.0.0.0/8']), lookup };
  const pinger = new Pinger(Promise.resolve(async (addresses) => new Map(addresses.map((address) => [address, 1]))));
  const silent = checkPing('silent.example', net, pinger);
  expect(await Promise.race([silent, checkPing('shop.example', net, pinger)])).toEqual({ up: true, responseTimeMs: 1 });
  expect(await silent).toMatchObject({ message: 'DNS did not answer, timed out after 10 s' });
});

test.runIf((await findPing(['fping'])) !== undefined)('500 addresses are pinged at once', async () => {
  const ping = await findPing(['fping']);
  const addresses = Array.from({ length: 500 }, (_, index) => `127.0.${1 + Math.floor(index / 250)}.${1 + (index % 250)}`);
  expect((await ping?.(addresses, 3))?.size).toBe(500);
});

// A process of its own in a namespace that has loopback and nothing else, where this machine lets us make one.
const inNoNetwork = (command: string) => spawnSync('unshare', ['-rn', 'sh', '-c', `ip link set lo up && ${command}`], { encoding: 'utf8' });
const pinging = ['fping', 'ping'].filter((program) => inNoNetwork(`${program} -c 1 127.0.0.1`).status === 0);

test.runIf(pinging.length > 0).each(pinging)('without any network, no check blames the monitor (%s)', (program) => {
  const { stdout, stderr } = inNoNetwork(
    `${process.execPath} ${join(import.meta.dirname, '../../support/check-without-network.ts')} ${program}`,
  );
  expect([stdout.trim().split('\n'), stderr]).toEqual([
    [
      'http://93.184.215.14/ our fault',
      'http://[2606:2800:21f:cb07::1]/ our fault',
      '127.0.0.1 up',
      '93.184.215.14 our fault',
      '2606:2800:21f:cb07::1 our fault',
    ],
    '',
  ]);
});

test('old statistics are forgotten, newer ones and incidents of the last 13 months are kept', async () => {
  const id = await create('https://shop.example/');
  await user.api.put(`/api/monitors/${id}`, { json: { is_active: false } });
  await service.database.asEngine(async (em) => {
    await em.execute(
      `insert into check_hours (user_id, monitor_id, hour, checks, failures, total_ms)
       select ?, ?, date_trunc('hour', now()) - n * interval '10 days', 1, 0, 1 from generate_series(0, 9) n`,
      [user.id, id],
    );
    await em.execute(
      `insert into incidents (user_id, monitor_id, started_at, resolved_at, cause)
       select ?, ?, now() - n * interval '1 day', now() - n * interval '1 day', 'n' from unnest(array[1, 390, 500]) n`,
      [user.id, id],
    );
  });
  const forgetful = await startService({ retentionDays: 35 }, { database: service.database, engine: true });
  const count = (table: string) => async () =>
    (
      await service.database.asUser(user.id, (em) =>
        em.execute<{ n: number }[]>(`select count(*)::int as n from ${table} where monitor_id = ?`, [id]),
      )
    )[0]?.n;
  await expect.poll(count('check_hours'), { timeout: 20_000 }).toBe(4);
  await expect.poll(count('incidents'), { timeout: 20_000 }).toBe(2);
  await forgetful.stop();
});

describe.runIf(process.env.TEST_DATABASE_URL)('on PostgreSQL', () => {
  test('a worker that was suspended in the middle of a check records no failure', async () => {
    const target = await startWebServer({ script: scripts.hang() });
    const worker = run(
      tmpdir(),
      { DATABASE_URL: urlOf(service.database), SECRET_KEY: Buffer.alloc(32, 1).toString('base64'), NET_ALLOW: '127.0.0.0/8' },
      ['worker'],
    );
    try {
      const id = await create(target.url);
      await expect.poll(() => target.requests.length, { timeout: 30_000 }).toBeGreaterThan(0);
      worker.child.kill('SIGSTOP');
      await pause(12_000); // longer than a check may take
      target.script = scripts.accept();
      worker.child.kill('SIGCONT');
      const errors: unknown[] = [];
      await expect
        .poll(
          async () => {
            const { status, last_error } = await monitor(id);
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
      await target.close();
    }
  }, 90_000);
});
