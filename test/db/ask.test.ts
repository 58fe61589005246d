// Statements in one round trip: the policies hold as in any other transaction.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createUser } from '../../src/access/users.ts';
import type { Database } from '../../src/db/database.ts';
import { askIn, selectFrom, selectPage, sql } from '../../src/db/statement.ts';
import { WebsiteEntity } from '../../src/websites/website.entity.ts';
import { createDatabase } from '../support/database.ts';

let database: Database;
let [ada, ben] = [0, 0];

const insert = (userId: number, domain: string) =>
  sql<{ id: number }>('insert into websites (user_id, domain) values ($1, $2) returning id', [userId, domain]);
const domains = sql<{ domain: string }>('select domain from websites order by id');
const domainsOf = async (userId: number) => (await database.ask(userId)(domains))[0].map(({ domain }) => domain);

beforeAll(async () => {
  database = await createDatabase();
  ada = (await createUser(database, 'ada@example.com', undefined)) ?? 0;
  ben = (await createUser(database, 'ben@example.com', undefined)) ?? 0;
  await database.ask(ada)(insert(ada, 'ada.example'));
  await database.ask(ben)(insert(ben, 'ben.example'));
});
afterAll(() => database.close());

test('each sees only their own rows, however the connections are shared', async () => {
  const seen = await Promise.all(Array.from({ length: 60 }, (_, turn) => domainsOf(turn % 2 ? ada : ben)));
  expect(seen.filter((_, turn) => turn % 2)).toEqual(Array(30).fill(['ada.example']));
  expect(seen.filter((_, turn) => turn % 2 === 0)).toEqual(Array(30).fill(['ben.example']));
});

test('the user is forgotten with the last statement', async () => {
  await domainsOf(ada);
  expect(
    await Promise.all(Array.from({ length: 10 }, () => database.atTheDoor((em) => em.execute('select domain from websites')))),
  ).toEqual(Array(10).fill([]));
});

test("another user's id in a row is refused", async () => {
  await expect(database.ask(ada)(insert(ben, 'planted.example'))).rejects.toThrow('row-level security');
  expect(await domainsOf(ben)).toEqual(['ben.example']);
});

test('later statements see what earlier ones did; a failure undoes them all, and the connection goes on', async () => {
  const [[made], seen] = await database.ask(ada)(insert(ada, 'two.example'), domains);
  expect(made?.id).toBeGreaterThan(0);
  expect(seen).toHaveLength(2);
  for (let round = 0; round < 12; round++) {
    await expect(database.ask(ada)(insert(ada, 'three.example'), insert(ada, 'two.example'))).rejects.toMatchObject({ code: '23505' });
  }
  expect(await domainsOf(ada)).toEqual(['ada.example', 'two.example']);
  await database.ask(ada)(sql('delete from websites where domain = $1', ['two.example']));
});

test('a text that does not hold is refused, and no connection keeps it', async () => {
  for (let round = 0; round < 12; round++) await expect(database.ask(ada)(domains, sql('select nothing'))).rejects.toThrow();
  expect(await domainsOf(ada)).toEqual(['ada.example']);
});

test('values stay values', async () => {
  const value = `'; drop table websites; --\\ $1 ? \u{1F600}`;
  const [[row]] = await database.ask(ada)(sql('select $1::text as text, $2::text as none, $3::boolean as yes', [value, undefined, true]));
  expect(row).toEqual({ text: value, none: null, yes: true });
});

test('rows have the shape of the entity, in a transaction that is open already, too', async () => {
  const statements = [
    selectFrom(WebsiteEntity, 'where domain = $1', ['ada.example']),
    ...selectPage(WebsiteEntity, { orderBy: 'id', page: 1, pageSize: 5 }),
  ] as const;
  const alone = await database.ask(ada)(...statements);
  const within = await database.asUser(ada, (em) => askIn(em)(...statements));
  expect(within).toEqual(alone);
  expect(alone[0]).toEqual([
    expect.objectContaining({
      domain: 'ada.example',
      userId: ada,
      excludeBots: 1,
      favorite: false,
      passwordHash: null,
      createdAt: expect.any(Date),
    }),
  ]);
  expect(alone[2]).toEqual([{ total: 1 }]);
});
