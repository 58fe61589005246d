// Statements that are sent in one round trip. The policies apply to them as in any other transaction.
import { setTimeout as delay, setImmediate as nextTurn } from 'node:timers/promises';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createUser } from '../../src/accounts/users.ts';
import type { Database } from '../../src/db/database.ts';
import { preparePage } from '../../src/db/rows.ts';
import { prepare, queryInTransaction, type Statement } from '../../src/db/statement.ts';
import { selectFrom } from '../../src/db/tables.ts';
import { WebsiteEntity } from '../../src/websites/website.entity.ts';
import { createDatabase, ownerUrlOf } from '../support/database.ts';
import { sql } from '../support/statement.ts';

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

test('each user sees only their own rows, however connections are shared', async () => {
  const results = await Promise.all(Array.from({ length: 60 }, (_, turn) => domainsOf(turn % 2 ? ada : ben)));
  expect(results.filter((_, turn) => turn % 2)).toEqual(Array(30).fill(['ada.example']));
  expect(results.filter((_, turn) => turn % 2 === 0)).toEqual(Array(30).fill(['ben.example']));
});

test('the user is reset after the last statement', async () => {
  await domainsOf(ada);
  expect(
    await Promise.all(Array.from({ length: 10 }, () => database.asAuthenticator((em) => em.execute('select domain from websites')))),
  ).toEqual(Array(10).fill([]));
});

test("rejects a row with another user's id", async () => {
  await expect(database.query(ada)(insert(ben, 'injected.example'))).rejects.toThrow('row-level security');
  expect(await domainsOf(ben)).toEqual(['ben.example']);
});

test('later statements see the effects of earlier ones; a failure rolls all of them back, and the connection stays usable', async () => {
  const [[created], found] = await database.query(ada)(insert(ada, 'two.example'), domains);
  expect(created?.id).toBeGreaterThan(0);
  expect(found).toHaveLength(2);
  for (let round = 0; round < 12; round++) {
    await expect(database.query(ada)(insert(ada, 'three.example'), insert(ada, 'two.example'))).rejects.toMatchObject({ code: '23505' });
  }
  expect(await domainsOf(ada)).toEqual(['ada.example', 'two.example']);
  await database.query(ada)(sql('delete from websites where domain = $1', ['two.example']));
});

test('an invalid statement fails, and no connection caches it', async () => {
  for (let round = 0; round < 12; round++) {
    await expect(database.query(ada)(domains, sql('select nothing'))).rejects.toMatchObject({ code: '42703' });
  }
  expect(await domainsOf(ada)).toEqual(['ada.example']);
});

test('values are never interpreted as SQL', async () => {
  const value = `'; drop table websites; --\\ $1 ? \u{1F600}`;
  const [[row]] = await database.query(ada)(sql('select $1::text as text, $2::text as none, $3::boolean as yes', [value, undefined, true]));
  expect(row).toEqual({ text: value, none: null, yes: true });
});

test
  .runIf(process.env.TEST_DATABASE_URL)
  .each(['2026-11-15 08:12:07.123456', '2026-02-28', '0001-01-01', '9999-12-31 23:59:59.999', '10000-01-01', '0044-03-15 BC', '-infinity'])(
  'parses the time %s exactly',
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

test('rows have the properties of the entity, also in a transaction that is already open', async () => {
  const statements = [
    prepare(({ domain }: { domain: string }) => selectFrom(WebsiteEntity).where('domain', '=', domain))({ domain: 'ada.example' }),
    ...preparePage(() => selectFrom(WebsiteEntity).orderBy('id'))({ page: 1, pageSize: 5 }),
  ] as const;
  const separately = await database.query(ada)(...statements);
  const inTransaction = await database.asUser(ada, (em) => queryInTransaction(em)(...statements));
  expect(inTransaction).toEqual(separately);
  expect(separately[0]).toEqual([
    expect.objectContaining({
      domain: 'ada.example',
      excludeBots: 1,
      favorite: false,
      hasPassword: false,
      createdAt: expect.any(Date),
    }),
  ]);
  expect(separately[2]).toEqual([{ total: 1 }]);
});

describe.runIf(process.env.TEST_DATABASE_URL)('callers on shared connections', () => {
  const quick = sql<{ n: number }>('select 1 as n');
  const times = <T>(count: number, make: (turn: number) => Promise<T>) =>
    Promise.all(Array.from({ length: count }, (_, turn) => make(turn)));

  test('are not affected by an earlier statement that fails', async () => {
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

  test('are not affected by an earlier statement that cannot be prepared', async () => {
    await times(20, () => sleep(0)); // Prepares the statement on every connection.
    for (let turn = 0; turn < 10; turn++) {
      const fresh = sql<{ n: number }>(`select ${turn} as n`);
      const failing = database.query(ada)(sleeping(0.003), sql(`select nothing_${turn}`), fresh);
      failing.catch(() => {});
      await delay(1);
      expect(await database.query(ada)(fresh)).toEqual([[{ n: turn }]]);
      await expect(failing).rejects.toThrow('does not exist');
    }
  });

  /** `slow` waits for a lock that is released after `others` are done. A caller that waits behind `slow` never finishes. */
  async function whileBlocked(slow: Statement, others: () => Promise<unknown>) {
    await times(20, () => database.query(ada)(slow)); // Prepares the statement on every connection.
    let isDone = false;
    let blocked: Promise<unknown> | undefined;
    await database.asUser(ada, async (em) => {
      await em.execute('select pg_advisory_xact_lock(7)');
      blocked = database
        .query(ada)(slow)
        .finally(() => {
          isDone = true;
        });
      blocked.catch(() => {});
      await others();
      expect(isDone).toBe(false);
    });
    await blocked;
  }

  test('do not wait behind a slow statement', () =>
    whileBlocked(sql('select pg_advisory_xact_lock(7)'), async () => {
      for (let turn = 0; turn < 50; turn++) {
        await delay(10);
        await database.query(ada)(quick);
      }
    }));

  test('do not wait behind a write', () =>
    whileBlocked(sql('update websites set favorite = favorite where pg_advisory_xact_lock(7) is not null'), async () => {
      await nextTurn(); // By now the write is sent, but not yet known to be slow.
      await times(20, () => database.query(ada)(quick));
    }));

  test('leave a connection for transactions, however many callers there are', async () => {
    let running = true;
    // There is always another caller on each connection, so that none becomes free by chance.
    const callers = times(32, async (caller) => {
      await delay(caller % 5);
      while (running) await sleep(0.004);
    });
    for (let turn = 0; turn < 20; turn++) {
      expect(await Promise.race([database.asUser(ada, async () => 'ran'), delay(5000, 'starved')])).toBe('ran');
    }
    running = false;
    await callers;
  });

  test('read while transactions wait for a connection', async () => {
    await times(20, () => sleep(0)); // Prepares the statement on every connection.
    await times(20, () => database.query(ada)(quick));
    let running = true;
    const callers = times(4, async () => {
      while (running) await sleep(0.002);
    });
    const { promise: end, resolve } = Promise.withResolvers<void>();
    const transactions = times(10, () => database.asUser(ada, () => end));
    for (let turn = 0; turn < 50; turn++) await database.query(ada)(quick);
    expect(database.connections().waiting).toBeGreaterThan(0);
    resolve();
    running = false;
    await Promise.all([transactions, callers]);
  });

  test('read on the connection in reserve, which is counted, and replaced if it is lost', async () => {
    const { promise: end, resolve } = Promise.withResolvers<void>();
    const transactions = times(4, () => database.asUser(ada, () => end));
    await expect.poll(() => database.connections().busy, { timeout: 10_000 }).toBe(4);
    const reading = sleep(0.5);
    await expect.poll(() => database.connections().busy, { interval: 20, timeout: 10_000 }).toBe(5);
    await reading;
    const [[reserve]] = await database.query(ada)(sql<{ pid: number }>('select pg_backend_pid() as pid'));
    const owner = new pg.Client({ connectionString: ownerUrlOf(database) });
    await owner.connect();
    await owner.query('select pg_terminate_backend($1)', [reserve?.pid]);
    await owner.end();
    await expect.poll(() => database.connections().idle, { timeout: 10_000 }).toBe(0);
    expect(await database.query(ada)(quick)).toEqual([[{ n: 1 }]]);
    resolve();
    await transactions;
  });
});
