import type { Logger } from 'pino';

/** Sooner than those who told us lose patience, which they do after 10 seconds and more. */
const stopMs = 9000;

/** When the process is told to end, or is left behind: finishes what is to be finished, and ends. */
export function onceToldToStop(finish: (why: string) => Promise<void>, log?: Logger) {
  let told = false;
  const stop = async (why: string) => {
    if (told) return; // a signal from the terminal reaches the workers of a cluster, too
    told = true;
    setTimeout(() => {
      log?.error('Stopping takes too long; what is left is broken off');
      process.exit(1);
    }, stopMs);
    try {
      await finish(why);
      process.exit(0);
    } catch (error) {
      log?.error({ err: error }, 'Stopping did not go well');
      process.exit(1);
    }
  };
  process.once('SIGTERM', stop);
  process.once('SIGINT', stop);
  process.on('message', ({ type, why }: { type?: string; why?: string }) => {
    if (type === 'sitekeeper:stop') void stop(why ?? 'the primary');
  });
  // npm runs us in a shell that passes no signal on. When a stopped npm takes that shell along, nobody is left to tell us.
  if (process.env.npm_lifecycle_event) {
    const parent = process.ppid;
    const watch = setInterval(() => {
      if (process.ppid === parent) return;
      clearInterval(watch);
      void stop('npm is gone');
    }, 200);
  }
}
