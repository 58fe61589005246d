const beatMs = 1000;
/** A gap between two beats that only a process that stood still explains. */
const asleepMs = 5000;

/** Notices that this process stood still: stopped, frozen with its machine, or kept busy for long. */
export class SleepWatch {
  // The one clock stands still while a machine sleeps, the other may be set at any time.
  #beat = { steadyMs: performance.now(), wallMs: Date.now() };
  #awakeSinceMs = 0;
  #hasEnded = false;
  readonly #timer = setInterval(() => this.#look(), beatMs).unref();

  /** Whether there was a sleep that is not yet forgotten. */
  hasEnded(): boolean {
    this.#look();
    return this.#hasEnded;
  }

  forget() {
    this.#hasEnded = false;
  }

  /** On the monotonic clock. */
  awakeSinceMs(): number {
    this.#look();
    return this.#awakeSinceMs;
  }

  stop() {
    clearInterval(this.#timer);
  }

  #look() {
    const now = { steadyMs: performance.now(), wallMs: Date.now() };
    if (Math.max(now.steadyMs - this.#beat.steadyMs, now.wallMs - this.#beat.wallMs) > asleepMs) {
      this.#awakeSinceMs = now.steadyMs;
      this.#hasEnded = true;
    }
    this.#beat = now;
  }
}
