import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import { DatabaseOutage } from '../errors.ts';

/** One kind of rows that are deleted when they are old or expired. */
export interface Deletion {
  /** Names the rows in the log. */
  rows: string;
  /** Deletes one batch in a transaction of its own. Returns how many rows it has deleted or looked at: 0 if nothing is left. */
  deleteBatch(): Promise<number>;
}

/** Requests get their turn between two batches. */
const pauseMs = 50;

/**
 * Runs the deletions now and then at every interval, each in batches until nothing is left, so that no lock is held for long.
 * Several processes can do this at the same time. Returns a function that stops after the current batch.
 */
export function startRetention(deletions: Deletion[], { intervalMs, log }: { intervalMs: number; log: Logger }): () => Promise<void> {
  const stopping = new AbortController();
  const { signal } = stopping;
  const pause = (ms: number) => delay(ms, undefined, { ref: false, signal }).catch(() => {}); // It ends early when it is stopped.

  async function deleteAll({ rows, deleteBatch }: Deletion) {
    try {
      while (!signal.aborted && (await deleteBatch()) > 0) await pause(pauseMs);
    } catch (error) {
      if (!(error instanceof DatabaseOutage)) log.warn({ err: error }, `Deleting ${rows} failed; it will be retried`);
    }
  }

  async function run() {
    while (!signal.aborted) {
      for (const deletion of deletions) await deleteAll(deletion);
      await pause(intervalMs);
    }
  }

  const running = run();
  return async () => {
    stopping.abort();
    await running;
  };
}
