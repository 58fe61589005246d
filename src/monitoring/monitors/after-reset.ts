import { sql } from 'kysely';
import { prepare, type Statement } from '../../db/statement.ts';
import { tables } from '../../db/tables.ts';
import { cancelAlerts, cancelWarnings } from '../alerts/cancel-alerts.ts';
import { queueEnds } from '../alerts/ends.ts';
import type { IncidentEntity } from '../incidents/incident.entity.ts';
import { wakeEngine } from '../wake.ts';
import { hasNoIncident, type MonitorEntity } from './monitor.entity.ts';

/**
 * What must follow in the transaction that changes monitors: if they were reset or are in maintenance, their open incidents are
 * resolved, what receivers keep open is ended, and alerts that were not sent are canceled. These are statements of their own, because the change may wait for the engine,
 * which opens an incident in the meantime: only a later statement sees it.
 */
export function afterReset(ids: number[]): Statement[] {
  return [
    lockIncidents({ ids }),
    cancelAlerts({ ids }),
    cancelWarnings({ ids }),
    queueEnds({ ids }),
    resolveIncidents({ ids }),
    wakeEngine({}),
  ];
}

/** The dispatcher may be queueing reminders of them, which must be seen and canceled. */
const lockIncidents = prepare(({ ids }: { ids: number[] }) =>
  tables<typeof MonitorEntity | typeof IncidentEntity>()
    .selectFrom('incidents as i')
    .innerJoin('monitors as m', 'm.id', 'i.monitor_id')
    .select('i.id')
    .where('i.monitor_id', '=', sql<number>`any (${ids}::bigint[])`)
    .where('i.resolved_at', 'is', null)
    .where(hasNoIncident)
    .orderBy('i.id')
    .forUpdate('i'),
);

const resolveIncidents = prepare(({ ids }: { ids: number[] }) =>
  tables<typeof MonitorEntity | typeof IncidentEntity>()
    .updateTable('incidents as i')
    .from('monitors as m')
    .set({ resolved_at: sql`greatest(app_now(), i.started_at)` })
    .where('i.monitor_id', '=', sql<number>`any (${ids}::bigint[])`)
    .where('i.resolved_at', 'is', null)
    .whereRef('m.id', '=', 'i.monitor_id')
    .where(hasNoIncident),
);
