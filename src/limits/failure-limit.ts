import type { RateLimiterAbstract } from 'rate-limiter-flexible';
import { RetryLaterError } from '../errors.ts';
import { consume } from './limiters.ts';

/**
 * Slows down guessing: runs an attempt and counts it if it fails. An attempt is counted before it runs and refunded if it
 * succeeds, so that many concurrent attempts cannot get past the limit together.
 */
export async function limitFailures<T>(
  counters: [limiter: RateLimiterAbstract, key: string][],
  attempt: () => Promise<{ succeeded: boolean; result: T }>,
): Promise<T> {
  const consumed = await Promise.all(counters.map(([limiter, key]) => consume(limiter, key)));
  const exceeded = consumed.filter(({ consumedPoints }, index) => consumedPoints > (counters[index]?.[0].points ?? 0));
  const refund = () => Promise.all(counters.map(([limiter, key]) => limiter.reward(key, 1)));
  if (exceeded.length > 0) {
    // A rejected attempt is not a failure: a client that is locked out must not use up the limit of the whole account.
    await refund();
    const seconds = Math.max(1, ...exceeded.map(({ msBeforeNext }) => Math.ceil(msBeforeNext / 1000)));
    throw new RetryLaterError(
      'rate_limited',
      `Too many failed attempts. Retry in ${seconds} ${seconds === 1 ? 'second' : 'seconds'}.`,
      seconds,
    );
  }
  // An attempt that throws, because the database is down for example, is not a failure either.
  let failed = false;
  try {
    const { succeeded, result } = await attempt();
    failed = !succeeded;
    return result;
  } finally {
    if (!failed) await refund();
  }
}
