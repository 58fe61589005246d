// The target of checks: one HTTP server in a process of its own, so that its CPU time is not counted.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { scripts, startWebServer } from '../support/web-server.ts';

/** Requests by path, and the addresses that answer 503. */
type Message = { count: string } | { failing: string[] };

export interface EngineTarget {
  pid: number;
  port: number;
  /** The number of requests for a path so far. */
  count(path: string): Promise<number>;
  /** Answers 503 to requests for these addresses, and 200 to all others. */
  fail(addresses: string[]): void;
  stop(): void;
}

/** Starts a server that listens on every loopback address. */
export async function startTarget(certificate?: object): Promise<EngineTarget> {
  const child = fork(import.meta.filename, ['target', ...(certificate ? [JSON.stringify(certificate)] : [])]);
  const [port] = await once(child, 'message');
  return {
    pid: child.pid ?? 0,
    port: Number(port),
    async count(path) {
      child.send({ count: path } satisfies Message);
      const [count] = await once(child, 'message');
      return Number(count);
    },
    fail: (addresses) => void child.send({ failing: addresses } satisfies Message),
    stop: () => child.kill(),
  };
}

async function runTarget() {
  const certificate = process.argv[3] ? JSON.parse(process.argv[3]) : undefined;
  const [up, down] = [scripts.respond('ok'), scripts.respond('down', 503)];
  const counts = new Map<string, number>();
  let failing = new Set<string>();
  const target = await startWebServer({ host: '0.0.0.0', ...(certificate && { certificate }) });
  target.script = (request, response) => {
    target.requests.length = 0; // Only their number is needed.
    counts.set(request.path, (counts.get(request.path) ?? 0) + 1);
    const [address = ''] = request.headers.host?.split(':') ?? [];
    (failing.has(address) ? down : up)(request, response);
  };
  process.on('message', (message: Message) => {
    if ('failing' in message) failing = new Set(message.failing);
    else process.send?.(counts.get(message.count) ?? 0);
  });
  process.once('disconnect', () => process.exit()); // It must not outlive the benchmark.
  process.send?.(target.port);
}

if (process.argv[1] === import.meta.filename && process.argv[2] === 'target') await runTarget();
