// SQL that tracks when a monitor is observed: from its first check on, while it is active, outside of maintenance, and while this
// service can check it. A check counts until the next one. If that comes more than a minute late, the check counts for one interval.
//
// `observed_since` begins the present period; in a maintenance, it is the end of it. `observed_until` is when the next check is due.
// A pause, a maintenance or a late check ends the period, which then becomes a part of `observed_before`.
import { type RawBuilder, sql } from 'kysely';
import { endOfPeriod } from '../engine/schedule.ts';

const maxLateness = sql`interval '1 minute'`;
/** The end of the present period, if nothing happens until now. */
export const certainEnd = sql<Date>`case when app_now() > observed_until + ${maxLateness} then observed_until else app_now() end`;

interface Observation {
  observed_since: RawBuilder<Date | null>;
  observed_until: RawBuilder<Date | null>;
  observed_before: RawBuilder<string | null>;
}

/** What monitor `m` becomes with a check at this time. `isDown` is the result. */
export function observeCheck(checkedAt: RawBuilder<Date>, isDown: RawBuilder<boolean>): Observation {
  const isLate = sql<boolean>`coalesce(${checkedAt} > m.observed_until + ${maxLateness}, false)`;
  return {
    observed_since: sql`case when m.observed_since is null then greatest(${checkedAt}, m.maintenance_until)
      when ${isLate} then greatest(${checkedAt}, m.observed_since) else m.observed_since end`,
    observed_until: endOfPeriod(checkedAt, isDown),
    observed_before: sql`case when ${isLate} then ${withPeriod(sql`m.observed_since`, sql`m.observed_until`, 'm.observed_before')}
      else m.observed_before end`,
  };
}

interface Change {
  /** Earlier results are no longer valid, so the next check begins a new period. */
  isReset: RawBuilder<boolean>;
  wasInMaintenance: RawBuilder<boolean>;
  willBeInMaintenance: RawBuilder<boolean>;
  maintenanceUntil: RawBuilder<unknown>;
}

/** What `observed_since` and `observed_before` of a monitor become when a user changes it. */
export function observeChange(change: Change): Omit<Observation, 'observed_until'> {
  const { isReset, wasInMaintenance, willBeInMaintenance, maintenanceUntil } = change;
  return {
    observed_since: sql`case when ${isReset} or observed_since is null then null when ${willBeInMaintenance} then ${maintenanceUntil}
      when ${wasInMaintenance} then app_now() else observed_since end`,
    observed_before: sql`case when ${isReset} or ${willBeInMaintenance}
      then ${withPeriod(sql`observed_since`, certainEnd, 'observed_before')} else observed_before end`,
  };
}

/** Periods that were rolled up are dropped after a day, in which they are still needed for statistics of five minutes. */
const horizon = sql`(select least(hour, app_now() - interval '25 hours') from roll_up_progress)`;
/** About a thousand periods. Only somebody who tries to has more in a day, and then the next ones do not count. */
const maxBytes = sql.lit(16_000);

function withPeriod(from: RawBuilder<unknown>, to: RawBuilder<unknown>, column: string): RawBuilder<string> {
  const before = sql.ref(column);
  return sql`case when ${from} < ${to} and coalesce(pg_column_size(${before}), 0) < ${maxBytes}
    then (coalesce(${before}, '{}') + tstzmultirange(tstzrange(${from}, ${to}))) * tstzmultirange(tstzrange(${horizon}, null))
    else ${before} end`;
}

/** What a statement reads to learn when monitors were observed. */
export const observationColumns = [
  sql<number | null>`(extract(epoch from observed_since) * 1000)::float8`.as('observedFromMs'),
  sql<number | null>`(extract(epoch from ${certainEnd}) * 1000)::float8`.as('observedToMs'),
  sql<[number, number][] | null>`(select json_agg(json_build_array((extract(epoch from lower(period)) * 1000)::float8,
    (extract(epoch from upper(period)) * 1000)::float8)) from unnest(observed_before) as period)`.as('observedBefore'),
];
