import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { Logger } from 'pino';

const afterMs = 2000;

/**
 * Gives back what the start left behind. V8 collects when memory is asked for, so a service at rest would keep tens of
 * megabytes of used-up modules and schemas.
 */
export function tidyMemoryAfterStart(log: Logger): void {
  setTimeout(() => {
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc') as (options: { type: 'major'; execution: 'sync'; flavor: 'last-resort' }) => void;
    const began = performance.now();
    collect({ type: 'major', execution: 'sync', flavor: 'last-resort' });
    log.debug({ ms: Math.round(performance.now() - began), rss: process.memoryUsage.rss() }, 'Memory of the start was given back');
  }, afterMs).unref();
}
