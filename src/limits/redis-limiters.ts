import type { Logger } from 'pino';
import { RateLimiterRedis } from 'rate-limiter-flexible';
import { BoundedMemoryLimiter, type Limiters } from './limiters.ts';
import { maxReplyMs, PromptRedis } from './prompt-redis.ts';

/** Limiters that count in Redis or Valkey, shared by all processes. While Redis does not respond, each process counts on its own. */
export function redisLimiters(url: string, log: Logger): Limiters {
  const redis = new PromptRedis(url);
  let closing = false;
  let available: boolean | undefined;
  redis.on('error', () => {}); // A 'close' event follows, also after a failed attempt to connect.
  redis.on('ready', () => {
    if (available === false) log.warn('Redis is reachable again: limits are shared by all processes');
    available = true;
  });
  redis.on('close', () => {
    const what = redis.isTooSlow ? `does not respond within ${maxReplyMs} ms` : 'is unreachable';
    if (available !== false && !closing) log.warn(`Redis ${what}: each process enforces limits on its own until it is back`);
    available = false;
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
    isRedisAvailable: () => available === true,
    async close() {
      closing = true;
      redis.disconnect();
    },
  };
}
