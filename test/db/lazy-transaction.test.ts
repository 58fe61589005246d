import { afterAll, beforeAll, expect, test } from 'vitest';
import { createUser } from '../../src/accounts/users.ts';
import type { Database, Work } from '../../src/db/database.ts';
import { lazyTransaction } from '../../src/db/lazy-transaction.ts';
import { createDatabase } from '../support/database.ts';
import { sql } from '../support/statement.ts';
import { countTransactions } from './transaction-count.ts';

let database: Database;
let counted: ReturnType<typeof countTransactions>;
let [ada, ben] = [0, 0];

beforeAll(async () => {
  database = await createDatabase();
  counted = countTransactions(database);
  ada = (await createUser(database, 'ada@example.com', undefined)) ?? 0;
  ben = (await createUser(database, 'ben@example.com', undefined)) ?? 0;
});
afterAll(() => database.close());

const insert = (domain: string, userId = ada) => sql('insert into websites (user_id, domain) values ($1, $2)', [userId, domain]);
const write = (domain: string) => (em: Parameters<Work<unknown>>[0]) =>
  em.execute('insert into websites (user_id, domain) values (?, ?)', [ada, domain], 'run');
const stored = async (search: string) =>
  (
    await database.query(ada)(sql<{ domain: string }>('select domain from websites where strpos(domain, $1) > 0 order by id', [search]))
  )[0].map(({ domain }) => domain);
const begin = (first: Work<void> = async () => {}) => lazyTransaction(counted.database, ada, first);
const transactions = () => ({ begun: counted.begun(), open: counted.open() });

test('begins when it is first used, and commits what was written before, during and at the end together', async () => {
  const before = transactions();
  const transaction = begin(async (em) => void (await write('a-first.example')(em)));
  expect(transactions()).toEqual(before);
  await transaction.db.query(insert('a-second.example'));
  await transaction.db.transaction(write('a-third.example'));
  expect(transactions()).toEqual({ begun: before.begun + 1, open: before.open + 1 });
  await transaction.commit(write('a-last.example'));
  expect(transactions()).toEqual({ begun: before.begun + 1, open: before.open });
  expect(await stored('a-')).toEqual(['a-first.example', 'a-second.example', 'a-third.example', 'a-last.example']);
});

test('concurrent uses share one transaction, and the first statements run once and before all others', async () => {
  const { begun } = transactions();
  const order: string[] = [];
  const transaction = begin(async (em) => {
    await em.execute('select 1');
    order.push('first');
  });
  const use = (name: string) => transaction.db.transaction(async () => void order.push(name));
  await Promise.all([use('one'), use('two')]);
  await transaction.commit(async () => void order.push('last'));
  expect([order, transactions().begun]).toEqual([['first', 'one', 'two', 'last'], begun + 1]);
});

test('commit begins the transaction if nothing has used it', async () => {
  const transaction = begin(async (em) => void (await write('b-first.example')(em)));
  await transaction.commit(write('b-last.example'));
  expect(await stored('b-')).toEqual(['b-first.example', 'b-last.example']);
});

test('rollback undoes everything, and begins nothing if nothing has begun', async () => {
  const used = begin(async (em) => void (await write('c-first.example')(em)));
  await used.db.query(insert('c-second.example'));
  await used.rollback();
  const { begun, open } = transactions();
  expect([await stored('c-'), open]).toEqual([[], 0]);
  await begin().rollback();
  expect(transactions().begun).toBe(begun);
});

test('rollback after commit changes nothing', async () => {
  const transaction = begin();
  await transaction.db.query(insert('d-kept.example'));
  await transaction.commit(async () => {});
  await transaction.rollback();
  expect(await stored('d-')).toEqual(['d-kept.example']);
});

test('an error of the first statements rejects every use and the commit, and is rolled back', async () => {
  const transaction = begin(async (em) => {
    await write('e-first.example')(em);
    throw new Error('first failed');
  });
  await expect(transaction.db.query(insert('e-second.example'))).rejects.toThrow('first failed');
  await expect(transaction.db.transaction(write('e-third.example'))).rejects.toThrow('first failed');
  await expect(transaction.commit(write('e-last.example'))).rejects.toThrow('first failed');
  await transaction.rollback();
  expect([await stored('e-'), transactions().open]).toEqual([[], 0]);
});

test('an error of a statement is reported, and rollback ends the transaction', async () => {
  const transaction = begin();
  await transaction.db.query(insert('f-first.example'));
  await expect(transaction.db.query(insert('f-first.example'))).rejects.toMatchObject({ code: '23505' });
  await transaction.rollback();
  expect([await stored('f-'), transactions().open]).toEqual([[], 0]);
});

test('an error of the last statements rejects the commit and rolls everything back', async () => {
  const transaction = begin();
  await transaction.db.query(insert('g-first.example'));
  const last = async () => {
    throw new Error('last failed');
  };
  await expect(transaction.commit(last)).rejects.toThrow('last failed');
  await transaction.rollback();
  expect([await stored('g-'), transactions().open]).toEqual([[], 0]);
});

test("sees and writes only the user's rows", async () => {
  await database.query(ben)(insert('h-ben.example', ben));
  const transaction = begin();
  const [rows] = await transaction.db.query(sql<{ domain: string }>('select domain from websites where domain = $1', ['h-ben.example']));
  expect(rows).toEqual([]);
  await expect(transaction.db.query(insert('h-injected.example', ben))).rejects.toThrow('row-level security');
  await transaction.rollback();
});
