import cluster from 'node:cluster';
import { writeSync } from 'node:fs';
import { type DestinationStream, type Logger, pino } from 'pino';
import pretty from 'pino-pretty';

/**
 * JSON, one line an event, written beside the work so that no request waits for it; readable and in colour where
 * somebody looks at a terminal.
 */
export function createLog({ logLevel }: { logLevel: string }): Logger {
  const options = { level: logLevel, base: null, serializers: { err: plainError } };
  if (process.stdout.isTTY) return pino(options, pretty({ sync: true, ignore: 'pid,hostname' }));
  // Several processes may write to one pipe; with more than that at once, lines would run into each other.
  const together = cluster.isWorker ? { maxWrite: pipeKeepsTogether } : {};
  return pino(options, gathering(pino.destination({ sync: false, ...together })));
}

/** What an error says and where it arose. Drivers hang the statement and its values on theirs, which are not for the log. */
export function plainError(error: Error) {
  const { type, message, code, stack } = pino.stdSerializers.err(error);
  return { type, message, code, stack };
}

const pipeKeepsTogether = 4096;
const gatheredMs = 20;

/** Passes lines on together, after a moment at the latest: what costs most about a line is the call that writes it. */
function gathering(destination: DestinationStream): DestinationStream {
  let lines = '';
  let timer: NodeJS.Timeout | undefined;
  const pass = () => {
    clearTimeout(timer);
    timer = undefined;
    destination.write(lines);
    lines = '';
  };
  process.prependListener('exit', () => {
    try {
      if (lines !== '') writeSync(process.stdout.fd, lines);
    } catch {} // nobody reads any more
  });
  return {
    write(line) {
      if (lines.length + line.length > pipeKeepsTogether) pass();
      lines += line;
      timer ??= setTimeout(pass, gatheredMs).unref();
    },
  };
}
