import { type RawBuilder, sql } from 'kysely';

/**
 * Each monitor has its own phase within the day, in seconds, so that many monitors that were created or became due together are not
 * checked together. The factor is near the golden ratio of a day and of a minute, in milliseconds: that of successive monitors are far
 * apart, and those of many monitors are evenly spread.
 */
const phase = sql`((m.id * 53377081) % 86400000 / 1000.0)`;

/** The next time at which monitor `m` has its turn, if it has one every `seconds`. */
export function nextTurn(seconds: RawBuilder<unknown>): RawBuilder<Date> {
  return sql<Date>`to_timestamp((floor((extract(epoch from app_now()) - ${phase}) / ${seconds}) + 1) * ${seconds} + ${phase})`;
}

/** While monitor `m` is down or was not checked in time, it has a turn at least once a minute. */
export const atMostAMinute = sql`least(m.interval_seconds, 60)`;
