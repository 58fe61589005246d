import type { operations } from '../../../generated/types/monitoring.ts';
import { selectFrom, selectPage } from '../../db/statement.ts';
import { NotFound } from '../../errors.ts';
import type { Handlers } from '../../http/operations.ts';
import { pageOf } from '../../paging.ts';
import { MonitorEntity } from '../monitors/monitor.entity.ts';
import { IncidentEntity } from './incident.entity.ts';
import { incidentView } from './incident.view.ts';

/** As PostgreSQL counts them: months and years are those of the calendar. */
const windows = { '24h': '24 hours', '30d': '30 days', '6mo': '6 months', '1y': '1 year' } as const;

export const incidentHandlers: Handlers<Pick<operations, 'listIncidents'>> = {
  async listIncidents({ path, query, url }, { ask }) {
    const { page, pageSize } = query;
    const [[monitor], incidents, counted] = await ask(
      selectFrom(MonitorEntity, 'where id = $1', [path.id]),
      ...selectPage(IncidentEntity, {
        // An outage that began before the window and reaches into it counts.
        where: 'monitor_id = $1 and (resolved_at is null or resolved_at > now() - $2::interval)',
        values: [path.id, windows[query.window]],
        orderBy: 'started_at desc, id desc',
        page,
        pageSize,
      }),
    );
    if (!monitor) throw new NotFound();
    return { body: { data: incidents.map(incidentView), ...pageOf(url, { page, pageSize, counted }) } };
  },
};
