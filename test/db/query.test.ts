// Statements in one round trip: the policies hold as in any other transaction.
import { setImmediate as endOfTurn, setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createUser } from '../../src/accounts/users.ts';
import type { Database } from '../../src/db/database.ts';
import { queryInTransaction, type Statement, selectFrom, selectPage, sql } from '../../src/db/statement.ts';
import { WebsiteEntity } from '../../src/websites/website.entity.ts';
import { createDatabase } from '../support/database.ts';

let database: Database;
let [ada, ben] = [0, 0];

const insert = (userId: number, domain: string) =>
  sql<{ id: number }>('insert into websites (user_id, domain) values ($1, $2) returning id', [userId, domain]);
const domains = sql<{ domain: string }>('select domain from websites order by id');
const domainsOf = async (userId: number) => (await database.query(userId)(domains))[0].map(({ domain }) => domain);

beforeAll(async () => {
  database = await createDatabase();
  ada = (await createUser(database, 'ada@example.com', undefined)) ?? 0;
  ben = (await createUser(database, 'ben@example.com', undefined)) ?? 0;
  await database.query(ada)(insert(ada, 'ada.example'));
  await database.query(ben)(insert(ben, 'ben.example'));
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
    await Promise.all(Array.from({ length: 10 }, () => database.asAuthenticator((em) => em.execute('select domain from websites')))),
  ).toEqual(Array(10).fill([]));
});

test("another user's id in a row is refused", async () => {
  await expect(database.query(ada)(insert(ben, 'planted.example'))).rejects.toThrow('row-level security');
  expect(await domainsOf(ben)).toEqual(['ben.example']);
});

test('later statements see what earlier ones did; a failure undoes them all, and the connection goes on', async () => {
  const [[made], seen] = await database.query(ada)(insert(ada, 'two.example'), domains);
  expect(made?.id).toBeGreaterThan(0);
  expect(seen).toHaveLength(2);
  for (let round = 0; round < 12; round++) {
    await expect(database.query(ada)(insert(ada, 'three.example'), insert(ada, 'two.example'))).rejects.toMatchObject({ code: '23505' });
  }
  expect(await domainsOf(ada)).toEqual(['ada.example', 'two.example']);
  await database.query(ada)(sql('delete from websites where domain = $1', ['two.example']));
});

test('a text that does not hold is refused, and no connection keeps it', async () => {
  for (let round = 0; round < 12; round++) await expect(database.query(ada)(domains, sql('select nothing'))).rejects.toThrow();
  expect(await domainsOf(ada)).toEqual(['ada.example']);
});

test('values stay values', async () => {
  const value = `'; drop table websites; --\\ $1 ? \u{1F600}`;
  const [[row]] = await database.query(ada)(sql('select $1::text as text, $2::text as none, $3::boolean as yes', [value, undefined, true]));
  expect(row).toEqual({ text: value, none: null, yes: true });
});

test
  .runIf(process.env.TEST_DATABASE_URL)
  .each(['2026-11-15 08:12:07.123456', '2026-02-28', '0001-01-01', '9999-12-31 23:59:59.999', '10000-01-01', '0044-03-15 BC', '-infinity'])(
  'the time %s is read as it is',
  async (text) => {
    const [[row]] = await database.query(ada)(
      sql<{ time: Date; ms: number }>(
        'select t as time, trunc(extract(epoch from t) * 1000)::float8 as ms from (select $1::timestamptz) as x (t)',
        [`${text}`.replace(/( BC)?$/, text.includes('inf') ? '' : '+00$1')],
      ),
    );
    expect(Number(row?.time)).toBe(row?.ms);
  },
);

test('rows have the shape of the entity, in a transaction that is open already, too', async () => {
  const statements = [
    selectFrom(WebsiteEntity, 'where domain = $1', ['ada.example']),
    ...selectPage(WebsiteEntity, { orderBy: 'id', page: 1, pageSize: 5 }),
  ] as const;
  const alone = await database.query(ada)(...statements);
  const within = await database.asUser(ada, (em) => queryInTransaction(em)(...statements));
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

describe.runIf(process.env.TEST_DATABASE_URL)('callers that share connections', () => {
  const quick = sql<{ n: number }>('select 1 as n');
  const times = <T>(count: number, make: (turn: number) => Promise<T>) =>
    Promise.all(Array.from({ length: count }, (_, turn) => make(turn)));

  test('are not spoilt by the failure of one before them', async () => {
    const halve = (by: number) => database.query(ada)(sql<{ n: number }>('select 10 / $1::int as n', [by]));
    await times(12, async (caller) => {
      for (let turn = 0; turn < 20; turn++) {
        const by = (caller + turn) % 3;
        if (by === 0) await expect(halve(by)).rejects.toThrow('division by zero');
        else expect(await halve(by)).toEqual([[{ n: 10 / by }]]);
      }
    });
  });

  const sleeping = (seconds: number) => sql('select pg_sleep($1)', [seconds]);
  const sleep = (seconds: number) => database.query(ada)(sleeping(seconds));

  test('are not spoilt by what could not be prepared before them', async () => {
    await times(20, () => sleep(0)); // prepared on every connection
    for (let turn = 0; turn < 10; turn++) {
      const fresh = sql<{ n: number }>(`select ${turn} as n`);
      const failing = database.query(ada)(sleeping(0.003), sql(`select nothing_${turn}`), fresh);
      failing.catch(() => {});
      await pause(1);
      expect(await database.query(ada)(fresh)).toEqual([[{ n: turn }]]);
      await expect(failing).rejects.toThrow('does not exist');
    }
  });

  /** `slow` waits for a lock that is held until the others are done; whoever waits behind it is never done in time. */
  async function whileHeldUp(slow: Statement, others: () => Promise<unknown>) {
    await times(20, () => database.query(ada)(slow)); // prepared on every connection
    let isDone = false;
    let held: Promise<unknown> | undefined;
    await database.asUser(ada, async (em) => {
      await em.execute('select pg_advisory_xact_lock(7)');
      held = database
        .query(ada)(slow)
        .finally(() => {
          isDone = true;
        });
      held.catch(() => {});
      await others();
      expect(isDone).toBe(false);
    });
    await held;
  }

  test('do not wait behind one that takes long', () =>
    whileHeldUp(sql('select pg_advisory_xact_lock(7)'), async () => {
      for (let turn = 0; turn < 50; turn++) {
        await pause(10);
        await database.query(ada)(quick);
      }
    }));

  test('do not wait behind a write', () =>
    whileHeldUp(sql('update websites set favorite = favorite where pg_advisory_xact_lock(7) is not null'), async () => {
      await endOfTurn(); // sent, and not yet known to be slow
      await times(20, () => database.query(ada)(quick));
    }));

  test('leave a connection to a transaction, however many there are', async () => {
    let asking = true;
    const crowd = times(20, async () => {
      while (asking) await sleep(0.002);
    });
    for (let turn = 0; turn < 20; turn++) await database.asUser(ada, (em) => em.execute('select 1'));
    asking = false;
    await crowd;
  });
});
