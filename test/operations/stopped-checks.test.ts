// Nobody else notices that checks have stopped: the processes that serve requests still work, and those that check are gone.
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import type { Database } from '../../src/db/database.ts';
import { Deployment, kill, type RunningService } from '../faults/support/deployment.ts';
import { type DatabaseProxy, startProxy } from '../faults/support/proxy.ts';
import { createDatabase, urlOf } from '../support/database.ts';
import type { RunningProcess } from '../support/process.ts';
import { wakeAll } from '../support/wake.ts';
import { startWebServer, type WebServer } from '../support/web-server.ts';
import { findPrometheus, startPrometheus } from './prometheus.ts';
import { getHealth, metricsUrl } from './support/metrics-port.ts';

const prometheus = findPrometheus();
const missing = [!prometheus && 'prometheus', !process.env.TEST_DATABASE_URL && 'TEST_DATABASE_URL'].filter(Boolean).join(' and ');
if (missing && process.env.CI) throw new Error(`The test of what happens when checks stop requires ${missing}.`);
if (missing) console.warn(`What happens when checks stop is not tested, because that requires ${missing}.`);

describe.skipIf(missing)('one serving process and one worker', () => {
  let database: Database;
  let deployment: Deployment;
  let target: WebServer;
  let serve: RunningService;
  let worker: RunningProcess;
  let proxy: DatabaseProxy;

  beforeAll(async () => {
    database = await createDatabase();
    target = await startWebServer();
    proxy = await startProxy(urlOf(database));
    deployment = await Deployment.create({ DATABASE_URL: urlOf(database), METRICS_PORT: '0' });
    serve = await deployment.serve({}, ['serve', '--no-engine']);
    worker = await deployment.startWorker();
  }, 120_000);
  afterAll(async () => {
    await deployment?.remove();
    await proxy?.close();
    await target?.close();
    await database?.close();
  });

  /** The test does not wait for the interval of the monitor. */
  async function makeDue() {
    await database.asEngine((em) => em.execute('update monitors set next_check_at = now()', [], 'run'));
    await wakeAll(database);
  }

  test('a worker is healthy and ready without a token', async () => {
    expect(await getHealth(worker, '/healthz')).toEqual([200, { status: 'ok' }]);
    expect(await getHealth(worker, '/readyz')).toEqual([200, { status: 'ready' }]);
    expect(await getHealth(serve, '/readyz')).toEqual([200, { status: 'ready' }]);
  });

  test('a worker whose database does not respond is healthy, not ready, and still serves its metrics', async () => {
    const cut = await deployment.startWorker({
      DATABASE_URL: proxy.url,
      METRICS_TOKEN: 'a-token-for-the-metrics',
    });
    expect((await getHealth(cut, '/readyz'))[0]).toBe(200);
    proxy.silence(/./);
    await vi.waitFor(
      async () =>
        expect(await getHealth(cut, '/readyz')).toEqual([
          503,
          { status: 'not ready', reason: 'the database does not respond, or a migration is missing' },
        ]),
      { timeout: 30_000 },
    );
    expect(await getHealth(cut, '/healthz')).toEqual([200, { status: 'ok' }]);
    const metrics = await fetch(`${metricsUrl(cut)}/metrics`, { headers: { Authorization: 'Bearer a-token-for-the-metrics' } });
    expect(await metrics.text()).toMatch(/^sitekeeper_oldest_due_check_seconds NaN$/im);
    await kill(cut);
  });

  test('an alert fires when the last worker is killed, and not before', async () => {
    const host = (started: RunningProcess) => new URL(metricsUrl(started)).host;
    // The shortest interval is 30 seconds, and no check of a machine that is busy with other tests starts as late as this.
    const thresholds: [string, string][] = [['> 120', '> 15']];
    const targets = { serve: [host(serve)], worker: [host(worker)] };
    const running = await startPrometheus(String(prometheus), targets, thresholds);
    try {
      const monitor = { friendly_name: 'Shop', url: target.url, interval: 30 };
      expect((await serve.api.post('/api/monitors', { json: monitor })).status).toBe(201);
      const isUp = async () => (await running.query('sum(sitekeeper_checks_total{outcome="up"})')) ?? 0;
      await vi.waitFor(async () => expect(await isUp()).toBeGreaterThanOrEqual(1), { timeout: 60_000, interval: 500 });
      await makeDue();
      await vi.waitFor(async () => expect(await isUp()).toBeGreaterThanOrEqual(2), { timeout: 60_000, interval: 500 });
      expect(await running.query('max(sitekeeper_oldest_due_check_seconds)')).toBeLessThan(15);
      expect(await running.alerts()).not.toHaveProperty('SitekeeperChecksStopped');
      await kill(worker);
      await makeDue();
      await vi.waitFor(
        async () => expect(await running.alerts()).toMatchObject({ SitekeeperChecksStopped: 'firing', SitekeeperProcessDown: 'firing' }),
        { timeout: 120_000, interval: 500 },
      );
      expect(await running.query('max(sitekeeper_oldest_due_check_seconds{role="serve"})')).toBeGreaterThan(15);
      // The process that serves requests does not notice.
      expect((await fetch(`${serve.url}/readyz`)).status).toBe(200);
    } finally {
      await running.stop();
    }
  }, 240_000);
});
