import { sql } from 'kysely';
import type { operations } from '../../../generated/types/monitoring.ts';
import { prepareSelect } from '../../db/rows.ts';
import { prepare } from '../../db/statement.ts';
import { updateTable } from '../../db/tables.ts';
import type { UserDatabase } from '../../db/user-database.ts';
import { NotFound, ProblemError } from '../../errors.ts';
import type { Handlers } from '../../http/operations.ts';
import { pageMeta } from '../../http/paging.ts';
import { cancelAlertsOf } from '../alerts/cancel-alerts.ts';
import { MonitorEntity } from '../monitors/monitor.entity.ts';
import { IncidentEntity } from './incident.entity.ts';
import { selectPage, selectPageOfMonitor } from './incident.list.ts';
import { incidentView } from './incident.view.ts';

type IncidentOperations = Pick<operations, 'listIncidents' | 'listAllIncidents' | 'acknowledgeIncident'>;

const selectMonitor = prepareSelect(MonitorEntity);
const selectIncident = prepareSelect(IncidentEntity);
const acknowledge = prepare(({ id }: { id: number }) =>
  updateTable(IncidentEntity)
    .set({ acknowledged_at: sql`greatest(app_now(), started_at)` })
    .where('id', '=', id)
    .where('acknowledged_at', 'is', null)
    .where('resolved_at', 'is', null),
);

export const incidentHandlers: Handlers<IncidentOperations, UserDatabase> = {
  async listIncidents({ path, query, url }, { db }) {
    const { page, pageSize } = query;
    const [[monitor], incidents, counted] = await db.query(selectMonitor(path), ...selectPageOfMonitor(path.id, query));
    if (!monitor) throw new NotFound('Monitor', path.id);
    return { body: { data: incidents.map(incidentView), ...pageMeta(url, { page, pageSize, counted }) } };
  },

  async listAllIncidents({ query, url }, { db }) {
    const { page, pageSize } = query;
    const [incidents, counted] = await db.query(...selectPage(query));
    return { body: { data: incidents.map(incidentView), ...pageMeta(url, { page, pageSize, counted }) } };
  },

  async acknowledgeIncident({ path }, { caller: { userId }, db }) {
    // The update waits for another one of the same incident, and the second statement sees what that has changed.
    const canceled = cancelAlertsOf({ userIds: [userId], incidentIds: [path.id] }, 'acknowledged');
    const [, [incident]] = await db.query(acknowledge(path), selectIncident(path), ...canceled);
    if (!incident) throw new NotFound('Incident', path.id);
    if (incident.resolvedAt)
      throw new ProblemError('incident_resolved', 'A resolved incident cannot be acknowledged. No reminders are sent about it.');
    return { body: { data: incidentView(incident) } };
  },
};
