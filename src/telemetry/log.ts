import cluster from 'node:cluster';
import { fstatSync, writeSync } from 'node:fs';
import { type DestinationStream, type Logger, pino } from 'pino';
import pretty from 'pino-pretty';
import packageJson from '../../package.json' with { type: 'json' };
import { journalStream } from '../config/config.ts';
import { ProblemError } from '../errors.ts';
import { redactCredentials } from './redact.ts';

/** What a process does. In a cluster the primary starts the processes that serve. A command is short, such as `user add`. */
export type Role = 'serve' | 'primary' | 'worker' | 'migrate' | 'mock' | 'command';

/**
 * Logs one JSON line per event, written asynchronously so that no request waits for it. On a terminal the log is readable and
 * in color. In the journal of systemd each line has a priority.
 */
export function createLog({ logLevel }: { logLevel: string }, role: Role): Logger {
  const options = {
    level: logLevel,
    base: { version: packageJson.version, role, pid: process.pid },
    serializers: { err: plainError },
    hooks: { streamWrite: writesToJournal() ? addPriority : redactCredentials },
  };
  if (process.stdout.isTTY) return pino(options, readable(pretty({ sync: true, singleLine: true, ignore: 'version,role,pid' })));
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

/** Shortens the line of a request to what a person looks for. All others are passed on. */
export function readable(destination: DestinationStream): DestinationStream {
  return {
    write(line) {
      const { level, time, msg, method, path, status, problem, ms } = JSON.parse(line);
      if (msg !== 'request') return destination.write(line);
      const outcome = problem === undefined ? status : `${status} ${problem}`;
      destination.write(`${JSON.stringify({ level, time, msg: `${method} ${path} ${outcome} ${ms} ms` })}\n`);
    },
  };
}

/** Whether standard output is the stream to the journal that systemd has opened: both have the same device and inode. */
function writesToJournal(): boolean {
  const stream = journalStream();
  if (stream === undefined) return false;
  const { dev, ino } = fstatSync(process.stdout.fd);
  return stream === `${dev}:${ino}`;
}

/** The priorities of syslog, by the level. */
const priorities: Record<string, number> = { 60: 2, 50: 3, 40: 4, 30: 6, 20: 7, 10: 7 };

/** journald reads the priority of a line from a prefix, and removes that. Every line starts with `{"level":30,`. */
function addPriority(line: string): string {
  return `<${priorities[line.slice(9, 11)] ?? 6}>${redactCredentials(line)}`;
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
