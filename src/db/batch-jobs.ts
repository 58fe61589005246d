import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import { DatabaseOutage } from '../errors.ts';

/** Work on many rows that is done in batches, such as the deletion of old ones. */
export interface BatchJob {
  /** Names the work in the log, as the start of a sentence: "Deleting old alerts". */
  name: string;
  /** Does one batch in a transaction of its own. Returns how many rows it has changed or looked at: 0 if nothing is left to do. */
  runBatch(): Promise<number>;
}

/** Requests get their turn between two batches. */
const pauseMs = 50;

/**
 * Runs the jobs now and then at every interval, each in batches until nothing is left, so that no lock is held for long.
 * Several processes can do this at the same time. Returns a function that stops after the current batch.
 */
export function startBatchJobs(jobs: BatchJob[], { intervalMs, log }: { intervalMs: number; log: Logger }): () => Promise<void> {
  const stopping = new AbortController();
  const { signal } = stopping;
  const pause = (ms: number) => delay(ms, undefined, { ref: false, signal }).catch(() => {}); // It ends early when it is stopped.

  async function runJob({ name, runBatch }: BatchJob) {
    try {
      while (!signal.aborted && (await runBatch()) > 0) await pause(pauseMs);
    } catch (error) {
      if (!(error instanceof DatabaseOutage)) log.warn({ err: error }, `${name} failed; it will be retried`);
    }
  }

  async function run() {
    while (!signal.aborted) {
      for (const job of jobs) await runJob(job);
      await pause(intervalMs);
    }
  }

  const running = run();
  return async () => {
    stopping.abort();
    await running;
  };
}
