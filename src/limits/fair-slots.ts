import { RetryLaterError } from '../errors.ts';

interface Options {
  /** How many pieces of work run at a time. */
  slots: number;
  /** How many of them one owner can have. */
  slotsPerOwner?: number;
  /** How many of one owner can wait. More would wait for too long, and are rejected. */
  maxWaiting: number;
  /** For how long one can wait. Nothing waits longer, unless what the work needs is broken. */
  maxWaitMs: number;
}

/** The work of one owner. */
interface Share {
  running: number;
  waiting: Set<() => void>;
}

/**
 * Shares slots fairly: a free slot goes to the next owner in turn, however much work another owner has waiting. p-limit has one
 * queue for all owners, which is neither bounded in length nor in time.
 */
export class FairSlots {
  readonly #options: Options & { slotsPerOwner: number };
  /** Owners who have work. A map keeps insertion order: the first owner is next. */
  readonly #shares = new Map<string | number, Share>();
  #running = 0;

  constructor(options: Options) {
    this.#options = { slotsPerOwner: options.slots, ...options };
  }

  /** How much work waits for a slot. */
  get waiting(): number {
    let waiting = 0;
    for (const share of this.#shares.values()) waiting += share.waiting.size;
    return waiting;
  }

  async run<T>(owner: string | number, work: () => Promise<T>): Promise<T> {
    const share = this.#shares.get(owner) ?? { running: 0, waiting: new Set() };
    this.#shares.set(owner, share);
    if (this.#running >= this.#options.slots || share.running >= this.#options.slotsPerOwner) await this.#wait(owner, share);
    else this.#start(share);
    try {
      return await work();
    } finally {
      this.#running--;
      share.running--;
      this.#removeIfIdle(owner, share);
      this.#startNext();
    }
  }

  #start(share: Share) {
    this.#running++;
    share.running++;
  }

  #wait(owner: string | number, share: Share): Promise<void> {
    const { maxWaiting, maxWaitMs } = this.#options;
    if (share.waiting.size >= maxWaiting) {
      throw new RetryLaterError(
        'rate_limited',
        'Too many of your requests are in progress. Wait for their responses before you send more.',
        1,
      );
    }
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        share.waiting.delete(begin);
        this.#removeIfIdle(owner, share);
        reject(new RetryLaterError('unavailable', 'The service is overloaded. Retry in 2 seconds.', 2));
      }, maxWaitMs);
      const begin = () => {
        clearTimeout(timer);
        share.waiting.delete(begin);
        this.#start(share);
        resolve();
      };
      share.waiting.add(begin);
    });
  }

  /** Gives the slot to the next owner who can use it, and moves that owner to the end of the line. */
  #startNext() {
    for (const [owner, share] of this.#shares) {
      const [begin] = share.waiting;
      if (!begin || share.running >= this.#options.slotsPerOwner) continue;
      this.#shares.delete(owner);
      this.#shares.set(owner, share);
      return begin();
    }
  }

  #removeIfIdle(owner: string | number, share: Share) {
    if (share.running === 0 && share.waiting.size === 0) this.#shares.delete(owner);
  }
}
