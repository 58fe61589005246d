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

/** When the next result of monitor `m` is expected after one at this time. A passive one that is down waits for any length of time. */
export function endOfPeriod(checkedAt: RawBuilder<Date>, isDown: RawBuilder<boolean>): RawBuilder<Date> {
  return sql<Date>`case when m.grace_seconds is null then ${checkedAt} + case when ${isDown} then ${atMostAMinute} else m.interval_seconds end * interval '1 second'
    when ${isDown} then 'infinity' else ${checkedAt} + (m.interval_seconds + m.grace_seconds) * interval '1 second' end`;
}

/** How long a passive monitor `m` waits for the next result, from now on. */
export const nextPeriod = sql<Date>`app_now() + (m.interval_seconds + m.grace_seconds) * interval '1 second'`;

/** When the maintenance of monitor `m` ends. Null if it is in none. */
export const endOfMaintenance = sql<Date | null>`case when m.maintenance_until > app_now() then m.maintenance_until end`;

/** While monitor `m` is down or was not checked in time, it has a turn at least once a minute. */
export const atMostAMinute = sql`least(m.interval_seconds, 60)`;

/**
 * When monitor `m` is checked after a time in which it could not be. A passive one could not receive anything either, so it waits for a
 * whole period, unless it is already down, and only its maintenance has ended.
 */
export const turnAfterInterruption = sql<Date>`case when m.grace_seconds is not null and m.status <> 'down' then ${nextPeriod}
  else ${nextTurn(atMostAMinute)} end`;
