import { type RateLimiterAbstract, RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible';
import { TryLater } from '../errors.ts';

/** Makes counters that allow `points` in `seconds`. */
export interface Limiters {
  create(name: string, points: number, seconds: number): RateLimiterAbstract;
  close(): Promise<void>;
}

/** One point, whether it was still to be had or not. */
export async function take(limiter: RateLimiterAbstract, key: string, points = 1): Promise<RateLimiterRes> {
  try {
    return await limiter.consume(key, points);
  } catch (refused) {
    if (refused instanceof RateLimiterRes) return refused;
    throw refused;
  }
}

/** Refuses with `rule` what goes over a limit. */
export async function limitUse(limiter: RateLimiterAbstract, key: string, rule: string): Promise<void> {
  const { consumedPoints, msBeforeNext } = await take(limiter, key);
  if (consumedPoints <= limiter.points) return;
  const seconds = Math.max(1, Math.ceil(msBeforeNext / 1000));
  throw new TryLater('rate_limited', `${rule} Try again in ${seconds} seconds.`, seconds);
}

/** Counts in this process alone. */
export function memoryLimiters(): Limiters {
  return {
    create: (name, points, seconds) => new BoundedMemory({ keyPrefix: name, points, duration: seconds }),
    close: async () => {},
  };
}

const remembered = 100_000;

/** Forgets the keys that were not seen for longest, so that a flood of addresses cannot fill the memory. */
export class BoundedMemory extends RateLimiterMemory {
  /** In the order of their last use. */
  readonly #keys = new Set<string>();

  override consume(key: string | number, points?: number, options?: Parameters<RateLimiterMemory['consume']>[2]): Promise<RateLimiterRes> {
    const name = String(key);
    this.#keys.delete(name);
    this.#keys.add(name);
    if (this.#keys.size > remembered) {
      const [oldest = ''] = this.#keys;
      this.#keys.delete(oldest);
      void super.delete(oldest);
    }
    return super.consume(key, points, options);
  }
}
