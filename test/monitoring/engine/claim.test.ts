import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { Database } from '../../../src/db/database.ts';
import { queryInTransaction } from '../../../src/db/statement.ts';
import { claimDueMonitors, claimFairly } from '../../../src/monitoring/engine/claim.ts';
import { findDueUsers } from '../../../src/monitoring/engine/due-users.ts';
import { releaseClaims, spreadOverdue } from '../../../src/monitoring/engine/release.ts';
import { reopen } from '../../support/database.ts';
import { startService, type TestService, type TestUser } from '../../support/service.ts';
import { createMonitor } from '../factories.ts';
import { claimOf, createMonitors, createUsersWithDueMonitor, makeOverdue, secondsUntilDue } from './due-monitors.ts';

let service: TestService;
let database: Database;
let user: TestUser;

beforeAll(async () => {
  service = await startService();
  database = service.database;
});
beforeEach(async () => {
  // Claims are not limited to one user, so the monitors of earlier tests must not be due.
  await database.asEngine((em) => em.execute('update monitors set next_check_at = null where next_check_at is not null', [], 'run'));
  user = await service.createUser();
});
afterAll(() => service.stop());

test('new monitors are due within 5 seconds, but not all at once', async () => {
  for (let count = 0; count < 20; count++) await createMonitor(user);
  // The time until a monitor is due, from its creation.
  const seconds = await database.asEngine((em) =>
    em.execute<{ delay: number }[]>(
      'select extract(epoch from next_check_at - created_at)::float8 as delay from monitors where user_id = ?',
      [user.id],
    ),
  );
  const delays = seconds.map(({ delay }) => delay);
  expect(delays).toHaveLength(20);
  expect(Math.max(...delays)).toBeLessThan(5);
  expect(Math.max(...delays) - Math.min(...delays)).toBeGreaterThan(0.5);
});

test('four workers claim each of 2,000 overdue monitors once', async () => {
  await createMonitors(database, user.id, 2000);
  await database.asEngine((em) => makeOverdue(em, user.id));
  const workers = await Promise.all([1, 2, 3, 4].map(() => reopen(database)));
  const claimed = await Promise.all(
    workers.map(async (worker) => {
      const ids: number[] = [];
      for (;;) {
        const claims = await worker.asEngine((em) => claimOf(em, user.id, 100));
        if (claims.length === 0) return ids;
        ids.push(...claims.map(({ id }) => id));
      }
    }),
  );
  for (const worker of workers) if (worker !== database) await worker.close();
  const all = claimed.flat();
  expect([all.length, new Set(all).size]).toEqual([2000, 2000]);
});

// The embedded database runs one transaction at a time.
test.runIf(process.env.TEST_DATABASE_URL)('a claim does not wait for monitors that another worker is claiming', async () => {
  await createMonitors(database, user.id, 2);
  await database.asEngine((em) => makeOverdue(em, user.id));
  const [claimed, ended] = [Promise.withResolvers<number[]>(), Promise.withResolvers<void>()];
  const idsOf = async (claims: ReturnType<typeof claimOf>) => (await claims).map(({ id }) => id);
  const first = database.asEngine(async (em) => {
    claimed.resolve(await idsOf(claimOf(em, user.id, 1)));
    await ended.promise;
  });
  const firstIds = await claimed.promise;
  // If it waited for the other transaction, its statement would time out.
  const secondIds = await database.asEngine((em) => idsOf(claimOf(em, user.id, 2))).finally(() => ended.resolve());
  await first;
  expect([firstIds.length, secondIds.length]).toEqual([1, 1]);
  expect(secondIds).not.toEqual(firstIds);
});

test('users share the free slots, and some stay free for those who come later', async () => {
  const others = [await service.createUser(), await service.createUser()];
  for (const { id } of [user, ...others]) await createMonitors(database, id, 100);
  // The monitors of one user have waited longer than all others.
  await database.asEngine((em) => makeOverdue(em, user.id, '1 hour'));
  for (const { id } of others) await database.asEngine((em) => makeOverdue(em, id));
  const first = await database.asEngine((em) => claimFairly(queryInTransaction(em), { freeSlots: 130, running: [], afterUserId: 0 }));
  const { claims, hasMore, needsSlots } = first;
  const counts = [user, ...others].map(({ id }) => claims.filter(({ userId }) => userId === id).length);
  expect(counts).toEqual([40, 40, 40]);
  expect([hasMore, needsSlots]).toEqual([true, false]);

  const newcomer = await service.createUser();
  await createMonitors(database, newcomer.id, 5);
  await database.asEngine((em) => makeOverdue(em, newcomer.id));
  const next = await database.asEngine((em) => claimFairly(queryInTransaction(em), { freeSlots: 10, running: claims, afterUserId: 0 }));
  expect(next.claims.map(({ userId }) => userId)).toEqual(Array(5).fill(newcomer.id));
  expect([next.hasMore, next.needsSlots]).toEqual([false, true]);
});

test('finds the users with due monitors behind thousands that have waited longer', async () => {
  await createMonitors(database, user.id, 1500);
  await database.asEngine((em) => makeOverdue(em, user.id, '1 hour'));
  const other = await service.createUser();
  await createMonitors(database, other.id, 1);
  await database.asEngine((em) => makeOverdue(em, other.id));
  const idle = await service.createUser();
  await createMonitors(database, idle.id, 1);
  await database.asEngine((em) => makeOverdue(em, idle.id, '-1 hour'));
  const { claims, continueAfter } = await database.asEngine((em) =>
    claimFairly(queryInTransaction(em), { freeSlots: 10, running: [], afterUserId: 0 }),
  );
  expect(new Set(claims.map(({ userId }) => userId))).toEqual(new Set([user.id, other.id]));
  expect(continueAfter).toBe(0);
});

test('visits 1,000 users at a time, and continues with the next one', async () => {
  const ids = await createUsersWithDueMonitor(database, 1001);
  const find = (afterUserId: number) => database.asEngine((em) => findDueUsers(queryInTransaction(em), 10, afterUserId));
  const first = await find(0);
  expect(first).toEqual({ userIds: ids.slice(0, 1000), continueAfter: ids[999] });
  expect(await find(first.continueAfter ?? 0)).toEqual({ userIds: ids.slice(1000), continueAfter: undefined });
});

test('a user has at most 10 checks at once on a host; other monitors of the user are not blocked by it', async () => {
  await createMonitors(database, user.id, 25);
  await database.asUser(user.id, (em) =>
    em.execute(`update monitors set target_host = 'slow.example' where id < 20 + (select min(id) from monitors)`, [], 'run'),
  );
  await database.asEngine((em) => makeOverdue(em, user.id, '1 hour'));
  const claim = (running: Awaited<ReturnType<typeof claimOf>>) =>
    database.asEngine(async (em) => (await claimFairly(queryInTransaction(em), { freeSlots: 100, running, afterUserId: 0 })).claims);
  const claims = await claim([]);
  const slow = claims.filter(({ host }) => host === 'slow.example');
  expect([slow.length, claims.length]).toEqual([10, 15]);
  expect(await claim(claims)).toEqual([]);
  // As many as have ended.
  expect(await claim(slow.slice(3))).toHaveLength(3);
});

test('the monitors that have waited longest come first, and those on a host without free checks take no slot', async () => {
  await createMonitors(database, user.id, 6);
  const ids = (await database.asUser(user.id, (em) => em.execute<{ id: number }[]>('select id from monitors order by id'))).map(
    ({ id }) => id,
  );
  // The last monitor has waited longest. The three that have waited longest are on a busy host.
  await database.asEngine((em) =>
    em.execute(`update monitors set next_check_at = now() - id * interval '1 minute' where user_id = ?`, [user.id], 'run'),
  );
  await database.asUser(user.id, (em) => em.execute(`update monitors set target_host = 'busy.example' where id >= ?`, [ids[3]], 'run'));
  const claim = (slots: number, running: Map<string, number>) =>
    database.asEngine(async (em) => (await claimDueMonitors(queryInTransaction(em), [{ userId: user.id, slots, running }])).claims);
  expect((await claim(1, new Map([['busy.example', 10]]))).map(({ id }) => id)).toEqual([ids[2]]);
  expect((await claim(1, new Map())).map(({ id }) => id)).toEqual([ids[5]]);
});

test('users whose monitors have waited longest come first, also if more are due than there are slots', async () => {
  const other = await service.createUser();
  for (const [owner, minutes] of [
    [user, 1],
    [other, 10],
  ] as const) {
    await createMonitors(database, owner.id, 2);
    await database.asEngine((em) => makeOverdue(em, owner.id, `${minutes} minutes`));
  }
  const find = (freeSlots: number) => database.asEngine((em) => findDueUsers(queryInTransaction(em), freeSlots, 0));
  for (const freeSlots of [1, 10]) expect((await find(freeSlots)).userIds).toEqual([other.id, user.id]);
});

test('another user has its own checks on the same host', async () => {
  const other = await service.createUser();
  for (const { id } of [user, other]) {
    await createMonitors(database, id, 12);
    await database.asUser(id, (em) => em.execute(`update monitors set target_host = 'shop.example'`, [], 'run'));
    await database.asEngine((em) => makeOverdue(em, id));
  }
  const { claims } = await database.asEngine((em) => claimFairly(queryInTransaction(em), { freeSlots: 100, running: [], afterUserId: 0 }));
  expect(claims).toHaveLength(20);
});

describe('a claim reads bounded options', () => {
  const claimAll = () => database.asEngine((em) => claimFairly(queryInTransaction(em), { freeSlots: 500, running: [], afterUserId: 0 }));
  const setOptions = (id: number, bytes: number, where: string) =>
    database.asUser(id, (em) =>
      em.execute(`update monitors set settings = jsonb_build_object('body', repeat('x', ?)) where ${where}`, [bytes], 'run'),
    );
  const bytesOf = (claims: object[]) => Buffer.byteLength(JSON.stringify(claims));

  test('of at most about 512 KiB, and all are claimed one claim after the other', async () => {
    await createMonitors(database, user.id, 20);
    await setOptions(user.id, 100_000, 'true');
    await database.asEngine((em) => makeOverdue(em, user.id));
    const claimed: number[] = [];
    for (const [count, hasMore] of [
      [6, true],
      [6, true],
      [6, true],
      [2, false],
    ]) {
      const result = await claimAll();
      expect([result.claims.length, result.hasMore]).toEqual([count, hasMore]);
      expect(bytesOf(result.claims)).toBeLessThan(650_000);
      claimed.push(...result.claims.map(({ id }) => id));
    }
    expect(new Set(claimed).size).toBe(20);
  });

  test('also of a monitor that is larger on its own', async () => {
    await createMonitors(database, user.id, 2);
    await setOptions(user.id, 600_000, 'true');
    await database.asEngine((em) => makeOverdue(em, user.id));
    expect((await claimAll()).claims).toHaveLength(1);
    expect((await claimAll()).claims).toHaveLength(1);
  });

  test('and small monitors do not wait for large ones', async () => {
    const other = await service.createUser();
    for (const { id } of [user, other]) await createMonitors(database, id, 50);
    // Those that have waited longest are large.
    await setOptions(user.id, 300_000, 'id < 10 + (select min(id) from monitors)');
    await database.asEngine((em) => makeOverdue(em, other.id));
    await database.asEngine((em) =>
      em.execute(`update monitors set next_check_at = now() - interval '1 hour' where user_id = ?`, [user.id], 'run'),
    );
    const { claims } = await claimAll();
    const large = claims.filter(({ settings }) => 'body' in settings);
    expect([large.length, claims.length]).toEqual([2, 92]);
  });

  test('and a user with many large monitors does not keep those of others waiting', async () => {
    const other = await service.createUser();
    await createMonitors(database, user.id, 10);
    await createMonitors(database, other.id, 1);
    for (const { id } of [user, other]) await setOptions(id, 300_000, 'true');
    await database.asEngine((em) => makeOverdue(em, user.id, '1 hour'));
    await database.asEngine((em) => makeOverdue(em, other.id));
    expect((await claimAll()).claims.map(({ userId }) => userId).sort((a, b) => a - b)).toEqual([user.id, other.id]);
  });
});

test('a claim expires after 30 seconds, so that another worker can replace one that died', async () => {
  await createMonitors(database, user.id, 1);
  await database.asEngine((em) => makeOverdue(em, user.id));
  await database.asEngine((em) => claimOf(em, user.id, 1));
  const [seconds] = await database.asEngine((em) => secondsUntilDue(em, user.id));
  expect(seconds).toBeGreaterThan(15);
  expect(seconds).toBeLessThanOrEqual(30);
});

test.each([
  ['down', 'HTTP 503'],
  ['pending', null],
])('a monitor that is %s is claimed with the cause of its failure: %s', async (status, downBecause) => {
  const { id } = await createMonitor(user);
  await database.asUser(user.id, (em) =>
    em.execute(`update monitors set status = ?, last_error = 'HTTP 503' where id = ?`, [status, id], 'run'),
  );
  await database.asEngine((em) => makeOverdue(em, user.id));
  expect(await database.asEngine((em) => claimOf(em, user.id, 1))).toMatchObject([{ id, downBecause }]);
});

test.each([0, 10])('a released monitor is due after the given time, which is %i s', async (afterSeconds) => {
  await createMonitors(database, user.id, 1);
  await database.asEngine((em) => makeOverdue(em, user.id));
  const claims = await database.asEngine((em) => claimOf(em, user.id, 1));
  expect(claims).toHaveLength(1);
  const released = claims.map((claim) => ({ claim }));
  // The time of a transaction is that of its start.
  const rows = await database.asEngine(async (em) => {
    await releaseClaims(queryInTransaction(em), released, afterSeconds);
    return em.execute('select extract(epoch from next_check_at - app_now())::float8 as seconds from monitors where user_id = ?', [user.id]);
  });
  expect(rows).toEqual([{ seconds: expect.closeTo(afterSeconds, 2) }]); // Times are stored in milliseconds.
});

test('a claim that another process has taken over is not released', async () => {
  await createMonitors(database, user.id, 1);
  const [first] = await database.asEngine((em) => claimOf(em, user.id, 1));
  await database.asEngine((em) => makeOverdue(em, user.id));
  const [second] = await database.asEngine((em) => claimOf(em, user.id, 1));
  if (!first || !second) throw new Error('The monitor was not claimed twice.');
  await database.asEngine((em) => releaseClaims(queryInTransaction(em), [{ claim: first }], 0));
  const tokens = await database.asUser(user.id, (em) => em.execute('select claim_token as token from monitors'));
  expect(tokens).toEqual([{ token: second.token }]);
});

test('after a suspension, overdue monitors are spread over a minute', async () => {
  await createMonitors(database, user.id, 100);
  await database.asEngine((em) => makeOverdue(em, user.id, '1 hour'));
  // now() is the start of the transaction, so both statements use the same time only within one transaction.
  const seconds = await database.asEngine(async (em) => {
    await spreadOverdue(
      (work) => work(queryInTransaction(em)),
      () => true,
    );
    return secondsUntilDue(em, user.id);
  });
  expect(Math.min(...seconds)).toBeGreaterThanOrEqual(0);
  expect(Math.max(...seconds)).toBeLessThanOrEqual(60);
  expect(Math.max(...seconds) - Math.min(...seconds)).toBeGreaterThan(30);
});

test('any number of overdue monitors is spread, in transactions that are short', async () => {
  await createMonitors(database, user.id, 10_001);
  await database.asEngine((em) => makeOverdue(em, user.id, '1 hour'));
  const [start] = await database.asEngine((em) => em.execute<{ time: string }[]>('select app_now()::text as time'));
  let transactions = 0;
  await spreadOverdue(
    (work) => {
      transactions++;
      return database.engineTransaction(work);
    },
    () => true,
  );
  expect(transactions).toBe(4); // One reads the time, and each of the others has up to 5,000 monitors.
  const dueBefore = await database.asEngine((em) =>
    em.execute('select id from monitors where user_id = ? and next_check_at < ?::timestamptz', [user.id, start?.time]),
  );
  expect(dueBefore).toEqual([]);
  await database.asEngine((em) => makeOverdue(em, user.id, '1 hour'));
  await spreadOverdue(
    (work) => database.engineTransaction(work),
    () => false,
  );
  expect(Math.max(...(await database.asEngine((em) => secondsUntilDue(em, user.id))))).toBeLessThan(-3000);
});

test('the spread ends even if the clock of the database is set back meanwhile', async () => {
  await createMonitors(database, user.id, 5000);
  await database.asEngine((em) => makeOverdue(em, user.id, '1 hour'));
  const oneHourMs = 3_600_000;
  let batches = 0;
  await spreadOverdue(
    async (work) => {
      const result = await database.engineTransaction(work);
      const [[row] = []] = result as { since?: Date }[][];
      if (row?.since) row.since = new Date(row.since.getTime() + oneHourMs);
      return result;
    },
    () => ++batches < 5,
  );
  expect(batches).toBe(2); // The second one is empty.
});

test('a suspension postpones neither running checks nor monitors that are overdue by less than 5 seconds or due later', async () => {
  await createMonitors(database, user.id, 3);
  await database.asEngine((em) => makeOverdue(em, user.id));
  const [before, after] = await database.asEngine(async (em) => {
    expect(await claimOf(em, user.id, 1)).toHaveLength(1);
    await em.execute(
      `update monitors m set next_check_at = now() + n.seconds * interval '1 second'
       from (select id, row_number() over () * 100 - 104 as seconds from monitors where user_id = ? and claim_token is null) n
       where m.id = n.id`,
      [user.id],
      'run',
    );
    const before = await secondsUntilDue(em, user.id);
    await spreadOverdue(
      (work) => work(queryInTransaction(em)),
      () => true,
    );
    return [before, await secondsUntilDue(em, user.id)];
  });
  expect(before.map(Math.round).sort((a, b) => a - b)).toEqual([-4, 30, 96]);
  expect(after).toEqual(before);
});
