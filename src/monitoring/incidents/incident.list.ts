import { type RawBuilder, sql } from 'kysely';
import type { operations } from '../../../generated/types/monitoring.ts';
import { preparePage } from '../../db/rows.ts';
import { prepare } from '../../db/statement.ts';
import { selectFrom, tables } from '../../db/tables.ts';
import type { Input } from '../../http/operations.ts';
import { IncidentEntity } from './incident.entity.ts';

type ListQuery = Input<operations['listAllIncidents']>['query'];
type Filter = { window: string; status: ListQuery['status'] };

/** Intervals for PostgreSQL, which uses calendar months and years. */
const intervals: Record<ListQuery['window'], string> = { '24h': '24 hours', '30d': '30 days', '6mo': '6 months', '1y': '1 year' };

const selectOfMonitor = preparePage((given: { monitorId: number; window: string }) =>
  selectFrom(IncidentEntity)
    .where('monitor_id', '=', given.monitorId)
    .where(overlaps(given.window))
    .orderBy('started_at', 'desc')
    .orderBy('id', 'desc'),
);

const matching = (given: Filter) =>
  tables<typeof IncidentEntity>()
    .selectFrom('incidents')
    .where(overlaps(given.window))
    .where(sql<boolean>`(${given.status}::text is null or (${given.status} = 'open') = (resolved_at is null))`);

/** The ids on the page are found in the index incidents_newest alone, so that only the incidents on it are read from the table. */
const selectNewest = prepare((given: Filter & { limit: number; offset: number }) => {
  const ids = matching(given).select('id').orderBy('started_at', 'desc').orderBy('id', 'desc').limit(given.limit).offset(given.offset);
  return selectFrom(IncidentEntity).where('id', 'in', ids).orderBy('started_at', 'desc').orderBy('id', 'desc');
});

const countMatching = prepare((given: Filter) => matching(given).select(sql<number>`count(*)::int`.as('total')));

/** Selects a page of the incidents of one monitor, and the number of incidents on all pages. */
export function selectPageOfMonitor(monitorId: number, { window, page, pageSize }: Omit<ListQuery, 'status'>) {
  return selectOfMonitor({ monitorId, window: intervals[window], page, pageSize });
}

/** Selects a page of the user's incidents, and the number of incidents on all pages. */
export function selectPage({ window, status, page, pageSize }: ListQuery) {
  const filter = { window: intervals[window], status };
  return [selectNewest({ ...filter, limit: pageSize, offset: (page - 1) * pageSize }), countMatching(filter)] as const;
}

/** An incident that started before the window and overlaps it is included. The time is read once, not for each row. */
function overlaps(window: string): RawBuilder<boolean> {
  return sql<boolean>`(resolved_at is null or resolved_at > (select app_now() - ${window}::interval))`;
}
