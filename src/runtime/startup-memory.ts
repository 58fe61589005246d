import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { Logger } from 'pino';

const afterMs = 2000;

/**
 * Keeps the space for new objects at its initial size. A worker creates some for each check and needs none of them for long. V8
 * would let that space grow to 32 MB, which only makes collections rarer.
 */
export function limitNewObjects(): void {
  setFlagsFromString('--semi-space-growth-factor=1');
}

/**
 * Runs one garbage collection after startup. V8 collects only when memory is requested, so an idle service would keep tens of
 * megabytes of parsed modules and schemas.
 */
export function releaseStartupMemory(log: Logger): void {
  setTimeout(() => {
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc') as (options: { type: 'major'; execution: 'sync'; flavor: 'last-resort' }) => void;
    const start = performance.now();
    collect({ type: 'major', execution: 'sync', flavor: 'last-resort' });
    log.debug({ ms: Math.round(performance.now() - start), rss: process.memoryUsage.rss() }, 'Released the memory used during startup');
  }, afterMs).unref();
}
