import { Redis } from 'ioredis';
import type { Logger } from 'pino';
import { type RateLimiterAbstract, RateLimiterMemory, RateLimiterRedis, RateLimiterRes } from 'rate-limiter-flexible';
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

/** Counts on Redis or Valkey, shared by all processes; in this process alone while that cannot be reached. */
export function redisLimiters(url: string, log: Logger): Limiters {
  const redis = new Redis(url, { enableOfflineQueue: false, maxRetriesPerRequest: 0, commandTimeout: 1000, retryStrategy: () => 1000 });
  let closing = false;
  let reachable: boolean | undefined;
  redis.on('error', () => {}); // 'close' follows, also after an attempt that failed
  redis.on('ready', () => {
    if (reachable === false) log.warn('Redis can be reached again: limits are shared by all processes');
    reachable = true;
  });
  redis.on('close', () => {
    if (reachable !== false && !closing) log.warn('Redis cannot be reached: each process counts for itself meanwhile');
    reachable = false;
  });
  return {
    create(name, points, seconds) {
      const options = { keyPrefix: `sitekeeper:${name}`, points, duration: seconds };
      return new RateLimiterRedis({
        ...options,
        storeClient: redis,
        rejectIfRedisNotReady: true,
        insuranceLimiter: new BoundedMemory(options),
      });
    },
    async close() {
      closing = true;
      redis.disconnect();
    },
  };
}

const remembered = 100_000;

/** Forgets the keys that were not seen for longest, so that a flood of addresses cannot fill the memory. */
class BoundedMemory extends RateLimiterMemory {
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
