import type { ValidationError } from '../errors.ts';

// PostgreSQL has no year 0, and years in RFC 3339 have four digits, so a later time could not be returned.
const firstTimeMs = Date.parse('0001-01-01T00:00:00Z');
const lastTimeMs = Date.parse('9999-12-31T23:59:59.999Z');

/** Returns what is wrong with a time that has the right format, or undefined. A leap second is no time. */
export function timeError(time: Date): Pick<ValidationError, 'code' | 'message'> | undefined {
  const ms = time.getTime();
  if (ms >= firstTimeMs && ms <= lastTimeMs) return undefined;
  return { code: 'invalid_time', message: 'must be a date and time, such as 2099-12-31T00:00:00Z, before the year 10000' };
}

/** The same for a time that must be in the future. */
export function futureTimeError(time: Date, nowMs: number): ReturnType<typeof timeError> {
  return timeError(time) ?? (time.getTime() > nowMs ? undefined : { code: 'not_in_future', message: 'must be in the future' });
}
