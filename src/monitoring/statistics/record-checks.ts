import { sql } from 'kysely';
import { jsonRows } from '../../db/json-rows.ts';
import { prepare, type Query } from '../../db/statement.ts';
import { tables } from '../../db/tables.ts';
import type { CheckLogEntity } from './check-log.entity.ts';
import { rings, startOfHour } from './periods.ts';
import { encodeCheck, maxCauseLength, type SingleCheck } from './single-check.ts';

export interface RecordedCheck extends SingleCheck {
  userId: number;
  monitorId: number;
}

interface Rows {
  /** As JSON. */
  rows: string;
  hour: Date;
  slot: number;
}

/** Adds checks to the logs of their hours: one check of each monitor, whose row the transaction has locked. */
export async function appendChecks(query: Query, checks: RecordedCheck[]): Promise<void> {
  for (const [hourMs, ofHour] of Map.groupBy(checks, ({ checkedAtMs }) => startOfHour(checkedAtMs))) {
    const target = { hour: new Date(hourMs), slot: rings.check_logs.slotOf(hourMs) };
    const rows = ofHour.map((check) => toRow(check, hourMs));
    const [appended] = await query(appendToLogs({ ...target, rows: JSON.stringify(rows) }));
    if (appended.length === rows.length) continue;
    const found = new Set(appended.map(({ monitorId }) => monitorId));
    const first = rows.filter(({ monitor_id }) => !found.has(monitor_id));
    await query(insertLogs({ ...target, rows: JSON.stringify(first) }));
  }
}

function toRow({ userId, monitorId, ...check }: RecordedCheck, hourMs: number) {
  const cause = check.failure?.cause.slice(0, maxCauseLength).toWellFormed() ?? '';
  const failure = check.failure && { ...check.failure, cause };
  const encoded = { ...check, failure };
  return {
    user_id: userId,
    monitor_id: monitorId,
    bytes: encodeCheck(encoded, hourMs).toString('hex'),
    ...(failure && {
      failure: `${failure.statusCode ?? ''} ${cause}`,
      repeated: encodeCheck(encoded, hourMs, true).toString('hex'),
    }),
  };
}

const db = tables<typeof CheckLogEntity>();

/** Far more than a monitor needs that is checked every 30 seconds. A heartbeat can come every second. */
const maxBytes = sql.lit(8000);
const isFull = sql<boolean>`(octet_length(l.checks) >= ${maxBytes})`;

const newLogs = (rows: string) =>
  jsonRows(rows, 'r', { user_id: 'bigint', monitor_id: 'bigint', bytes: 'text', failure: 'text', repeated: 'text' });

const appendToLogs = prepare(({ rows, hour, slot }: Rows) =>
  db
    .updateTable('check_logs as l')
    .from(newLogs(rows))
    .set({
      checks: sql`case when ${isFull} then l.checks
        else l.checks || decode(case when r.failure = l.last_failure then r.repeated else r.bytes end, 'hex') end`,
      last_failure: sql`case when ${isFull} then l.last_failure else coalesce(r.failure, l.last_failure) end`,
      more_successes: sql`l.more_successes + case when ${isFull} and r.failure is null then 1 else 0 end`,
      more_failures: sql`l.more_failures + case when ${isFull} and r.failure is not null then 1 else 0 end`,
    })
    .where('l.slot', '=', slot)
    .where('l.hour', '=', hour)
    .whereRef('l.user_id', '=', 'r.user_id')
    .whereRef('l.monitor_id', '=', 'r.monitor_id')
    .returning('l.monitor_id as monitorId'),
);

const insertLogs = prepare(({ rows, hour, slot }: Rows) =>
  db
    .insertInto('check_logs')
    .columns(['hour', 'user_id', 'monitor_id', 'slot', 'checks', 'last_failure'])
    .expression(
      db
        .selectFrom(newLogs(rows))
        .select([sql<Date>`${hour}::timestamptz`.as('hour'), 'r.user_id', 'r.monitor_id', sql<number>`${slot}::smallint`.as('slot')])
        .select([sql<Buffer>`decode(r.bytes, 'hex')`.as('checks'), 'r.failure as last_failure']),
    ),
);
