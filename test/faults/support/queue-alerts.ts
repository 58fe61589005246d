import type { SqlEntityManager } from '@mikro-orm/sql';
import { queryInTransaction } from '../../../src/db/statement.ts';
import { wakeDispatcher } from '../../../src/monitoring/wake.ts';

/** Queues alerts to one provider, one for each of `count` new incidents of the monitor. The incidents are already resolved. */
export async function queueAlerts(
  em: SqlEntityManager,
  { monitorId, providerId, count, body = 'B' }: { monitorId: number; providerId: number; count: number; body?: string },
): Promise<void> {
  await em.execute(
    `with resolved as (
       insert into incidents (user_id, monitor_id, started_at, resolved_at, cause)
       select m.user_id, m.id, now(), now(), 'HTTP 503' from monitors m, generate_series(1, ?) where m.id = ? returning id, user_id
     )
     insert into alerts (user_id, incident_id, provider_id, kind, subject, body) select user_id, id, ?, 'down', 'S', ? from resolved`,
    [count, monitorId, providerId, body],
    'run',
  );
  await queryInTransaction(em)(wakeDispatcher({}));
}
