import cluster from 'node:cluster';
import { type Logger, pino } from 'pino';
import pretty from 'pino-pretty';

/**
 * JSON, one line an event, written beside the work so that no request waits for it; readable and in colour where
 * somebody looks at a terminal.
 */
export function createLog({ logLevel }: { logLevel: string }): Logger {
  const options = { level: logLevel, base: null };
  // Lines go out together, at the latest after a moment. Several processes write to one pipe, which keeps up to 4 KiB
  // together; with more, lines would run into each other.
  const together = { minLength: 2048, periodicFlush: 50, ...(cluster.isWorker && { maxWrite: 4096 }) };
  return process.stdout.isTTY
    ? pino(options, pretty({ sync: true, ignore: 'pid,hostname' }))
    : pino(options, pino.destination({ sync: false, ...together }));
}
