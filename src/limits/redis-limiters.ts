import { Redis } from 'ioredis';
import type { Logger } from 'pino';
import { RateLimiterRedis } from 'rate-limiter-flexible';
import { BoundedMemoryLimiter, type Limiters } from './limiters.ts';

/** Limiters that count in Redis or Valkey, shared by all processes. While Redis is unreachable, each process counts on its own. */
export function redisLimiters(url: string, log: Logger): Limiters {
  const redis = new Redis(url, { enableOfflineQueue: false, maxRetriesPerRequest: 0, commandTimeout: 1000, retryStrategy: () => 1000 });
  let closing = false;
  let reachable: boolean | undefined;
  redis.on('error', () => {}); // A 'close' event follows, also after a failed attempt to connect.
  redis.on('ready', () => {
    if (reachable === false) log.warn('Redis is reachable again: limits are shared by all processes');
    reachable = true;
  });
  redis.on('close', () => {
    if (reachable !== false && !closing) log.warn('Redis is unreachable: each process enforces limits on its own until it is back');
    reachable = false;
  });
  return {
    create(name, points, seconds) {
      const options = { keyPrefix: `sitekeeper:${name}`, points, duration: seconds };
      return new RateLimiterRedis({
        ...options,
        storeClient: redis,
        rejectIfRedisNotReady: true,
        insuranceLimiter: new BoundedMemoryLimiter(options),
      });
    },
    async close() {
      closing = true;
      redis.disconnect();
    },
  };
}
