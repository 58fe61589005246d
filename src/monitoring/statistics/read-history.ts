import { sql } from 'kysely';
import { prepare, type Query } from '../../db/statement.ts';
import { tables } from '../../db/tables.ts';
import type { IncidentEntity } from '../incidents/incident.entity.ts';
import type { MonitorEntity } from '../monitors/monitor.entity.ts';
import type { CheckLogEntity } from './check-log.entity.ts';
import type { History } from './history.ts';
import { observationColumns } from './observation.ts';
import { rings } from './periods.ts';
import { decodeChecks } from './single-check.ts';
import type { TimeRange } from './time-ranges.ts';

const db = tables<typeof MonitorEntity | typeof IncidentEntity | typeof CheckLogEntity>();

interface Wanted {
  monitorIds: number[];
  /** The starts of the hours whose checks are wanted. */
  hours: number[];
  /** Incidents that ended before are left out, */
  incidentsFromMs: number;
  /** but for one that was open at this time, if it is given. */
  windowFromMs?: number;
}

const anyOf = (ids: number[]) => sql<number>`any (${ids}::bigint[])`;
const epochMs = (column: string) => sql<number>`(extract(epoch from ${sql.ref(column)}) * 1000)::float8`;

const selectObservations = prepare(({ monitorIds }: { monitorIds: number[] }) =>
  db.selectFrom('monitors').select('id').select(observationColumns).where('id', '=', anyOf(monitorIds)),
);

/** The hours come first in the index, so they are listed: it has the rows of all monitors of an hour together. */
const selectLogs = prepare((given: { monitorIds: number[]; hours: string[]; slots: number[] }) =>
  db
    .selectFrom('monitors as m')
    .innerJoin('check_logs as l', (join) => join.onRef('l.user_id', '=', 'm.user_id').onRef('l.monitor_id', '=', 'm.id'))
    .select(['l.monitor_id as monitorId', epochMs('l.hour').as('hourMs'), 'l.checks', 'l.more_successes as moreSuccesses'])
    .select('l.more_failures as moreFailures')
    .where('m.id', '=', anyOf(given.monitorIds))
    .where('l.hour', '=', sql<Date>`any (${given.hours}::timestamptz[])`)
    .where('l.slot', '=', sql<number>`any (${given.slots}::smallint[])`),
);

/** Incidents of a monitor do not overlap, so of those that began before the time only the last one can have ended after it. */
const selectIncidents = prepare((given: { monitorIds: number[]; from: Date; windowFrom: Date }) => {
  const ofMonitor = db
    .selectFrom('incidents as i')
    .select(['i.id', 'i.started_at', 'i.resolved_at'])
    .whereRef('i.user_id', '=', sql.ref('m.user_id'))
    .whereRef('i.monitor_id', '=', sql.ref('m.id'));
  const openAt = (time: Date) =>
    db
      .selectFrom(
        ofMonitor.where('i.started_at', '<', time).orderBy('i.started_at', 'desc').orderBy('i.id', 'desc').limit(sql.lit(1)).as('last'),
      )
      .selectAll()
      .where(sql<boolean>`coalesce(resolved_at > ${time}, true)`);
  return db
    .selectFrom('monitors as m')
    .crossJoinLateral(
      ofMonitor.where('i.started_at', '>=', given.from).union(openAt(given.from)).union(openAt(given.windowFrom)).as('found'),
    )
    .select([
      'm.id as monitorId',
      epochMs('found.started_at').as('fromMs'),
      epochMs('found.resolved_at').$castTo<number | null>().as('toMs'),
    ])
    .where('m.id', '=', anyOf(given.monitorIds));
});

/** The statements that read the history of monitors, for `toHistories`. */
export function historyStatements({ monitorIds, hours, incidentsFromMs, windowFromMs = incidentsFromMs }: Wanted) {
  const slots = [...new Set(hours.map(rings.check_logs.slotOf))];
  return [
    selectObservations({ monitorIds }),
    selectLogs({ monitorIds, hours: hours.map((ms) => new Date(ms).toISOString()), slots }),
    selectIncidents({ monitorIds, from: new Date(incidentsFromMs), windowFrom: new Date(windowFromMs) }),
  ] as const;
}

type RowsOf<Prepared extends (given: never) => { row?: unknown }> = NonNullable<ReturnType<Prepared>['row']>[];
type Observations = RowsOf<typeof selectObservations>;

/** Returns the history of each monitor that exists. */
export function toHistories(
  observations: Observations,
  logs: RowsOf<typeof selectLogs>,
  incidents: RowsOf<typeof selectIncidents>,
): Map<number, History> {
  const histories = new Map<number, History>(
    observations.map(({ id, ...observation }) => [id, { observed: observedRanges(observation), incidents: [], logs: new Map() }]),
  );
  for (const { monitorId, fromMs, toMs } of incidents) {
    histories.get(monitorId)?.incidents.push({ fromMs, toMs: toMs ?? Number.POSITIVE_INFINITY });
  }
  for (const { monitorId, hourMs, checks, moreSuccesses, moreFailures } of logs) {
    histories.get(monitorId)?.logs.set(hourMs, { checks: decodeChecks(checks, hourMs), moreSuccesses, moreFailures });
  }
  return histories;
}

export async function readHistories(query: Query, wanted: Wanted): Promise<Map<number, History>> {
  const [observations, logs, incidents] = await query(...historyStatements(wanted));
  return toHistories(observations, logs, incidents);
}

function observedRanges({ observedFromMs, observedToMs, observedBefore }: Omit<Observations[number], 'id'>): TimeRange[] {
  const before = (observedBefore ?? []).map(([fromMs, toMs]) => ({ fromMs, toMs }));
  return observedFromMs === null || observedToMs === null ? before : [...before, { fromMs: observedFromMs, toMs: observedToMs }];
}
