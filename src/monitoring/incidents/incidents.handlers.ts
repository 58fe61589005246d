import { sql } from 'kysely';
import type { operations } from '../../../generated/types/monitoring.ts';
import { preparePage, prepareSelect } from '../../db/rows.ts';
import { selectFrom } from '../../db/tables.ts';
import type { UserDatabase } from '../../db/user-database.ts';
import { NotFound } from '../../errors.ts';
import type { Handlers } from '../../http/operations.ts';
import { pageMeta } from '../../http/paging.ts';
import { MonitorEntity } from '../monitors/monitor.entity.ts';
import { IncidentEntity } from './incident.entity.ts';
import { incidentView } from './incident.view.ts';

/** Intervals for PostgreSQL, which uses calendar months and years. */
const windows = { '24h': '24 hours', '30d': '30 days', '6mo': '6 months', '1y': '1 year' } as const;

const selectMonitor = prepareSelect(MonitorEntity);
const selectIncidents = preparePage((given: { monitorId: number; window: string }) =>
  selectFrom(IncidentEntity)
    .where('monitor_id', '=', given.monitorId)
    // An incident that started before the window and overlaps it is included. The time is read once, not for each row.
    .where(sql<boolean>`(resolved_at is null or resolved_at > (select app_now() - ${given.window}::interval))`)
    .orderBy('started_at', 'desc')
    .orderBy('id', 'desc'),
);

export const incidentHandlers: Handlers<Pick<operations, 'listIncidents'>, UserDatabase> = {
  async listIncidents({ path, query, url }, { db }) {
    const { page, pageSize } = query;
    const [[monitor], incidents, counted] = await db.query(
      selectMonitor(path),
      ...selectIncidents({ monitorId: path.id, window: windows[query.window], page, pageSize }),
    );
    if (!monitor) throw new NotFound('Monitor', path.id);
    return { body: { data: incidents.map(incidentView), ...pageMeta(url, { page, pageSize, counted }) } };
  },
};
