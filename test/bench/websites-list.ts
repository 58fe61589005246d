// How the list of websites slows down with the number of rows: a user with 1,000 websites beside one with 100,000.
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
import { databaseUrl } from '../support/database-url.ts';

type ListQuery = Parameters<typeof selectRows>[0];
type Measured = (db: UserDatabase, query: ListQuery) => Promise<unknown>;

const sizes = { small: 1000, large: 100_000 };
const allowedRatio = 1.3;
const budgetMs = 30_000;

const firstPage: ListQuery = { search_by: 'domain', sort_by: 'id', sort: 'desc', per_page: 10, page: 1 };
const rows: Measured = (db, query) => db.query(selectRows(query, 0));
const count: Measured = (db, query) => db.query(countMatches(query));

const cases: { name: string; query: ListQuery; run: Measured; rounds: number; bounded?: boolean }[] = [
  { name: 'rows of page 1 by id', query: firstPage, run: rows, rounds: 500, bounded: true },
  { name: 'rows of page 1 by domain', query: { ...firstPage, sort_by: 'domain', sort: 'asc' }, run: rows, rounds: 500, bounded: true },
  { name: 'exact count, no filter', query: firstPage, run: count, rounds: 500 },
  { name: 'exact count of favorites', query: { ...firstPage, favorite: true }, run: count, rounds: 100 },
  { name: 'exact count of a search', query: { ...firstPage, search: 'abc' }, run: count, rounds: 50 },
  { name: 'search that finds many, whole', query: { ...firstPage, search: 'example' }, run: findPage, rounds: 50 },
  { name: 'search that finds few, whole', query: { ...firstPage, search: 'abcde' }, run: findPage, rounds: 50 },
  { name: 'page 1,000 (small: 10), whole', query: { ...firstPage, page: 1000 }, run: findPage, rounds: 50 },
  { name: 'page 5,000 (small: 50), whole', query: { ...firstPage, page: 5000 }, run: findPage, rounds: 50 },
  { name: 'last page, whole', query: { ...firstPage, page: 10_000 }, run: findPage, rounds: 50 },
];

const server = process.env.TEST_DATABASE_URL;
if (!server) throw new Error('TEST_DATABASE_URL names no PostgreSQL server. Run this with .ci/with-postgres.');
const name = `sitekeeper_bench_${process.pid}`;
const url = databaseUrl(server, name);

await onServer(server, `create database ${name}`);
try {
  await migratePostgres(url, url);
  const database = await openPostgres(url, entities, { poolSize: 1 });
  try {
    const small = await seed(database, sizes.small);
    const large = await seed(database, sizes.large);
    await onServer(url, 'vacuum analyze websites');
    await measure(database, small, large);
  } finally {
    await database.close();
  }
} finally {
  await onServer(server, `drop database ${name} with (force)`);
}

async function measure(database: Database, small: number, large: number) {
  const until = performance.now() + budgetMs;
  console.log(`| median in ms | ${sizes.small} websites | ${sizes.large} websites | ratio |\n|---|---|---|---|`);
  for (const { name, query, run, rounds, bounded } of cases) {
    // As far into the smaller list, in proportion.
    const smallQuery = { ...query, page: Math.max(1, Math.ceil((query.page * sizes.small) / sizes.large)) };
    const times: [number[], number[]] = [[], []];
    for (let round = -10; round < rounds && performance.now() < until; round++) {
      const both = [await timed(database, small, run, smallQuery), await timed(database, large, run, query)] as const;
      if (round < 0) continue; // warming up
      times[0].push(both[0]);
      times[1].push(both[1]);
    }
    const [few, many] = [median(times[0]), median(times[1])];
    const ratio = many / few;
    const isOver = bounded && ratio > allowedRatio;
    if (isOver) process.exitCode = 1;
    console.log(`| ${name} | ${few.toFixed(2)} | ${many.toFixed(2)} | ${ratio.toFixed(2)}${isOver ? ` over ${allowedRatio}` : ''} |`);
  }
}

async function timed(database: Database, userId: number, run: Measured, query: ListQuery): Promise<number> {
  const start = performance.now();
  await run(userDatabase(database, userId), query);
  return performance.now() - start;
}

function median(times: number[]): number {
  return times.toSorted((one, other) => one - other)[times.length >> 1] ?? Number.NaN;
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

async function onServer(at: string, sql: string) {
  const client = new pg.Client({ connectionString: at });
  await client.connect();
  try {
    await client.query(sql);
  } finally {
    await client.end();
  }
}
