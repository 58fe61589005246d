import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import type { Database } from '../../../src/db/database.ts';
import { claimDueMonitors, releaseClaims, spreadOverdue } from '../../../src/monitoring/engine/claim.ts';
import { reopen } from '../../support/database.ts';
import { startService, type TestService, type TestUser } from '../../support/service.ts';
import { createMonitors, makeOverdue, secondsUntilDue } from './due-monitors.ts';

let service: TestService;
let database: Database;
let user: TestUser;

beforeAll(async () => {
  service = await startService();
  database = service.database;
});
beforeEach(async () => {
  // Claims are not limited to one user, so the monitors of earlier tests must not be due.
  await database.asEngine((em) => em.execute('update monitors set next_check_at = null', [], 'run'));
  user = await service.createUser();
});
afterAll(() => service.stop());

test('new monitors are due within 5 seconds, but not all at once', async () => {
  await createMonitors(database, user.id, 200);
  const seconds = await database.asEngine((em) => secondsUntilDue(em, user.id));
  expect(seconds).toHaveLength(200);
  expect(Math.max(...seconds)).toBeLessThan(5);
  expect(Math.max(...seconds) - Math.min(...seconds)).toBeGreaterThan(2);
});

test('four workers claim each of 2,000 overdue monitors once', async () => {
  await createMonitors(database, user.id, 2000);
  await database.asEngine((em) => makeOverdue(em, user.id));
  const workers = await Promise.all([1, 2, 3, 4].map(() => reopen(database)));
  const claimed = await Promise.all(
    workers.map(async (worker) => {
      const ids: number[] = [];
      for (;;) {
        const claims = await worker.asEngine((em) => claimDueMonitors(em, 100));
        if (claims.length === 0) return ids;
        ids.push(...claims.map(({ id }) => id));
      }
    }),
  );
  for (const worker of workers) if (worker !== database) await worker.close();
  const all = claimed.flat();
  expect([all.length, new Set(all).size]).toEqual([2000, 2000]);
});

test('a claim expires after 30 seconds, so that another worker can replace one that died', async () => {
  await createMonitors(database, user.id, 1);
  await database.asEngine((em) => makeOverdue(em, user.id));
  await database.asEngine((em) => claimDueMonitors(em, 1));
  const [seconds] = await database.asEngine((em) => secondsUntilDue(em, user.id));
  expect(seconds).toBeGreaterThan(15);
  expect(seconds).toBeLessThanOrEqual(30);
});

test('a released monitor is due after the given time', async () => {
  await createMonitors(database, user.id, 1);
  await database.asEngine((em) => makeOverdue(em, user.id));
  const claims = await database.asEngine((em) => claimDueMonitors(em, 1));
  expect(claims).toHaveLength(1);
  await database.asEngine((em) =>
    releaseClaims(
      em,
      claims.map((claim) => ({ claim })),
      0,
    ),
  );
  expect((await database.asEngine((em) => secondsUntilDue(em, user.id)))[0]).toBeLessThanOrEqual(0.1);
});

test('after a suspension, overdue monitors are spread over a minute', async () => {
  await createMonitors(database, user.id, 100);
  await database.asEngine((em) => makeOverdue(em, user.id, '1 hour'));
  // now() is the start of the transaction, so both statements use the same time only within one transaction.
  const seconds = await database.asEngine(async (em) => {
    await spreadOverdue(em);
    return secondsUntilDue(em, user.id);
  });
  expect(Math.min(...seconds)).toBeGreaterThanOrEqual(0);
  expect(Math.max(...seconds)).toBeLessThanOrEqual(60);
  expect(Math.max(...seconds) - Math.min(...seconds)).toBeGreaterThan(30);
});
