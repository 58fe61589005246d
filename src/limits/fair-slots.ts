import { RetryLaterError } from '../errors.ts';

/** Work of one owner can wait in this number. More is rejected, because it would wait for too long. */
const maxWaitingPerOwner = 20;

/** Runs a few pieces of work at a time. Free slots go round-robin over the owners of what waits, so that nobody can crowd out others. */
export class FairSlots {
  readonly #slots: number;
  /** A map keeps insertion order: the first owner is served next. */
  readonly #waiting = new Map<string, (() => void)[]>();
  #running = 0;

  constructor(slots: number) {
    this.#slots = slots;
  }

  async run<T>(owner: string, work: () => Promise<T>): Promise<T> {
    await this.#acquire(owner);
    try {
      return await work();
    } finally {
      this.#release();
    }
  }

  async #acquire(owner: string) {
    if (this.#running < this.#slots) {
      this.#running++;
      return;
    }
    const queue = this.#waiting.get(owner) ?? [];
    if (queue.length >= maxWaitingPerOwner) {
      throw new RetryLaterError(
        'rate_limited',
        'Too many requests of yours are waiting for a password to be checked. Retry in 2 seconds.',
        2,
      );
    }
    this.#waiting.set(owner, queue);
    await new Promise<void>((resolve) => queue.push(resolve));
  }

  /** Hands the slot to the next owner, who then goes to the end of the line. */
  #release() {
    const [next] = this.#waiting;
    if (!next) {
      this.#running--;
      return;
    }
    const [owner, queue] = next;
    this.#waiting.delete(owner);
    const start = queue.shift();
    if (queue.length > 0) this.#waiting.set(owner, queue);
    start?.();
  }
}
