// Transactions of the engine that need no EntityManager.
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { createUser } from '../../src/accounts/users.ts';
import type { Database } from '../../src/db/database.ts';
import { createDatabase } from '../support/database.ts';
import { sql } from '../support/statement.ts';

let database: Database;
let [ada, ben] = [0, 0];

beforeAll(async () => {
  database = await createDatabase();
  [ada = 0, ben = 0] = [await createUser(database, 'ada@example.com', undefined), await createUser(database, 'ben@example.com', undefined)];
  for (const user of [ada, ben]) {
    await database.query(user)(sql(`insert into monitors (user_id, friendly_name, url, target_host) values ($1, 'M', 'x', 'x')`, [user]));
  }
});
afterEach(() => database.engineTransaction((query) => query(setFailures(ada, 0), setFailures(ben, 0))));
afterAll(() => database.close());

const setFailures = (userId: number, failures: number) =>
  sql<{ id: number }>('update monitors set failures = $2 where user_id = $1 returning id', [userId, failures]);
const failures = sql<{ failures: number }>('select failures from monitors order by user_id');
const storedFailures = async () => (await database.engineTransaction((query) => query(failures)))[0].map((row) => row.failures);
const role = sql<{ role: string }>('select current_user::text as role');

test('it runs as the engine, which sees the rows of all users, and returns what its work returns', async () => {
  expect(await database.engineTransaction((query) => query(role, failures))).toEqual([
    [{ role: 'sitekeeper_engine' }],
    [{ failures: 0 }, { failures: 0 }],
  ]);
  expect(await database.engineTransaction(async () => 'no statement')).toBe('no statement');
});

test('the role is reset after it', async () => {
  const read = () => database.query()(role);
  await Promise.all(Array.from({ length: 10 }, () => database.engineTransaction((query) => query(role))));
  expect(await Promise.all(Array.from({ length: 10 }, read))).toEqual(Array(10).fill([[{ role: 'sitekeeper_app' }]]));
});

test('statements that depend on results of earlier ones are committed together', async () => {
  await database.engineTransaction(async (query) => {
    const [updated] = await query(setFailures(ada, 1));
    await query(setFailures(ben, 1 + updated.length), role);
  });
  expect(await storedFailures()).toEqual([1, 2]);
});

test('if its work fails after some statements, none has an effect, and the connection stays usable', async () => {
  for (let round = 0; round < 12; round++) {
    const failing = database.engineTransaction(async (query) => {
      await query(setFailures(ada, 1));
      throw new Error('changed its mind');
    });
    await expect(failing).rejects.toThrow('changed its mind');
  }
  expect(await storedFailures()).toEqual([0, 0]);
});

test.each([
  ['violates a constraint', () => sql('update monitors set failures = null'), /null value/],
  ['is invalid', () => sql('select nothing'), /column "nothing" does not exist/],
])('a statement that %s undoes those before it, every time, and later transactions work', async (_, failingStatement, message) => {
  for (let round = 0; round < 12; round++) {
    const failing = database.engineTransaction(async (query) => {
      await query(setFailures(ada, 1));
      await query(setFailures(ben, 1), failingStatement());
    });
    await expect(failing).rejects.toThrow(message);
    await expect(database.engineTransaction((query) => query(setFailures(ben, 1), failingStatement()))).rejects.toThrow(message);
  }
  expect(await storedFailures()).toEqual([0, 0]);
});

test('work that ignores the error of a statement fails with it, because nothing was committed', async () => {
  const work = database.engineTransaction(async (query) => {
    await query(setFailures(ada, 1));
    await query(sql('select nothing')).catch(() => {});
  });
  await expect(work).rejects.toThrow('nothing');
  expect(await storedFailures()).toEqual([0, 0]);
});
