import type { operations } from '../../../generated/types/monitoring.ts';
import { selectFrom, selectPage } from '../../db/statement.ts';
import type { UserDatabase } from '../../db/user-database.ts';
import { NotFound } from '../../errors.ts';
import type { Handlers } from '../../http/operations.ts';
import { pageMeta } from '../../http/paging.ts';
import { MonitorEntity } from '../monitors/monitor.entity.ts';
import { IncidentEntity } from './incident.entity.ts';
import { incidentView } from './incident.view.ts';

/** Intervals for PostgreSQL, which uses calendar months and years. */
const windows = { '24h': '24 hours', '30d': '30 days', '6mo': '6 months', '1y': '1 year' } as const;

export const incidentHandlers: Handlers<Pick<operations, 'listIncidents'>, UserDatabase> = {
  async listIncidents({ path, query, url }, { db }) {
    const { page, pageSize } = query;
    const [[monitor], incidents, counted] = await db.query(
      selectFrom(MonitorEntity, 'where id = $1', [path.id]),
      ...selectPage(IncidentEntity, {
        // An incident that started before the window and overlaps it is included.
        where: 'monitor_id = $1 and (resolved_at is null or resolved_at > now() - $2::interval)',
        values: [path.id, windows[query.window]],
        orderBy: 'started_at desc, id desc',
        page,
        pageSize,
      }),
    );
    if (!monitor) throw new NotFound('Monitor', path.id);
    return { body: { data: incidents.map(incidentView), ...pageMeta(url, { page, pageSize, counted }) } };
  },
};
