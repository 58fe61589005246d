import { Redis } from 'ioredis';
import type { Logger } from 'pino';
import { RateLimiterRedis } from 'rate-limiter-flexible';
import { BoundedMemory, type Limiters } from './limiters.ts';

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
