import type { RateLimiterAbstract } from 'rate-limiter-flexible';
import { TryLater } from '../errors.ts';
import { take } from './limiters.ts';

/**
 * Slows guessing: runs an attempt and counts it if it fails. Each attempt is counted before it runs and given back when
 * it succeeds, so that many at once cannot slip through together.
 */
export async function limitFailures<T>(
  counters: [limiter: RateLimiterAbstract, key: string][],
  attempt: () => Promise<{ succeeded: boolean; result: T }>,
): Promise<T> {
  const taken = await Promise.all(counters.map(([limiter, key]) => take(limiter, key)));
  const over = taken.filter(({ consumedPoints }, index) => consumedPoints > (counters[index]?.[0].points ?? 0));
  const giveBack = () => Promise.all(counters.map(([limiter, key]) => limiter.reward(key, 1)));
  if (over.length > 0) {
    // An attempt that is not made is no failure: one who is shut out must not use up what is meant for all.
    await giveBack();
    const seconds = Math.max(1, ...over.map(({ msBeforeNext }) => Math.ceil(msBeforeNext / 1000)));
    throw new TryLater('rate_limited', `There were too many failed attempts. Try again in ${seconds} seconds.`, seconds);
  }
  // An attempt that could not be made, because something of ours is broken, is no failure either.
  let failed = false;
  try {
    const { succeeded, result } = await attempt();
    failed = !succeeded;
    return result;
  } finally {
    if (!failed) await giveBack();
  }
}
