// Who is told that a provider fails.
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test } from 'vitest';
import { queueFailingNotices } from '../../../src/monitoring/alerts/notices.ts';
import { recordFailure, recordSuccess } from '../../../src/monitoring/alerts/provider-state.ts';
import { sampleAlert } from '../../support/sample-event.ts';
import { startService, type TestService, type TestUser } from '../../support/service.ts';
import { createProvider } from '../factories.ts';
import { startDispatcher } from './controlled-dispatcher.ts';

let service: TestService;
let user: TestUser;
let failing: number;

beforeAll(async () => {
  service = await startService();
});
beforeEach(async () => {
  user = await service.createUser();
  failing = (await createProvider(user)).id;
});
afterAll(() => service.stop());

const asEngine = (sql: string, parameters: unknown[]) => service.database.asEngine((em) => em.execute(sql, parameters, 'run'));
const fail = (id = failing) => asEngine(`update providers set failing_since = app_now() - interval '61 minutes' where id = ?`, [id]);
const tell = () => service.database.engineTransaction(queueFailingNotices);
const told = async () => {
  const rows = await service.database.asUser(user.id, (em) =>
    em.execute<{ id: number }[]>(`select provider_id::int as id from alerts where kind = 'provider.failing' order by 1`),
  );
  return rows.map(({ id }) => id);
};

test('five others are told: those with the newest messages', async () => {
  const others: number[] = [];
  for (let count = 0; count < 7; count++) others.push((await createProvider(user)).id);
  for (const id of others.slice(1).reverse()) {
    await asEngine(
      `insert into alerts (user_id, provider_id, kind, payload, status, done_at) select ?, ?, ${sampleAlert()}, 'sent', app_now()`,
      [user.id, id],
    );
  }
  await fail();
  expect(await tell()).toEqual([{ id: failing, userId: user.id, told: 5 }]);
  expect(await told()).toEqual(others.slice(1, 6));
});

test('no provider is told that fails itself', async () => {
  const [other, works] = [(await createProvider(user)).id, (await createProvider(user)).id];
  await fail();
  await fail(other);
  expect((await tell()).map((provider) => provider.told)).toEqual([1, 1]);
  expect(await told()).toEqual([works, works]);
});

test('a provider is reported once, and again if it has worked in between', async () => {
  await createProvider(user);
  await fail();
  expect([(await tell()).length, (await tell()).length]).toEqual([1, 0]);
  await service.database.engineTransaction((query) => query(recordSuccess({ id: failing, audience: 'people' })));
  await service.database.engineTransaction((query) => query(recordFailure({ id: failing, reason: 'Gone.', pauseSeconds: 0 })));
  expect(await tell()).toEqual([]);
  await fail();
  expect(await tell()).toHaveLength(1);
});

test('twenty are looked at at once, the longest failing first', async () => {
  const others = await Promise.all(Array.from({ length: 20 }, async () => (await createProvider(user)).id));
  for (const id of others) await fail(id);
  await asEngine(`update providers set failing_since = app_now() - interval '1 day' where id = ?`, [failing]);
  const reported = [await tell(), await tell(), await tell()];
  expect(reported.map(({ length }) => length)).toEqual([20, 1, 0]);
  expect(reported[0]?.map(({ id }) => id)).toContain(failing);
});

test('if nobody can be told, the operator sees it in the log', async () => {
  await fail();
  const lines: string[] = [];
  const { dispatcher } = startDispatcher({ database: service.database, send: async () => {}, write: (line) => lines.push(line) });
  onTestFinished(() => dispatcher.stop());
  const logged = () => lines.map((line) => JSON.parse(line)).filter(({ provider_id: id }) => id === failing);
  await expect
    .poll(logged, { timeout: 15_000 })
    .toMatchObject([{ level: 40, user_id: user.id, msg: 'A provider has been failing for an hour, and its user has no other one' }]);
});
