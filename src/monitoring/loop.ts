import { outsideTrace } from '../telemetry/tracing.ts';

/** How long a loop sleeps between two iterations. */
export interface Pause {
  /** It does not wake earlier than this, so that many calls of wake() lead to few iterations. */
  minMs: number;
  /** It wakes at the latest after this time. */
  maxMs: number;
}

/** Longer than the longest sleep and the timeouts of the statements in one iteration together. */
const stalledMs = 90_000;

/** Repeats an iteration until it is stopped. In between it sleeps until a time, or until it is woken. */
export class Loop {
  readonly #iterate: () => Promise<Pause>;
  #iteration: Promise<void> = Promise.resolve();
  /** Undefined while an iteration runs. */
  #timer: NodeJS.Timeout | undefined;
  /** When the loop can be woken, on the monotonic clock. */
  #wakeableAtMs = 0;
  #isWoken = false;
  #isStopped = false;
  /** When the last iteration began, or was known to go on, on the monotonic clock. */
  #turnedAtMs = performance.now();

  /** `iterate` must not throw. It returns how long to sleep after it. */
  constructor(iterate: () => Promise<Pause>) {
    this.#iterate = iterate;
  }

  /** Whether it still turns. An iteration that never ends is a bug, which only a restart of the process repairs. */
  get isAlive(): boolean {
    return !this.#isStopped && performance.now() - this.#turnedAtMs < stalledMs;
  }

  get isStopped(): boolean {
    return this.#isStopped;
  }

  /** Whether a long iteration should go on. Asking shows that it is not stuck. */
  goesOn(): boolean {
    this.#turnedAtMs = performance.now();
    return !this.#isStopped;
  }

  start() {
    this.#timer = undefined;
    this.#isWoken = false;
    this.#turnedAtMs = performance.now();
    this.#iteration = outsideTrace(() => this.#iterate()).then((pause) => this.#sleep(pause));
  }

  /** Starts the next iteration soon. If one is running, it may have missed the reason, so another one follows. */
  wake() {
    if (this.#isWoken) return;
    this.#isWoken = true;
    if (this.#timer) this.#startAfter(Math.max(0, this.#wakeableAtMs - performance.now()));
  }

  /** Resolves when the current iteration has ended. */
  async stop() {
    this.#isStopped = true;
    clearTimeout(this.#timer);
    await this.#iteration;
  }

  #sleep({ minMs, maxMs }: Pause) {
    this.#wakeableAtMs = performance.now() + minMs;
    this.#startAfter(this.#isWoken ? minMs : Math.max(minMs, maxMs));
  }

  #startAfter(ms: number) {
    clearTimeout(this.#timer);
    if (!this.#isStopped) this.#timer = setTimeout(() => this.start(), ms);
  }
}
