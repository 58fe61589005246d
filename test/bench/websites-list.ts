// Compares the list of websites of a user with 1,000 websites and of a user with 100,000.
//   .ci/with-postgres npm run bench:websites
// Fails if page 1 of the larger list takes more than 1.3 times as long.
import { performance } from 'node:perf_hooks';
import pg from 'pg';
import { createUser } from '../../src/accounts/users.ts';
import type { Database } from '../../src/db/database.ts';
import { migratePostgres, openPostgres } from '../../src/db/postgres.ts';
import { type UserDatabase, userDatabase } from '../../src/db/user-database.ts';
import { entities } from '../../src/entities.ts';
import { countMatches, findPage, selectRows } from '../../src/websites/website.list.ts';
import { serviceUrl } from '../support/database-url.ts';
import { median } from './median.ts';
import { withDatabase } from './with-database.ts';

type ListQuery = Parameters<typeof selectRows>[0];
type Measurement = (db: UserDatabase, query: ListQuery) => Promise<unknown>;

const sizes = { small: 1000, large: 100_000 };
const allowedRatio = 1.3;
const budgetMs = 30_000;

const firstPage: ListQuery = { search_by: 'domain', sort_by: 'id', sort: 'desc', per_page: 10, page: 1 };
const rows: Measurement = (db, query) => db.query(selectRows(query, 0));
const count: Measurement = (db, query) => db.query(countMatches(query));

const cases: { name: string; query: ListQuery; run: Measurement; rounds: number; bounded?: boolean }[] = [
  { name: 'rows of page 1 by id', query: firstPage, run: rows, rounds: 500, bounded: true },
  { name: 'rows of page 1 by domain', query: { ...firstPage, sort_by: 'domain', sort: 'asc' }, run: rows, rounds: 500, bounded: true },
  { name: 'exact count, no filter', query: firstPage, run: count, rounds: 500 },
  { name: 'exact count of favorites', query: { ...firstPage, favorite: true }, run: count, rounds: 100 },
  { name: 'exact count of a search', query: { ...firstPage, search: 'abc' }, run: count, rounds: 50 },
  { name: 'search with many matches, all statements', query: { ...firstPage, search: 'example' }, run: findPage, rounds: 50 },
  { name: 'search with few matches, all statements', query: { ...firstPage, search: 'abcde' }, run: findPage, rounds: 50 },
  { name: 'page 1,000 (small: 10), all statements', query: { ...firstPage, page: 1000 }, run: findPage, rounds: 50 },
  { name: 'page 5,000 (small: 50), all statements', query: { ...firstPage, page: 5000 }, run: findPage, rounds: 50 },
  { name: 'last page, all statements', query: { ...firstPage, page: 10_000 }, run: findPage, rounds: 50 },
];

await withDatabase('bench_websites', async (url) => {
  await migratePostgres(url, serviceUrl(url));
  const database = await openPostgres(serviceUrl(url), entities, { poolSize: 1 });
  try {
    const small = await seed(database, sizes.small);
    const large = await seed(database, sizes.large);
    await vacuum(url);
    await measure(database, small, large);
  } finally {
    await database.close();
  }
});

async function measure(database: Database, small: number, large: number) {
  const until = performance.now() + budgetMs;
  console.log(`| median in ms | ${sizes.small} websites | ${sizes.large} websites | ratio |\n|---|---|---|---|`);
  for (const { name, query, run, rounds, bounded } of cases) {
    // The page is at the same relative position in the smaller list.
    const smallQuery = { ...query, page: Math.max(1, Math.ceil((query.page * sizes.small) / sizes.large)) };
    const times: [number[], number[]] = [[], []];
    for (let round = -10; round < rounds && performance.now() < until; round++) {
      const durations = [await timed(database, small, run, smallQuery), await timed(database, large, run, query)] as const;
      if (round < 0) continue; // These rounds are the warm-up.
      times[0].push(durations[0]);
      times[1].push(durations[1]);
    }
    const [smallMs, largeMs] = [median(times[0]), median(times[1])];
    const ratio = largeMs / smallMs;
    const isOver = bounded && ratio > allowedRatio;
    if (isOver) process.exitCode = 1;
    console.log(
      `| ${name} | ${smallMs.toFixed(2)} | ${largeMs.toFixed(2)} | ${ratio.toFixed(2)}${isOver ? ` over ${allowedRatio}` : ''} |`,
    );
  }
}

async function timed(database: Database, userId: number, run: Measurement, query: ListQuery): Promise<number> {
  const start = performance.now();
  await run(userDatabase(database, userId), query);
  return performance.now() - start;
}

async function seed(database: Database, count: number): Promise<number> {
  const userId = (await createUser(database, `user-of-${count}@example.com`, undefined)) ?? 0;
  await database.asUser(userId, (em) =>
    em.execute(
      `insert into websites (user_id, domain, exclude_params, favorite)
       select ?, 'site-' || md5(n::text) || '.example.com', 'utm_source', n % 100 = 0 from generate_series(1, ?) as n`,
      [userId, count],
    ),
  );
  return userId;
}

async function vacuum(url: string) {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query('vacuum analyze websites');
  } finally {
    await client.end();
  }
}
