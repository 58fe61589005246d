// What /readyz on the metrics port says about a worker with a loop that is stuck, and about processes that are shutting down.
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import type { Database } from '../../src/db/database.ts';
import { Deployment, kill } from '../faults/support/deployment.ts';
import { jumpOnSignal } from '../support/clock-jump.ts';
import { createDatabase, ownerUrlOf, urlOf } from '../support/database.ts';
import type { RunningProcess } from '../support/process.ts';
import { wakeAll } from '../support/wake.ts';
import { getHealth } from './support/metrics-port.ts';

describe.runIf(process.env.TEST_DATABASE_URL)('on PostgreSQL', () => {
  let database: Database;
  let deployment: Deployment;

  beforeAll(async () => {
    database = await createDatabase();
    deployment = await Deployment.create({ DATABASE_URL: urlOf(database), METRICS_PORT: '0' });
  });
  afterAll(async () => {
    await deployment?.remove();
    await database?.close();
  });

  /** Locks a table, and resolves once so many loops wait for it. They do so for up to 15 seconds. Returns a function that unlocks it. */
  async function blockLoops(table: 'monitors' | 'alerts', count = 1): Promise<() => Promise<unknown>> {
    const owner = new pg.Client({ connectionString: ownerUrlOf(database) });
    await owner.connect();
    onTestFinished(() => owner.end());
    await owner.query('begin');
    await owner.query(`lock table ${table}`);
    await wakeAll(database);
    const waiting = () => owner.query('select from pg_locks where relation = $1::regclass and not granted', [table]);
    await vi.waitFor(async () => expect((await waiting()).rowCount).toBeGreaterThanOrEqual(count), { timeout: 30_000 });
    return () => owner.query('rollback');
  }

  test.each([
    ['monitors', 'the loop that runs checks does not turn'],
    ['alerts', 'the loop that sends alerts does not turn'],
  ] as const)('a worker that waits for the table of %s for too long is healthy and not ready, because %s', async (table, reason) => {
    // A loop counts as stuck after 90 seconds.
    const worker = await deployment.startWorker({ NODE_OPTIONS: jumpOnSignal(100) });
    onTestFinished(() => kill(worker));
    expect(await getHealth(worker, '/readyz')).toEqual([200, { status: 'ready' }]);
    const unblock = await blockLoops(table);
    await vi.waitFor(
      async () => {
        await wakeAll(database); // The other loop turns.
        const health = await getHealth(worker, '/readyz');
        // What waited first may have been another query, so the loop may have begun to wait after the last jump. The few jumps
        // that there is time for would not reach a limit of an hour.
        if (health[0] === 200) worker.child.kill('SIGUSR2');
        expect(health).toEqual([503, { status: 'not ready', reason }]);
      },
      { timeout: 30_000, interval: 3000 },
    );
    expect(await getHealth(worker, '/healthz')).toEqual([200, { status: 'ok' }]);
    await unblock();
    await vi.waitFor(async () => expect((await getHealth(worker, '/readyz'))[0]).toBe(200), { timeout: 30_000 });
  });

  const processes: [string, number, () => Promise<RunningProcess>][] = [
    ['worker', 1, () => deployment.startWorker()],
    ['serve', 1, () => deployment.serve()],
    ['serve --workers 2', 2, () => startCluster()],
  ];

  async function startCluster(): Promise<RunningProcess> {
    const cluster = await deployment.serve({}, ['serve', '--workers', '2']);
    await vi.waitFor(() => expect(cluster.printed()).toContain('2 workers are ready'), { timeout: 60_000 });
    return cluster;
  }

  test.each(processes)('"%s" that finishes its work after SIGTERM is healthy and not ready', async (_, loops, start) => {
    const started = await start();
    onTestFinished(() => kill(started));
    expect(await getHealth(started, '/readyz')).toEqual([200, { status: 'ready' }]);
    const unblock = await blockLoops('monitors', loops);
    started.child.kill('SIGTERM');
    const problem = expect.objectContaining({ detail: 'The service is shutting down.' });
    await vi.waitFor(async () => expect(await getHealth(started, '/readyz')).toEqual([503, problem]), { timeout: 8000, interval: 50 });
    expect(await getHealth(started, '/healthz')).toEqual([200, { status: 'ok' }]);
    await unblock();
    expect(await started.ended).toBe(0);
  });
});
