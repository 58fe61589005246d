import { RetryLaterError } from '../errors.ts';

interface Options {
  /** How many pieces of work run at a time. */
  slots: number;
  /** How many of one owner can wait. More would wait for too long, and are rejected. */
  maxWaiting: number;
  /** For how long one can wait. Nothing waits longer, unless what the work needs is broken. */
  maxWaitMs: number;
}

interface Waiting {
  start(): void;
}

/** Shares slots fairly: a free slot goes to the next owner in turn, however much work another owner has waiting. */
export class FairSlots {
  readonly #options: Options;
  /** A map keeps insertion order: the first owner is next. */
  readonly #waiting = new Map<string | number, Set<Waiting>>();
  #running = 0;

  constructor(options: Options) {
    this.#options = options;
  }

  async run<T>(owner: string | number, work: () => Promise<T>): Promise<T> {
    if (this.#running < this.#options.slots) this.#running++;
    else await this.#wait(owner);
    try {
      return await work();
    } finally {
      this.#startNext();
    }
  }

  #wait(owner: string | number): Promise<void> {
    const { maxWaiting, maxWaitMs } = this.#options;
    const queue = this.#waiting.get(owner) ?? new Set();
    if (queue.size >= maxWaiting) {
      throw new RetryLaterError(
        'rate_limited',
        'Too many of your requests are in progress. Wait for their responses before you send more.',
        1,
      );
    }
    this.#waiting.set(owner, queue);
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        queue.delete(waiting);
        if (queue.size === 0 && this.#waiting.get(owner) === queue) this.#waiting.delete(owner);
        reject(new RetryLaterError('unavailable', 'The service is overloaded. Retry in 2 seconds.', 2));
      }, maxWaitMs);
      const waiting = {
        start() {
          clearTimeout(timer);
          resolve();
        },
      };
      queue.add(waiting);
    });
  }

  /** Hands the slot to the next owner, who then goes to the end of the line. */
  #startNext() {
    const [next] = this.#waiting;
    if (!next) {
      this.#running--;
      return;
    }
    const [owner, queue] = next;
    const [first] = queue;
    this.#waiting.delete(owner);
    if (first) queue.delete(first);
    if (queue.size > 0) this.#waiting.set(owner, queue);
    first?.start();
  }
}
