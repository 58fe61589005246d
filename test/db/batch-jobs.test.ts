import { pino } from 'pino';
import { expect, onTestFinished, test } from 'vitest';
import { type BatchJob, startBatchJobs } from '../../src/db/batch-jobs.ts';

const hourMs = 3_600_000;

/** Rows of which a batch deletes up to 2. */
function createDeletion(rows: string, left: number) {
  const batches: number[] = [];
  const deletion: BatchJob = {
    name: `Deleting ${rows}`,
    async runBatch() {
      const deleted = Math.min(2, left);
      left -= deleted;
      batches.push(deleted);
      return deleted;
    },
  };
  return { deletion, batches };
}

function start(deletions: BatchJob[], intervalMs = hourMs) {
  const lines: string[] = [];
  const log = pino({ level: 'warn' }, { write: (line: string) => lines.push(line) });
  const stop = startBatchJobs(deletions, { intervalMs, log });
  onTestFinished(stop);
  return { stop, lines };
}

test('deletes batch after batch until nothing is left', async () => {
  const [first, second] = [createDeletion('a', 5), createDeletion('b', 1)];
  start([first.deletion, second.deletion]);
  await expect.poll(() => second.batches).toEqual([1, 0]);
  expect(first.batches).toEqual([2, 2, 1, 0]);
});

test('runs again after the interval', async () => {
  const { deletion, batches } = createDeletion('a', 0);
  start([deletion], 20);
  await expect.poll(() => batches.length, { timeout: 5000 }).toBeGreaterThan(2);
});

test('logs a failed deletion and continues with the others', async () => {
  const failing: BatchJob = { name: 'Deleting old alerts', runBatch: () => Promise.reject(new Error('injected')) };
  const { deletion, batches } = createDeletion('b', 0);
  const { lines } = start([failing, deletion]);
  await expect.poll(() => batches).toEqual([0]);
  expect(lines.join('')).toContain('Deleting old alerts failed; it will be retried');
});

test('stops after the current batch', async () => {
  const { promise, resolve } = Promise.withResolvers<number>();
  let batches = 0;
  const { stop } = start([
    {
      name: 'a',
      runBatch() {
        batches++;
        return promise;
      },
    },
  ]);
  let isStopped = false;
  const stopping = stop().then(() => {
    isStopped = true;
  });
  await new Promise((done) => setImmediate(done));
  expect(isStopped).toBe(false);
  resolve(2);
  await stopping;
  expect(batches).toBe(1);
});
