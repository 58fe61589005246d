import { type RawBuilder, sql } from 'kysely';

/**
 * The hour from which the statistics of monitor `m` must be rolled up again, if something has happened at these times. That is rare: an
 * incident was confirmed long after its first failure, or the clock was moved back.
 */
export function restateFrom(...times: RawBuilder<Date | null>[]): RawBuilder<Date | null> {
  const rolledUp = times.map((time) => {
    const hour = sql`date_trunc('hour', ${time}, 'UTC')`;
    return sql`case when ${hour} < (select hour from roll_up_progress) then ${hour} end`;
  });
  return sql<Date | null>`least(m.restate_from, ${sql.join(rolledUp)})`;
}
