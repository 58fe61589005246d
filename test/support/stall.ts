// Separates what the product takes from what the machine takes. A busy or suspended machine delays everybody, so a control
// thread that only sleeps is delayed as well. What it lost in an interval does not count against the product.
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

/** Starts to measure. The returned function tells how long it has been since then. */
export function startStopwatch(): () => Elapsed {
  const start = process.hrtime.bigint();
  return () => elapsedSince(start);
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
