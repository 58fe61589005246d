import type { Database } from '../../../src/db/database.ts';
import { queryInTransaction } from '../../../src/db/statement.ts';
import { wakeDispatcher } from '../../../src/monitoring/wake.ts';
import { namedAlert } from '../../support/sample-event.ts';

interface Outages {
  userId: number;
  /** The incidents are those of this monitor. The events say that they are those of monitors that are called M1, M2, and so on. */
  monitorId: number;
  providerId: number;
  count: number;
  type?: 'monitor.down' | 'monitor.recovered';
}

/** Queues alerts about as many monitors in one transaction. */
export function queueOutages(database: Database, { userId, monitorId, providerId, count, type = 'monitor.down' }: Outages) {
  return database.asEngine(async (em) => {
    await em.execute(
      `with resolved as (
         insert into incidents (user_id, monitor_id, started_at, resolved_at, cause)
         select ?, ?, app_now(), app_now(), 'HTTP 503' from generate_series(1, ?) returning id, user_id
       ), numbered as (select *, row_number() over (order by id) as n from resolved),
       named(id, user_id, n, kind, payload) as (select id, user_id, n, ${namedAlert(`'M' || n`, type)} from numbered)
       insert into alerts (user_id, incident_id, provider_id, kind, payload)
       select user_id, id, ?, kind, jsonb_set(payload, '{data,monitor,id}', to_jsonb(n)) from named`,
      [userId, monitorId, count, providerId],
      'run',
    );
    await queryInTransaction(em)(wakeDispatcher({}));
  });
}
