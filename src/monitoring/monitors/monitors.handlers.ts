import type { operations } from '../../../generated/types/monitoring.ts';
import { notYet } from '../../errors.ts';
import type { Handlers } from '../../http/operations.ts';
import { pageOf } from '../../paging.ts';
import { MonitorEntity } from './monitor.entity.ts';
import { monitorView } from './monitor.view.ts';

type MonitorOperations = 'listMonitors' | 'createMonitor' | 'showMonitor' | 'updateMonitor' | 'deleteMonitor' | 'checkMonitor';

export const monitorHandlers: Handlers<Pick<operations, MonitorOperations>> = {
  async listMonitors({ query, url }, { asUser }) {
    const { page, pageSize } = query;
    const [monitors, total] = await asUser((em) =>
      em.findAndCount(
        MonitorEntity,
        { ...(query.status && { status: query.status }), ...(query.type && { type: query.type }) },
        { orderBy: { id: 'desc' }, limit: pageSize, offset: (page - 1) * pageSize },
      ),
    );
    return { body: { data: monitors.map(monitorView), ...pageOf(url, { page, pageSize, total }) } };
  },

  createMonitor: notYet,
  showMonitor: notYet,
  updateMonitor: notYet,
  deleteMonitor: notYet,
  checkMonitor: notYet,
};
