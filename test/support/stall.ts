// Separates what the product takes from what the machine takes. A busy or suspended machine delays everybody, so a control
// thread that only sleeps is delayed as well. What it lost in an interval does not count against the product. A process that has
// work to do waits longer for a core than one that sleeps; Linux measures how long.
import type { ChildProcess } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { Worker } from 'node:worker_threads';
import { expect } from 'vitest';
import { StallLog } from './stall-log.ts';

export interface Elapsed {
  ms: number;
  /** How much of it the machine stalled. */
  stallMs: number;
}

const log = new StallLog();
const control = new Worker(new URL('./stall-control.ts', import.meta.url), { workerData: log.memory });
control.unref();
await new Promise((resolve) => control.once('online', resolve));

/**
 * Starts to measure. The returned function tells how long it has been since then. The machine stalled as long as the control was
 * late, or as long as the service was ready to run without getting a core, whichever is longer.
 */
export function startStopwatch(service?: ChildProcess): () => Elapsed {
  const start = process.hrtime.bigint();
  const waitedBefore = waitedForCoreMs(service);
  return () => {
    const { ms, stallMs } = elapsedSince(start);
    return { ms, stallMs: Math.max(stallMs, waitedForCoreMs(service) - waitedBefore) };
  };
}

/** Only Linux tells how long a process waits for a core, and not every container. */
export const tellsWaits = existsSync('/proc/self/schedstat');

/** Returns how long the main thread of a process has been ready to run without running. */
function waitedForCoreMs(service: ChildProcess | undefined): number {
  if (!tellsWaits || service?.pid === undefined) return 0;
  const [, waitedNs] = readFileSync(`/proc/${service.pid}/schedstat`, 'utf8').split(' ');
  return Number(waitedNs) / 1e6;
}

/** Measures in hindsight, for what began at a known time before now. */
export function elapsedFor(ms: number): Elapsed {
  return elapsedSince(process.hrtime.bigint() - BigInt(Math.round(ms * 1e6)));
}

function elapsedSince(start: bigint): Elapsed {
  const end = process.hrtime.bigint();
  return { ms: Number(end - start) / 1e6, stallMs: Number(log.between(start, end)) / 1e6 };
}

/** The time that counts against the product. */
export const netMs = ({ ms, stallMs }: Elapsed) => ms - stallMs;

/** Returns the one that took the product longest. */
export function slowest(all: Elapsed[]): Elapsed {
  return all.reduce((slow, elapsed) => (netMs(elapsed) > netMs(slow) ? elapsed : slow), { ms: 0, stallMs: 0 });
}

/** Expects that something happened in time, apart from what the machine stalled. */
export function expectWithin(seconds: number, elapsed: Elapsed) {
  const { ms, stallMs } = elapsed;
  expect(netMs(elapsed) / 1000, `${ms.toFixed(0)} ms, of which the machine stalled ${stallMs.toFixed(0)} ms`).toBeLessThan(seconds);
}
