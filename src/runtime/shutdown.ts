import type { Logger } from 'pino';
import { isStartedByNpm } from '../config/config.ts';

/** Shorter than the 10 seconds or more that process managers wait before they kill a process. */
const timeoutMs = 9000;
const parentCheckMs = 200;

/** Runs `finish` once the process is asked to stop, and exits. `reason` is the name of the signal, or a short description. */
export function onShutdown(finish: (reason: string) => Promise<void>, log?: Logger) {
  let stopping = false;
  const stop = async (reason: string) => {
    if (stopping) return; // A signal from a terminal also reaches the workers of a cluster, which the primary stops as well.
    stopping = true;
    setTimeout(() => {
      log?.error(`Shutdown timed out after ${timeoutMs / 1000} s; exiting with unfinished work`);
      process.exit(1);
    }, timeoutMs);
    try {
      await finish(reason);
      process.exit(0);
    } catch (error) {
      log?.error({ err: error }, 'Shutdown failed');
      process.exit(1);
    }
  };
  // A service manager may send it to this process and to npm, which forwards it. A second Ctrl+C ends the process at once.
  process.on('SIGTERM', stop);
  process.once('SIGINT', stop);
  process.on('message', ({ type, reason }: { type?: string; reason?: string }) => {
    if (type === 'sitekeeper:stop') void stop(reason ?? 'stopped by the primary process');
  });
  // npm and npx send SIGTERM only to the shell in which they run the service. dash, the shell of Debian and Ubuntu, ends without
  // forwarding it, and the service would keep the port and the data directory. "exec" in package.json would help npm, but not
  // npx. No signal arrives, but the parent process changes. Checking that takes 4 seconds of CPU time per hour (0.1 % of a core).
  if (isStartedByNpm()) {
    const parent = process.ppid;
    const timer = setInterval(() => {
      if (process.ppid === parent) return;
      clearInterval(timer);
      void stop('npm has exited');
    }, parentCheckMs);
  }
}
