import type { SqlEntityManager } from '@mikro-orm/sql';
import { queryInTransaction } from '../../../src/db/statement.ts';
import { wakeDispatcher } from '../../../src/monitoring/wake.ts';
import { namedAlert } from '../../support/sample-event.ts';

/** Queues alerts to one provider, one for each of `count` new incidents of the monitor. The incidents are already resolved. */
export async function queueAlerts(
  em: SqlEntityManager,
  { monitorId, providerId, count, name = 'Shop' }: { monitorId: number; providerId: number; count: number; name?: string },
): Promise<void> {
  await em.execute(
    `with resolved as (
       insert into incidents (user_id, monitor_id, started_at, resolved_at, cause)
       select m.user_id, m.id, now(), now(), 'HTTP 503' from monitors m, generate_series(1, ?) where m.id = ? returning id, user_id
     )
     insert into alerts (user_id, incident_id, provider_id, kind, payload) select user_id, id, ?, ${namedAlert('?')} from resolved`,
    [count, monitorId, providerId, name],
    'run',
  );
  await queryInTransaction(em)(wakeDispatcher({}));
}
