import { syncBuiltinESMExports } from 'node:module';
import type { TimerOptions } from 'node:timers';
import timersPromises from 'node:timers/promises';
import { vi } from 'vitest';

/** Real timers that are cleared after a test clock was started must not stay. */
const options = {
  toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'performance'],
  advanceTimeDelta: 10,
  shouldClearNativeTimers: true,
} as const;

export interface TestClock {
  /** Lets time pass at once. Every timer that becomes due runs, at its own time. */
  advance(ms: number): void;
  /** Lets time pass 50 times as fast, in steps of at most a second. What is under way in other processes or on the network goes on. */
  pass(ms: number): Promise<void>;
  /** Waits for at most 15 real seconds. Unlike the waits of Vitest, it does not move the clock. */
  until(isReached: () => boolean | Promise<boolean>): Promise<void>;
  /** Gives the timers and the clock back. Timers that have not run by then are lost. */
  stop(): void;
}

/**
 * Takes over the timers and the monotonic clock of this process, so that a test can move them. In between they run as usual.
 * What was started before keeps its timers: start what should obey this clock afterwards, and stop it before the clock. The time
 * of the day, the database and the timeouts of sockets are not affected. A frozen clock stands still unless it is moved.
 */
export function startTestClock({ isFrozen = false } = {}): TestClock {
  const real = performance;
  const startMs = real.now();
  vi.useFakeTimers({ ...options, toFake: [...options.toFake], shouldAdvanceTime: !isFrozen });
  // The clock of the fake timers begins at 0. It continues that of the process, because what is cached has the time of that one.
  const elapsedMs = performance.now;
  const clocks = [performance, real].map((clock) => vi.spyOn(clock, 'now').mockImplementation(() => startMs + elapsedMs()));
  const delay = timersPromises.setTimeout;
  timersPromises.setTimeout = delayWithTimer;
  syncBuiltinESMExports();
  return {
    advance: (ms) => void vi.advanceTimersByTime(ms),
    async pass(ms) {
      for (let left = ms; left > 0; left -= 1000) {
        vi.advanceTimersByTime(Math.min(left, 1000));
        await delay(20);
      }
    },
    async until(isReached) {
      const endMs = Date.now() + 15_000;
      while (!(await isReached())) {
        if (Date.now() > endMs) throw new Error('The state was not reached within 15 seconds.');
        await delay(20);
      }
    },
    stop() {
      // A cache reads the clock once per millisecond, and a timer ends that. It would never end if the timer were lost.
      vi.advanceTimersByTime(options.advanceTimeDelta);
      vi.useRealTimers();
      timersPromises.setTimeout = delay;
      syncBuiltinESMExports();
      for (const clock of clocks) clock.mockRestore();
    },
  };
}

/** Vitest leaves `node:timers/promises` alone. */
function delayWithTimer<T = void>(ms?: number, value?: T, { signal }: TimerOptions = {}): Promise<T> {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    const timer = setTimeout(() => resolve(value as T), ms);
    signal?.addEventListener('abort', () => {
      clearTimeout(timer);
      reject(signal.reason);
    });
  });
}
