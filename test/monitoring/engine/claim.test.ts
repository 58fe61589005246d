import type { SqlEntityManager } from '@mikro-orm/sql';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import type { Database } from '../../../src/db/database.ts';
import { type Claim, claimDueMonitors, releaseClaims, spreadOverdue } from '../../../src/monitoring/engine/claim.ts';
import { recordResults } from '../../../src/monitoring/engine/record.ts';
import { reopen } from '../../support/database.ts';
import { startService, type TestService, type TestUser } from '../../support/service.ts';

let service: TestService;
let database: Database;
let user: TestUser;

beforeAll(async () => {
  service = await startService();
  database = service.database;
});
beforeEach(async () => {
  await database.asEngine((em) => em.execute('update monitors set next_check_at = null', [], 'run'));
  user = await service.createUser();
});
afterAll(() => service.stop());

const seed = (count: number) =>
  database.asUser(user.id, async (em) => {
    await em.execute(
      `insert into monitors (user_id, friendly_name, url) select ?, 'M ' || n, 'https://example.com/' || n from generate_series(1, ?) n`,
      [user.id, count],
    );
  });
const makeOverdue = (em: SqlEntityManager, by = '1 minute') =>
  em.execute(`update monitors set next_check_at = now() - ?::interval where user_id = ?`, [by, user.id], 'run');
const overdue = (by?: string) => database.asEngine((em) => makeOverdue(em, by));
const readRows = (em: SqlEntityManager) =>
  em.execute<{ id: number; due_in: number; status: string }[]>(
    'select id, extract(epoch from next_check_at - now())::float8 as due_in, status from monitors where user_id = ? order by id',
    [user.id],
  );
const rows = () => database.asEngine(readRows);
const success = (claim: Claim) => ({ claim, result: { up: true, responseTimeMs: 5 } as const, startedMs: performance.now() });

test('a new monitor is due within 5 seconds, and many made at once do not fire at once', async () => {
  await seed(200);
  const due = (await rows()).map(({ due_in }) => due_in);
  expect(Math.max(...due)).toBeLessThan(5);
  expect(Math.max(...due) - Math.min(...due)).toBeGreaterThan(2);
});

test('after a check the next is at the phase of the monitor, spread over the interval, strictly in the future', async () => {
  await seed(300);
  await overdue();
  const claims = await database.asEngine((em) => claimDueMonitors(em, 300));
  expect(claims).toHaveLength(300);
  expect(await database.asEngine((em) => recordResults(em, claims.map(success)))).toBe(300);
  const late = await database.asEngine((em) =>
    em.execute('select id from monitors where user_id = ? and next_check_at <= last_checked_at', [user.id]),
  );
  expect(late).toEqual([]);
  const due = (await rows()).map(({ due_in }) => due_in);
  expect(Math.max(...due)).toBeLessThanOrEqual(60);
  const tenths = new Set(due.map((seconds) => Math.floor(seconds / 6)));
  expect(tenths.size).toBeGreaterThanOrEqual(9);
});

test('after a sleep of the worker, what is overdue is spread over a minute instead of firing at once', async () => {
  await seed(100);
  await overdue('1 hour');
  // In one transaction, so that both have the same idea of now.
  const spread = await database.asEngine(async (em) => {
    await spreadOverdue(em);
    return readRows(em);
  });
  const due = spread.map(({ due_in }) => due_in);
  expect(Math.min(...due)).toBeGreaterThanOrEqual(0);
  expect(Math.max(...due)).toBeLessThanOrEqual(60);
  expect(Math.max(...due) - Math.min(...due)).toBeGreaterThan(30);
});

test('four workers on 2,000 overdue monitors claim each once', async () => {
  await seed(2000);
  await overdue();
  const workers = await Promise.all([1, 2, 3, 4].map(() => reopen(database)));
  const claimed = await Promise.all(
    workers.map(async (worker) => {
      const mine: number[] = [];
      for (;;) {
        const claims = await worker.asEngine((em) => claimDueMonitors(em, 100));
        if (claims.length === 0) return mine;
        mine.push(...claims.map(({ id }) => id));
      }
    }),
  );
  for (const worker of workers) if (worker !== database) await worker.close();
  const all = claimed.flat();
  expect([all.length, new Set(all).size]).toEqual([2000, 2000]);
});

test('a result without the claim that stands is not recorded', async () => {
  await seed(1);
  await overdue();
  const [first] = await database.asEngine((em) => claimDueMonitors(em, 1));
  await overdue();
  const [second] = await database.asEngine((em) => claimDueMonitors(em, 1));
  if (!first || !second) throw new Error('nothing was claimed');
  expect(await database.asEngine((em) => recordResults(em, [success(first)]))).toBe(0);
  expect(await database.asEngine((em) => recordResults(em, [success(second)]))).toBe(1);
  expect(await database.asEngine((em) => recordResults(em, [success(second)]))).toBe(0);
});

test('a worker that dies is made up for within the lease; a claim given back is due when said', async () => {
  await seed(1);
  await overdue();
  const [claim] = await database.asEngine((em) => claimDueMonitors(em, 1));
  const [leased] = await rows();
  expect(leased?.due_in).toBeGreaterThan(15);
  expect(leased?.due_in).toBeLessThanOrEqual(30);
  if (!claim) throw new Error('nothing was claimed');
  await database.asEngine((em) => releaseClaims(em, [claim], 0));
  expect((await rows())[0]?.due_in).toBeLessThanOrEqual(0.1);
});

test('checks are counted by the hour', async () => {
  await seed(1);
  // In one transaction, so that both fall into the same hour.
  await database.asEngine(async (em) => {
    for (const ms of [10, 30]) {
      await makeOverdue(em);
      const claims = await claimDueMonitors(em, 1);
      await recordResults(
        em,
        claims.map((claim) => ({ ...success(claim), result: { up: true, responseTimeMs: ms } })),
      );
    }
  });
  const hours = await database.asUser(user.id, (em) =>
    em.execute(`select hour = date_trunc('hour', hour) as whole, checks, failures, total_ms, min_ms, max_ms from check_hours`),
  );
  expect(hours).toEqual([{ whole: true, checks: 2, failures: 0, total_ms: 40, min_ms: 10, max_ms: 30 }]);
});

test('a flapping target opens and resolves as many incidents as it goes down and up', async () => {
  await seed(1);
  const step = async (up: boolean) => {
    await overdue();
    const claims = await database.asEngine((em) => claimDueMonitors(em, 1));
    const result = up ? ({ up, responseTimeMs: 5 } as const) : ({ up: false, cause: 'HTTP 503', statusCode: 503 } as const);
    await database.asEngine((em) =>
      recordResults(
        em,
        claims.map((claim) => ({ claim, result, startedMs: performance.now() })),
      ),
    );
  };
  const [{ id } = { id: 0 }] = await rows();
  const provider = await user.api.post('/api/providers', { json: { provider_type: 'email', recipient_email: 'ops@example.com' } });
  await user.api.post(`/api/monitors/${id}/notifications`, { json: { provider_id: provider.body.data.id } });
  for (const results of ['---+', '--+', '---+', '-+', '-----+']) for (const result of results) await step(result === '+');
  const incidents = await database.asUser(user.id, (em) => em.execute('select resolved_at is null as open from incidents'));
  expect(incidents).toEqual([{ open: false }, { open: false }, { open: false }]);
  const alerts = await database.asUser(user.id, (em) => em.execute<{ kind: string }[]>('select kind from alerts order by id'));
  expect(alerts.map(({ kind }) => kind)).toEqual(['down', 'recovered', 'down', 'recovered', 'down', 'recovered']);
});

test('two results of one monitor in one round: the one whose claim still stands counts, and so do those of the others', async () => {
  await seed(3);
  await overdue();
  const early = await database.asEngine((em) => claimDueMonitors(em, 3));
  await overdue();
  const late = await database.asEngine((em) => claimDueMonitors(em, 1));
  expect(await database.asEngine((em) => recordResults(em, [...early, ...late].map(success)))).toBe(3);
  const [hours] = await database.asEngine((em) =>
    em.execute<{ checks: number }[]>('select sum(checks)::int as checks from check_hours where user_id = ?', [user.id]),
  );
  expect(hours?.checks).toBe(3);
});
