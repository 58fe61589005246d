import { createKey } from '../../src/accounts/keys.ts';
import { createUser } from '../../src/accounts/users.ts';
import { allScopes } from '../../src/auth/scopes.ts';
import { migratePostgres, openPostgres } from '../../src/db/postgres.ts';
import { entities } from '../../src/entities.ts';
import { serviceUrl } from '../support/database-url.ts';

export interface Seeded {
  userId: number;
  /** A key with every scope. */
  key: string;
  websiteId: number;
  monitorId: number;
}

const websites = 1000;
const incidents = 500;

/**
 * Migrates the database as its owner, and creates a user with 1,000 websites and a monitor with 500 incidents in a year, after
 * five others with as many rows.
 */
export async function seed(url: string): Promise<Seeded> {
  await migratePostgres(url, serviceUrl(url));
  const database = await openPostgres(serviceUrl(url), entities, { poolSize: 2 });
  try {
    for (let other = 0; other < 5; other++) await fill((await createUser(database, `other${other}@example.com`, undefined)) ?? 0);
    const userId = (await createUser(database, 'bench@example.com', undefined)) ?? 0;
    const { key } = await database.asUser(userId, (em) => createKey(em, { userId, name: 'Bench', scopes: allScopes }));
    return { userId, key, ...(await fill(userId)) };
  } finally {
    await database.close();
  }

  async function fill(userId: number) {
    const [website] = await database.asUser(userId, (em) =>
      em.execute<{ id: number }[]>(
        `insert into websites (user_id, domain) select ?, 'site-' || n || '.example.com' from generate_series(1, ?) n returning id`,
        [userId, websites],
      ),
    );
    const [monitor] = await database.asUser(userId, (em) =>
      em.execute<{ id: number }[]>(
        `insert into monitors (user_id, friendly_name, url) values (?, 'Shop', 'https://shop.example.com/') returning id`,
        [userId],
      ),
    );
    await database.asEngine((em) =>
      em.execute(
        `insert into incidents (user_id, monitor_id, started_at, resolved_at, cause, status_code)
         select ?, ?, t, t + interval '7 minutes', 'HTTP 503', 503
           from (select now() - n * interval '16 hours' as t from generate_series(1, ?) n) s`,
        [userId, monitor?.id ?? 0, incidents],
      ),
    );
    return { websiteId: website?.id ?? 0, monitorId: monitor?.id ?? 0 };
  }
}
