import cluster from 'node:cluster';
import { writeSync } from 'node:fs';
import { type DestinationStream, type Logger, pino } from 'pino';
import pretty from 'pino-pretty';
import { ProblemError } from '../errors.ts';
import { redactKeys } from './redact.ts';

/**
 * Logs one JSON line per event, written asynchronously so that no request waits for it. On a terminal the log is readable and
 * in color.
 */
export function createLog({ logLevel }: { logLevel: string }): Logger {
  const options = { level: logLevel, base: null, serializers: { err: plainError }, hooks: { streamWrite: redactKeys } };
  if (process.stdout.isTTY) return pino(options, pretty({ sync: true, ignore: 'pid,hostname' }));
  // Workers write to the same pipe. Larger writes are not atomic, and lines would be mixed up.
  const atomicWrites = cluster.isWorker ? { maxWrite: maxAtomicWriteBytes } : {};
  return pino(options, buffered(pino.destination({ sync: false, ...atomicWrites })));
}

/**
 * Logs only the message and the stack of an error. Database drivers attach the statement and its values, which must not be
 * logged. The stack of an expected error without a cause tells nothing.
 */
export function plainError(error: Error) {
  const { type, message, code, stack } = pino.stdSerializers.err(error);
  const isExpected = error instanceof ProblemError && error.cause === undefined;
  return { type, message, code, stack: isExpected ? undefined : stack };
}

const maxAtomicWriteBytes = 4096;
const bufferMs = 20;

/**
 * Buffers lines for a moment, because the system call is the most expensive part of writing a line: 43 µs of CPU per line
 * instead of 79. `minLength` of sonic-boom takes as long, but then a process whose log is a closed pipe never exits: at exit,
 * sonic-boom 4.2.1 retries EPIPE forever.
 */
function buffered(destination: DestinationStream): DestinationStream {
  let lines = '';
  let timer: NodeJS.Timeout | undefined;
  const flush = () => {
    clearTimeout(timer);
    timer = undefined;
    destination.write(lines);
    lines = '';
  };
  process.prependListener('exit', () => {
    try {
      if (lines !== '') writeSync(process.stdout.fd, lines);
    } catch {} // The pipe is closed.
  });
  return {
    write(line) {
      if (lines.length + line.length > maxAtomicWriteBytes) flush();
      lines += line;
      timer ??= setTimeout(flush, bufferMs).unref();
    },
  };
}
