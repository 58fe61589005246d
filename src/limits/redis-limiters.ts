import type { Logger } from 'pino';
import { RateLimiterRedis } from 'rate-limiter-flexible';
import { BoundedMemoryLimiter, type Limiters } from './limiters.ts';
import { maxReplyMs, PromptRedis } from './prompt-redis.ts';

/**
 * Limiters that count in Redis or Valkey, shared by all processes. While Redis does not respond, or responds with errors, each
 * process counts on its own.
 */
export function redisLimiters(url: string, log: Logger): Limiters {
  let closing = false;
  let available: boolean | undefined;
  let isRejecting = false;
  const becomeAvailable = () => {
    if (available === false) log.warn('Redis is available again: limits are shared by all processes');
    available = true;
  };
  const becomeUnavailable = (what: string) => {
    if (available !== false && !closing) log.warn(`Redis ${what}: each process enforces limits on its own until it is back`);
    available = false;
  };
  const redis = new PromptRedis(url, (error) => {
    isRejecting = error !== undefined;
    if (error) becomeUnavailable(`responds with an error (${error.message.slice(0, 100)})`);
    else becomeAvailable();
  });
  redis.on('error', () => {}); // A 'close' event follows, also after a failed attempt to connect.
  redis.on('ready', () => {
    // A server that responded with an error is available only when a script has run.
    if (!isRejecting) becomeAvailable();
  });
  redis.on('close', () => becomeUnavailable(redis.isTooSlow ? `does not respond within ${maxReplyMs} ms` : 'is unreachable'));
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
