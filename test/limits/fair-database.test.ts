import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { createUser } from '../../src/accounts/users.ts';
import type { Database } from '../../src/db/database.ts';
import type { Statement } from '../../src/db/statement.ts';
import type { RetryLaterError } from '../../src/errors.ts';
import { shareFairly } from '../../src/limits/fair-database.ts';
import { createDatabase } from '../support/database.ts';
import { sql } from '../support/statement.ts';

let opened: Database;
let database: Database;
let [ada, ben] = [0, 0];

beforeAll(async () => {
  opened = await createDatabase();
  database = shareFairly(opened);
  ada = (await createUser(opened, 'ada@example.com', undefined)) ?? 0;
  ben = (await createUser(opened, 'ben@example.com', undefined)) ?? 0;
});
afterAll(() => opened.close());

const email = sql<{ email: string }>('select email from users');
const write = sql('update websites set favorite = favorite');

// The embedded database has one connection: everything waits for a transaction.
test.runIf(process.env.TEST_DATABASE_URL)(
  'a statement runs while one user and the engine have as many transactions as they can',
  async () => {
    const { promise: end, resolve } = Promise.withResolvers<void>();
    let running = 0;
    const work = async () => {
      running++;
      await end;
    };
    const transactions = Array.from({ length: 20 }, () => [database.asUser(ada, work), database.asEngine(work)]).flat();
    for (let turn = 0; turn < 20; turn++) {
      expect(await Promise.all([database.query(ben)(email), database.query(ada)(email)])).toEqual([
        [[{ email: 'ben@example.com' }]],
        [[{ email: 'ada@example.com' }]],
      ]);
      expect(await database.query(ben)(write)).toEqual([[]]);
    }
    expect(running).toBe(3);
    expect([opened.connections().waiting, database.connections().waiting]).toEqual([0, 37]);
    resolve();
    await Promise.all(transactions);
    expect(running).toBe(40);
  },
);

test.runIf(process.env.TEST_DATABASE_URL)('a statement runs while another user has as many slow ones as they can', async () => {
  const { promise: end, resolve } = Promise.withResolvers<void>();
  const { promise: locked, resolve: lock } = Promise.withResolvers<void>();
  const holder = database.asEngine(async (em) => {
    await em.execute('select pg_advisory_xact_lock(7)');
    lock();
    await end;
  });
  await locked;
  const slow = Array.from({ length: 30 }, () => database.query(ada)(sql('select pg_advisory_xact_lock(7)')));
  for (let turn = 0; turn < 20; turn++) expect(await database.query(ben)(email)).toEqual([[{ email: 'ben@example.com' }]]);
  resolve();
  await Promise.all([holder, ...slow]);
});

test('runs 32 statements at a time; of one user 256 more can wait, for 5 seconds', async () => {
  vi.useFakeTimers();
  try {
    const started: (number | undefined)[] = [];
    const never = (userId?: number) => () => {
      started.push(userId);
      return new Promise(() => {});
    };
    const shared = shareFairly({
      ...opened,
      concurrency: 40,
      query: never as Database['query'],
      connections: () => ({ busy: 0, idle: 0, waiting: 0 }),
    });
    const failures: unknown[] = [];
    const query = (userId: number) =>
      shared
        .query(userId)(email)
        .catch((error: RetryLaterError) => failures.push(error.code));
    for (let count = 0; count < 32 + 256; count++) query(1);
    query(2);
    expect([started.length, shared.connections().waiting, failures]).toEqual([32, 257, []]);
    query(1);
    await vi.advanceTimersByTimeAsync(4900);
    expect(failures).toEqual(['rate_limited']);
    await vi.advanceTimersByTimeAsync(200);
    expect(failures).toEqual(['rate_limited', ...Array(257).fill('unavailable')]);
  } finally {
    vi.useRealTimers();
  }
});

/** Work on this database starts and never ends. What waits for it fails in the end, which does not matter. */
function endlessDatabase(concurrency: number) {
  const started: string[] = [];
  const start = (what: string) => {
    started.push(what);
    return new Promise<never>(() => {});
  };
  const shared = shareFairly({
    ...opened,
    concurrency,
    asUser: () => start('transaction'),
    query: (() => () => start('statement')) as Database['query'],
    connections: () => ({ busy: 0, idle: 0, waiting: 0 }),
  });
  return {
    shared,
    started,
    query: (userId: number, statement: Statement) =>
      void shared
        .query(userId)(statement)
        .catch(() => {}),
  };
}

test('reads do not wait behind writes, and both are counted while they wait', () => {
  const { shared, started, query } = endlessDatabase(4);
  for (let count = 0; count < 5; count++) query(1, write);
  expect([started.length, shared.connections().waiting]).toEqual([3, 2]);
  for (let count = 0; count < 4; count++) query(1, email);
  expect([started.length, shared.connections().waiting]).toEqual([6, 3]);
});

test('if there is one connection, statements and transactions take turns', () => {
  const { shared, started, query } = endlessDatabase(1);
  void shared.asUser(1, async () => {});
  query(2, email);
  expect([started, shared.connections().waiting]).toEqual([['transaction'], 1]);
});

test('a transaction of one user starts before the waiting ones of another', async () => {
  const order: string[] = [];
  const workOf = (name: string) => async () => void order.push(name);
  await Promise.all([
    ...Array.from({ length: 50 }, () => database.asUser(ada, workOf('ada'))),
    database.asUser(ben, workOf('ben')),
    database.asUser(ben, workOf('ben')),
  ]);
  expect(order.filter((name) => name === 'ada')).toHaveLength(50);
  expect(order.lastIndexOf('ben')).toBeLessThan(12);
});
