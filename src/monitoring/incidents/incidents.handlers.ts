import { raw } from '@mikro-orm/core';
import type { operations } from '../../../generated/types/monitoring.ts';
import { findOwn } from '../../db/find-own.ts';
import type { Handlers } from '../../http/operations.ts';
import { pageOf } from '../../paging.ts';
import { MonitorEntity } from '../monitors/monitor.entity.ts';
import { IncidentEntity } from './incident.entity.ts';
import { incidentView } from './incident.view.ts';

/** As PostgreSQL counts them: months and years are those of the calendar. */
const windows = { '24h': '24 hours', '30d': '30 days', '6mo': '6 months', '1y': '1 year' } as const;

export const incidentHandlers: Handlers<Pick<operations, 'listIncidents'>> = {
  async listIncidents({ path, query, url }, { asUser }) {
    const { page, pageSize } = query;
    const [incidents, total] = await asUser(async (em) => {
      await findOwn(em, MonitorEntity, path.id);
      const since = raw(`now() - interval '${windows[query.window]}'`);
      // An outage that began before the window and reaches into it counts.
      return em.findAndCount(
        IncidentEntity,
        { monitorId: path.id, $or: [{ resolvedAt: null }, { resolvedAt: { $gt: since } }] },
        { orderBy: { startedAt: 'desc', id: 'desc' }, limit: pageSize, offset: (page - 1) * pageSize },
      );
    });
    return { body: { data: incidents.map(incidentView), ...pageOf(url, { page, pageSize, total }) } };
  },
};
