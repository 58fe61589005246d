import { type RawBuilder, sql } from 'kysely';
import type { components } from '../../../generated/types/monitoring.ts';
import { prepare, type Query } from '../../db/statement.ts';
import { tables } from '../../db/tables.ts';
import type { IncidentEntity } from '../incidents/incident.entity.ts';
import type { MonitorEntity } from '../monitors/monitor.entity.ts';
import { type Aggregate, addCounts, emptyAggregate } from './aggregate.ts';
import type { Chunk } from './chunk.ts';
import { dayChunks, hourChunks, selectChunks, toChunk, totalsId } from './chunk-rows.ts';
import { certainEnd } from './observation.ts';
import { hourMs, startOfDay, startOfHour, startOfMonth, starts } from './periods.ts';
import { rolledUntil, selectProgress } from './progress.ts';
import { uptimePercent } from './statistics.view.ts';
import { bucketsOf } from './windows.ts';

// The sums of a user are stored for every hour and day, so that the overview does not depend on the number of monitors, but for the time
// since the last hour that was rolled up.

type Overview = components['schemas']['Overview'];

const db = tables<typeof MonitorEntity | typeof IncidentEntity>();

const countOfStatus = (status: string) => sql<number>`(count(*) filter (where status = ${sql.lit(status)}))::int`.as(status);

/** How much of the observed time of a monitor lies between two times, in milliseconds. */
function observedMs(from: RawBuilder<unknown>, to: RawBuilder<unknown>): RawBuilder<number> {
  const inPeriod = sql`tstzmultirange(tstzrange(${from}, greatest(${from}, ${to})))`;
  return sql<number>`(case when observed_since is null then 0 else
        greatest(0, extract(epoch from least(${certainEnd}, ${to}) - greatest(observed_since, ${from}))) end
    + case when observed_before is null then 0 else
        (select coalesce(sum(extract(epoch from upper(period) - lower(period))), 0) from unnest(observed_before * ${inPeriod}) as period)
      end)::float8 * 1000`;
}

interface Since {
  /** The time since then is calculated from the details, or since the last hour that was rolled up, if that is later. */
  from: Date;
}

const sinceOf = ({ from }: Since) => sql<Date>`greatest(${rolledUntil}, ${from}::timestamptz)`;
/** Each statement sees what has been committed before it, so a roll-up may come between two of them. */
const rolledUntilMs = sql<number>`(extract(epoch from ${rolledUntil}) * 1000)::float8`.as('rolledUntilMs');

const selectMonitors = prepare((given: Since) =>
  db
    .selectFrom('monitors')
    .select([sql<number>`count(*)::int`.as('total'), countOfStatus('up'), countOfStatus('down'), countOfStatus('pending')])
    .select([countOfStatus('paused'), sql<number>`coalesce(sum(${observedMs(sinceOf(given), sql`app_now()`)}), 0)`.as('observedMs')])
    .select(rolledUntilMs)
    .$castTo<Overview['monitors'] & { observedMs: number; rolledUntilMs: number }>(),
);

/** Open incidents, and those that were resolved lately. Each has an index. */
const selectIncidents = prepare((given: Since) => {
  const found = db.selectFrom('incidents').select(['user_id', 'monitor_id', 'started_at', 'resolved_at']);
  const recent = found.where('resolved_at', 'is', null).unionAll(found.where('resolved_at', '>', sinceOf(given)));
  const down = observedMs(sql`greatest(i.started_at, ${sinceOf(given)})`, sql`coalesce(i.resolved_at, app_now())`);
  return db
    .selectFrom(recent.as('i'))
    .innerJoin('monitors as m', (join) => join.onRef('m.user_id', '=', 'i.user_id').onRef('m.id', '=', 'i.monitor_id'))
    .select([
      sql<number>`(count(*) filter (where i.resolved_at is null))::int`.as('open'),
      sql<number>`coalesce(sum(${down}), 0)`.as('downMs'),
    ])
    .select(rolledUntilMs);
});

const windows = ['24h', '7d', '30d'] as const;

/** Returns how all monitors of the user are and have been. `nowMs` is the time of this process. */
export async function readOverview(query: Query, userId: number, nowMs: number): Promise<Overview> {
  const last = await read(query, userId, '24h', nowMs);
  // Usually the details begin within the last 24 hours, and are the same for all windows.
  const isBehind = last.hourMs < fromOf('24h', nowMs);
  const uptime: [string, number | null][] = [];
  for (const window of windows) {
    const found = isBehind ? await read(query, userId, window, nowMs) : last;
    uptime.push([window, uptimePercent(sumOf(window, found))]);
  }
  return { monitors: last.counts, open_incidents: last.open, uptime_percent: Object.fromEntries(uptime) as Overview['uptime_percent'] };
}

const attempts = 5;

/** Reads what the windows need, with the details since the start of one of them. It is repeated if hours are rolled up meanwhile. */
async function read(query: Query, userId: number, window: (typeof windows)[number], nowMs: number) {
  const totals = [{ userId, monitorId: totalsId }];
  const since = { from: new Date(fromOf(window, nowMs)) };
  for (let attempt = 1; ; attempt++) {
    const [[progress], [monitors], [incidents], hourRows, dayRows] = await query(
      selectProgress({}),
      selectMonitors(since),
      selectIncidents(since),
      selectChunks(hourChunks, totals, starts(startOfDay, fromOf('7d', nowMs), nowMs)),
      selectChunks(dayChunks, totals, starts(startOfMonth, fromOf('30d', nowMs), nowMs)),
    );
    if (!progress || !monitors || !incidents) throw new Error('An aggregate returned no row.');
    const isConsistent = [monitors, incidents].every((row) => row.rolledUntilMs === progress.hourMs);
    if (!isConsistent && attempt < attempts) continue;
    const { observedMs, rolledUntilMs: _, ...counts } = monitors;
    return {
      ...progress,
      counts,
      open: incidents.open,
      live: { ...emptyAggregate, observedMs, downMs: incidents.downMs },
      hours: new Map(hourRows.map(toChunk).map(({ startMs, chunk }) => [startMs, chunk])),
      days: new Map(dayRows.map(toChunk).map(({ startMs, chunk }) => [startMs, chunk])),
    };
  }
}

function fromOf(window: (typeof windows)[number], nowMs: number): number {
  return bucketsOf(window, nowMs).ranges[0]?.fromMs ?? nowMs;
}

interface Sums {
  /** By the start of the day or month. */
  hours: Map<number, Chunk>;
  days: Map<number, Chunk>;
  /** What has happened since the last hour that was rolled up. */
  live: Aggregate;
  hourMs: number;
  nowMs: number;
}

function sumOf(window: (typeof windows)[number], { hours, days, live, hourMs: rolledUntilMs, nowMs }: Sums): Aggregate {
  const { unit, ranges } = bucketsOf(window, nowMs);
  let sum = live;
  for (const { fromMs, toMs } of ranges) {
    const day = unit === 'day' && toMs <= rolledUntilMs;
    if (day) {
      sum = addCounts(sum, days.get(startOfMonth(fromMs))?.get(dayChunks.numberOf(fromMs)) ?? emptyAggregate);
      continue;
    }
    for (let ms = startOfHour(fromMs); ms < Math.min(toMs, rolledUntilMs); ms += hourMs) {
      sum = addCounts(sum, hours.get(startOfDay(ms))?.get(hourChunks.numberOf(ms)) ?? emptyAggregate);
    }
  }
  return sum;
}
