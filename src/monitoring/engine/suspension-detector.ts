const intervalMs = 1000;
/** A longer gap between two ticks means that the process was suspended. */
const suspendedMs = 5000;

/** Detects that this process was suspended: stopped by a signal, asleep with its machine, or blocked for a long time. */
export class SuspensionDetector {
  // The monotonic clock stands still while a machine sleeps, and the wall clock can be changed at any time: both are needed.
  #lastTick = { monotonicMs: performance.now(), wallMs: Date.now() };
  #resumedAtMs = 0;
  #wasSuspended = false;
  readonly #timer = setInterval(() => this.#tick(), intervalMs).unref();
  readonly #onResume: () => void;

  /** `onResume` is called within a second after a suspension: other timers may have stood still with the machine. */
  constructor(onResume = () => {}) {
    this.#onResume = onResume;
  }

  /** Whether there was a suspension that has not been acknowledged. */
  wasSuspended(): boolean {
    this.#tick();
    return this.#wasSuspended;
  }

  acknowledge() {
    this.#wasSuspended = false;
  }

  /** When the last suspension ended, on the monotonic clock. */
  resumedAtMs(): number {
    this.#tick();
    return this.#resumedAtMs;
  }

  stop() {
    clearInterval(this.#timer);
  }

  #tick() {
    const now = { monotonicMs: performance.now(), wallMs: Date.now() };
    if (Math.max(now.monotonicMs - this.#lastTick.monotonicMs, now.wallMs - this.#lastTick.wallMs) > suspendedMs) {
      this.#resumedAtMs = now.monotonicMs;
      this.#wasSuspended = true;
      this.#onResume();
    }
    this.#lastTick = now;
  }
}
