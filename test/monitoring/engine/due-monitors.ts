import type { SqlEntityManager } from '@mikro-orm/sql';
import type { Database } from '../../../src/db/database.ts';
import { queryInTransaction } from '../../../src/db/statement.ts';
import { type Claim, claimDueMonitors } from '../../../src/monitoring/engine/claim.ts';

/** Creates monitors that have a host each and are due now. */
export async function createMonitors(database: Database, userId: number, count: number) {
  await database.asUser(userId, (em) =>
    em.execute(
      `insert into monitors (user_id, friendly_name, url, target_host, next_check_at)
       select ?, 'M ' || n, 'https://m' || n || '.example/', 'm' || n || '.example', now() from generate_series(1, ?) n`,
      [userId, count],
    ),
  );
}

/** Creates users with one due monitor each, that of the last one on another host. Returns their ids in ascending order. */
export async function createUsersWithDueMonitor(database: Database, count: number): Promise<number[]> {
  const created = await database.asAuthenticator((em) =>
    em.execute<{ id: number }[]>(`select auth_create_user('due' || n || '@example.com', null) as id from generate_series(1, ?) n`, [count]),
  );
  const ids = created.map(({ id }) => id).sort((a, b) => a - b);
  // The policies accept only rows of the current user, so each row sets its own.
  await database.asAuthenticator((em) =>
    em.execute(
      `insert into monitors (user_id, friendly_name, url, target_host, type, next_check_at)
       select id, 'M', host, host, 'ping', app_now()
       from (select id::bigint, case when id = ? then '127.0.0.2' else '127.0.0.1' end as host from unnest(string_to_array(?, ',')) id) given
       where set_user_id(id::text) is not null`,
      [String(ids.at(-1)), ids.join()],
      'run',
    ),
  );
  return ids;
}

/** Claims up to `limit` due monitors of a user for whom no check is running. */
export async function claimOf(em: SqlEntityManager, userId: number, limit: number): Promise<Claim[]> {
  return (await claimDueMonitors(queryInTransaction(em), [{ userId, slots: limit, running: new Map() }])).claims;
}

export function makeOverdue(em: SqlEntityManager, userId: number, by = '1 minute') {
  return em.execute(`update monitors set next_check_at = now() - ?::interval where user_id = ?`, [by, userId], 'run');
}

/** Returns the seconds until the next check of each monitor. */
export async function secondsUntilDue(em: SqlEntityManager, userId: number): Promise<number[]> {
  const rows = await em.execute<{ due_in: number }[]>(
    'select extract(epoch from next_check_at - now())::float8 as due_in from monitors where user_id = ? order by id',
    [userId],
  );
  return rows.map(({ due_in }) => due_in);
}

export function succeeded(claim: Claim, responseTimeMs = 5) {
  return { claim, result: { up: true, responseTimeMs } as const, startedMs: performance.now() };
}
