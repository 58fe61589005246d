import type { Database } from '../../../src/db/database.ts';
import { sampleAlert } from '../../support/sample-event.ts';
import { sql } from '../../support/statement.ts';

/** Creates users with a monitor and an email provider each, and queues an alert for each of them. Returns their ids. */
export async function queueForNewUsers(database: Database, count: number): Promise<number[]> {
  const created = await database.asAuthenticator((em) =>
    em.execute<{ id: number }[]>(`select auth_create_user('waiting-' || n || '@example.com', null) as id from generate_series(1, ?) n`, [
      count,
    ]),
  );
  const ids = created.map(({ id }) => Number(id));
  for (const id of ids) {
    await database.query(id)(
      sql(
        `with provider as (insert into providers (user_id, provider_type, settings) values ($1, 'email', '{"recipient_email":"a@example.com"}'))
         insert into monitors (user_id, friendly_name, url, is_active) values ($1, 'M', 'https://example.com/', false)`,
        [id],
      ),
    );
  }
  await database.asEngine((em) =>
    em.execute(
      `with resolved as (
         insert into incidents (user_id, monitor_id, started_at, resolved_at, cause)
         select user_id, id, app_now(), app_now(), 'HTTP 503' from monitors where user_id between ? and ? returning id, user_id
       )
       insert into alerts (user_id, incident_id, provider_id, kind, payload)
       select i.user_id, i.id, p.id, ${sampleAlert()} from resolved i join providers p using (user_id)`,
      [ids[0], ids.at(-1)],
      'run',
    ),
  );
  return ids;
}
