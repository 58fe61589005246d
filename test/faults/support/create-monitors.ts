import type { Database } from '../../../src/db/database.ts';

/**
 * Creates monitors in batches, because a statement is canceled after 15 seconds. `%` in the URL is replaced by a number: on one
 * host, only 10 checks run at once.
 */
export async function createMonitors(database: Database, userId: number, url: string, count: number) {
  for (let left = count; left > 0; left -= 20_000) {
    await database.asUser(userId, (em) =>
      em.execute(
        `insert into monitors (user_id, friendly_name, url, target_host, interval_seconds, next_check_at)
         select ?, 'M', url, substring(url from '//([^:/]+)'), 86400, now() + random() * interval '3 seconds'
           from generate_series(1, ?) n, lateral (select replace(?, '%', n::text) as url) target`,
        [userId, Math.min(left, 20_000), url],
        'run',
      ),
    );
  }
}
