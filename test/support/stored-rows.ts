import type { Database } from '../../src/db/database.ts';

/**
 * Returns all rows stored for these users as text, to compare them. `last_used_at` is left out, because every request can
 * change it.
 */
export async function storedRows(database: Database, userIds: number[]): Promise<string[]> {
  const all = (await namesOfTables(database))
    .map((name) => `select '${name} ' || (to_jsonb(r) - 'last_used_at')::text as row from ${name} r`)
    .join(' union all ');
  const rows: string[] = [];
  for (const userId of userIds) {
    const own = await database.asUser(userId, (em) => em.execute<{ row: string }[]>(`${all} order by 1`));
    rows.push(...own.map(({ row }) => row));
  }
  return rows;
}

const tablesOf = new WeakMap<Database, string[]>();

/** Returns the tables that contain rows of users. They are the same for as long as the database is open. */
async function namesOfTables(database: Database): Promise<string[]> {
  const known = tablesOf.get(database);
  if (known) return known;
  const found = await database.asAuthenticator((em) =>
    em.execute<{ name: string }[]>(
      `select relname as name from pg_class
        where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and relrowsecurity and has_table_privilege(oid, 'select')`,
    ),
  );
  const names = found.map(({ name }) => name);
  tablesOf.set(database, names);
  return names;
}
