/** Calls `stop` when the process is told to end, or is left behind. */
export function onceToldToStop(stop: (why: string) => Promise<void>) {
  process.once('SIGTERM', stop);
  process.once('SIGINT', stop);
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
