import { sql } from 'kysely';
import { jsonRows } from '../../db/json-rows.ts';
import { prepare, type Query } from '../../db/statement.ts';
import { tables } from '../../db/tables.ts';
import type { CheckLogEntity } from './check-log.entity.ts';
import { rings, startOfHour } from './periods.ts';
import { describeFailure, descriptionHead, encodeCheck, type SingleCheck } from './single-check.ts';

export interface RecordedCheck extends SingleCheck {
  userId: number;
  monitorId: number;
}

/** Adds checks to the logs of their hours: one check of each monitor, whose row the transaction has locked. */
export async function appendChecks(query: Query, checks: RecordedCheck[]): Promise<void> {
  for (const [hourMs, ofHour] of Map.groupBy(checks, ({ checkedAtMs }) => startOfHour(checkedAtMs))) {
    const rows = JSON.stringify(ofHour.map((check) => toRow(check, hourMs)));
    await query(appendToLogs({ rows, hour: new Date(hourMs), slot: rings.check_logs.slotOf(hourMs) }));
  }
}

/** A cause is cut, because each change of it is stored. */
const maxCauseLength = 200;

function toRow({ userId, monitorId, ...check }: RecordedCheck, hourMs: number) {
  const cause = check.failure?.cause.slice(0, maxCauseLength).toWellFormed();
  const failure = check.failure && { ...check.failure, cause: cause ?? '' };
  return {
    user_id: userId,
    monitor_id: monitorId,
    bytes: encodeCheck({ ...check, failure }, hourMs).toString('hex'),
    failure: failure && describeFailure(failure),
  };
}

/** Far more than a monitor needs that is checked every 30 seconds. A heartbeat can come every second. */
const maxBytes = sql.lit(8000);
const isFull = sql<boolean>`(octet_length(check_logs.checks) >= ${maxBytes})`;
/** A failure that is the same as the one before in the hour is not described again. */
const appended = sql<Buffer>`case when excluded.last_failure = check_logs.last_failure
  then substring(excluded.checks from ${sql.lit(descriptionHead + 1)} + octet_length(excluded.last_failure)) else excluded.checks end`;

/**
 * An upsert always finds rows by the index. An update with a join would be a little faster, but its plan depends on statistics, and a
 * partition that has just been emptied has none.
 */
const appendToLogs = prepare((given: { rows: string; hour: Date; slot: number }) =>
  tables<typeof CheckLogEntity>()
    .insertInto('check_logs')
    .columns(['hour', 'monitor_id', 'user_id', 'slot', 'checks', 'last_failure'])
    .expression(
      tables()
        .selectFrom(jsonRows(given.rows, 'r', { user_id: 'bigint', monitor_id: 'bigint', bytes: 'text', failure: 'text' }))
        .select([sql<Date>`${given.hour}::timestamptz`.as('hour'), 'r.monitor_id', 'r.user_id'])
        .select([sql<number>`${given.slot}::smallint`.as('slot'), sql<Buffer>`decode(r.bytes, 'hex')`.as('checks')])
        .select('r.failure as last_failure'),
    )
    .onConflict((conflict) =>
      conflict.columns(['hour', 'monitor_id', 'user_id', 'slot']).doUpdateSet({
        checks: sql`case when ${isFull} then check_logs.checks else check_logs.checks || ${appended} end`,
        last_failure: sql`case when ${isFull} then check_logs.last_failure else coalesce(excluded.last_failure, check_logs.last_failure) end`,
        more_successes: sql`check_logs.more_successes + case when ${isFull} and excluded.last_failure is null then 1 else 0 end`,
        more_failures: sql`check_logs.more_failures + case when ${isFull} and excluded.last_failure is not null then 1 else 0 end`,
      }),
    ),
);
