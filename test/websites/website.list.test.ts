// The query plans of PostgreSQL for the statement that the service sends.
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createUser } from '../../src/accounts/users.ts';
import type { Database } from '../../src/db/database.ts';
import { selectRows } from '../../src/websites/website.list.ts';
import { createDatabase } from '../support/database.ts';
import { databaseUrl } from '../support/database-url.ts';

interface Plan {
  'Node Type': string;
  'Index Name'?: string;
  'Index Cond'?: string;
  'Rows Removed by Filter'?: number;
  Plans?: Plan[];
}

const server = process.env.TEST_DATABASE_URL ?? '';

describe.runIf(server)('selectRows with 100,000 websites', () => {
  let database: Database;
  let largeUser: number;
  let smallUser: number;

  // The 100,000 rows are the oldest. With an index that does not start with the user, a scan would read the newer rows first.
  beforeAll(async () => {
    database = await createDatabase();
    largeUser = await seed('large@example.com', 100_000);
    smallUser = await seed('small@example.com', 1000);
    await seed('newer@example.com', 20_000);
  });
  afterAll(() => database.close());

  async function seed(email: string, count: number): Promise<number> {
    const userId = (await createUser(database, email, undefined)) ?? 0;
    await database.asUser(userId, (em) =>
      em.execute(
        `insert into websites (user_id, domain, favorite)
         select ?, 'site-' || md5(n::text) || '.example.com', n % 1000 = 0 from generate_series(1, ?) as n`,
        [userId, count],
      ),
    );
    return userId;
  }

  async function analyze() {
    const [{ name } = { name: '' }] = await database.asAuthenticator((em) =>
      em.execute<{ name: string }[]>('select current_database() as name'),
    );
    const owner = new pg.Client({ connectionString: databaseUrl(server, name) });
    await owner.connect();
    await owner.query('vacuum analyze websites');
    await owner.end();
  }

  type ListQuery = Partial<Parameters<typeof selectRows>[0]>;

  async function nodesOf(userId: number, options: ListQuery): Promise<Plan[]> {
    const query = { search_by: 'domain', sort_by: 'id', sort: 'desc', per_page: 10, page: 1, ...options } as const;
    const [row] = await database.asUser(userId, async (em) => {
      expect(await em.execute('select current_user as role')).toEqual([{ role: 'sitekeeper_app' }]);
      // A connection that has executed a prepared statement often enough uses a generic plan.
      await em.execute('set local plan_cache_mode = force_generic_plan');
      await em.execute(`prepare page as ${selectRows(query, 0).text}`);
      const plan = await em.execute<{ 'QUERY PLAN': [{ Plan: Plan }] }[]>('explain (analyze, format json) execute page');
      await em.execute('deallocate page');
      return plan;
    });
    const walk = (plan: Plan): Plan[] => [plan, ...(plan.Plans ?? []).flatMap(walk)];
    return row ? walk(row['QUERY PLAN'][0].Plan) : [];
  }

  const cases: [ListQuery, string][] = [
    [{ sort_by: 'id', sort: 'desc' }, 'websites_pkey'],
    [{ sort_by: 'id', sort: 'asc' }, 'websites_pkey'],
    [{ sort_by: 'domain', sort: 'desc' }, 'websites_domain_key'],
    [{ sort_by: 'domain', sort: 'asc' }, 'websites_domain_key'],
  ];

  describe.each(['before', 'after'])('%s ANALYZE', (time) => {
    beforeAll(async () => {
      if (time === 'after') await analyze();
    });

    test.each(cases)('%j reads ten entries of %s and does not sort', async (query, index) => {
      for (const userId of [largeUser, smallUser]) {
        const nodes = await nodesOf(userId, query);
        expect(nodes.map((node) => node['Node Type'])).toEqual(['Limit', 'Index Scan']);
        expect(nodes[1]).toMatchObject({ 'Index Name': index, 'Index Cond': expect.stringContaining('user_id'), 'Actual Rows': 10 });
        expect(nodes[1]?.['Rows Removed by Filter']).toBeUndefined();
      }
    });
  });

  test('uses the partial index for favorites', async () => {
    const nodes = await nodesOf(largeUser, { favorite: true });
    expect(nodes.map((node) => node['Index Name'])).toEqual([undefined, 'websites_favorites']);
  });
});
