import { type RateLimiterAbstract, RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible';
import { RetryLaterError } from '../errors.ts';

/** Creates limiters that allow `points` per `seconds`. */
export interface Limiters {
  create(name: string, points: number, seconds: number): RateLimiterAbstract;
  /** Whether limits are shared through Redis now. Limiters that never are do not have it. */
  isRedisAvailable?(): boolean;
  close(): Promise<void>;
}

/** Consumes points and returns the state, whether or not the limit is exceeded. */
export async function consume(limiter: RateLimiterAbstract, key: string, points = 1): Promise<RateLimiterRes> {
  try {
    return await limiter.consume(key, points);
  } catch (exceeded) {
    if (exceeded instanceof RateLimiterRes) return exceeded;
    throw exceeded;
  }
}

/** Throws RetryLaterError that starts with `detail` if the limit is exceeded. */
export async function enforceLimit(limiter: RateLimiterAbstract, key: string, detail: string): Promise<void> {
  const { consumedPoints, msBeforeNext } = await consume(limiter, key);
  if (consumedPoints <= limiter.points) return;
  const seconds = Math.max(1, Math.ceil(msBeforeNext / 1000));
  throw new RetryLaterError('rate_limited', `${detail} Retry in ${seconds} ${seconds === 1 ? 'second' : 'seconds'}.`, seconds);
}

/** Limiters that count in this process only. */
export function memoryLimiters(): Limiters {
  return {
    create: (name, points, seconds) => new BoundedMemoryLimiter({ keyPrefix: name, points, duration: seconds }),
    close: async () => {},
  };
}

const maxKeys = 100_000;

/** Drops the least recently used keys, so that a flood of addresses cannot fill the memory. */
export class BoundedMemoryLimiter extends RateLimiterMemory {
  /** A set keeps insertion order: the first key is the least recently used. */
  readonly #keys = new Set<string>();

  override consume(key: string | number, points?: number, options?: Parameters<RateLimiterMemory['consume']>[2]): Promise<RateLimiterRes> {
    const name = String(key);
    this.#keys.delete(name);
    this.#keys.add(name);
    if (this.#keys.size > maxKeys) {
      const [oldest = ''] = this.#keys;
      this.#keys.delete(oldest);
      void super.delete(oldest);
    }
    return super.consume(key, points, options);
  }

  override delete(key: string | number): Promise<boolean> {
    this.#keys.delete(String(key));
    return super.delete(key);
  }
}
