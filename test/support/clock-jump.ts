/** NODE_OPTIONS of a process whose monotonic clock jumps by so many seconds on SIGUSR2. Its timers do not. */
export function jumpOnSignal(seconds: number): string {
  return `--import=data:text/javascript,${encodeURIComponent(
    `const now = performance.now.bind(performance);
     let offsetMs = 0;
     performance.now = () => now() + offsetMs;
     process.on('SIGUSR2', () => { offsetMs += ${seconds * 1000}; });`,
  )}`;
}
