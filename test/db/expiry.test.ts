// The function that the service calls every few minutes, in small batches.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { expiredRows } from '../../src/auth/expired-rows.ts';
import { startService, type TestService } from '../support/service.ts';
import { createUserWithRows } from '../support/user-with-rows.ts';

let service: TestService;

beforeAll(async () => {
  service = await startService();
});
afterAll(() => service.stop());

async function deleteExpired(batch: number): Promise<number> {
  const [row] = await service.database.asAuthenticator((em) =>
    em.execute<{ deleted: number }[]>('select auth_delete_expired(?)::int as deleted', [batch]),
  );
  return row?.deleted ?? 0;
}

const insertKeys = `insert into api_keys (user_id, name, scopes, prefix, key_hash, expires_at)
  select ?, 'Key ' || n, '{monitors:read}', 'stkp_0000', sha256((? || ' ' || n)::bytea), now() + ?::interval from generate_series(1, ?) as n`;
const insertSessions = `insert into sessions (user_id, token_hash, created_at, last_used_at)
  select ?, sha256((? || ' ' || n)::bytea), now() - ?::interval, now() - ?::interval from generate_series(1, ?) as n`;
const insertResponses = `insert into idempotent_responses (user_id, operation, idempotency_key, request_hash, response, created_at)
  select ?, 'POST /test', ? || ' ' || n, '\\x00', '{}', now() - ?::interval from generate_series(1, ?) as n`;

test('deletes expired keys, sessions and responses of all users in batches, and nothing else', async () => {
  const users = [await createUserWithRows(service), await createUserWithRows(service)];
  expect(await deleteExpired(500)).toBe(0);
  const rows = (userId: number) =>
    service.database.asUser(userId, (em) =>
      em.execute(
        `select (select count(*)::int from api_keys) as keys, (select count(*)::int from sessions) as sessions,
                (select count(*)::int from idempotent_responses) as responses`,
      ),
    );
  const before = await rows(users[0]?.id ?? 0);
  for (const { id } of users) {
    await service.database.asUser(id, async (em) => {
      await em.execute(insertKeys, [id, `expired ${id}`, '-1 minute', 3], 'run');
      await em.execute(insertKeys, [id, `valid ${id}`, '1 minute', 1], 'run');
      await em.execute(insertSessions, [id, `unused ${id}`, '8 days', '7 days 1 minute', 2], 'run');
      await em.execute(insertSessions, [id, `old ${id}`, '30 days 1 minute', '1 minute', 2], 'run');
      await em.execute(insertSessions, [id, `valid ${id}`, '29 days', '6 days', 1], 'run');
      await em.execute(insertResponses, [id, `expired ${id}`, '24 hours 1 minute', 3], 'run');
      await em.execute(insertResponses, [id, `valid ${id}`, '23 hours', 1], 'run');
    });
  }
  // Six keys, eight sessions and six responses have expired.
  expect([await deleteExpired(5), await deleteExpired(5), await deleteExpired(5)]).toEqual([15, 5, 0]);
  for (const { id } of users) {
    const [{ keys, sessions, responses }] = before as [{ keys: number; sessions: number; responses: number }];
    expect(await rows(id)).toEqual([{ keys: keys + 1, sessions: sessions + 1, responses: responses + 1 }]);
  }
});

test('deleting an expired key also deletes the expired keys that it created', async () => {
  const { id } = await service.createUser();
  const names = () =>
    service.database
      .asUser(id, (em) => em.execute<{ name: string }[]>('select name from api_keys order by id'))
      .then((all) => all.map(({ name }) => name));
  await service.database.asUser(id, async (em) => {
    await em.execute(insertKeys, [id, 'parent', '-1 minute', 1], 'run');
    await em.execute(
      `insert into api_keys (user_id, created_by, name, scopes, prefix, key_hash, expires_at)
       select user_id, id, 'Child', scopes, prefix, sha256('child'), expires_at from api_keys where name = 'Key 1'`,
      [],
      'run',
    );
  });
  expect(await names()).toEqual(['Test', 'Key 1', 'Child']);
  await deleteExpired(1);
  await deleteExpired(1);
  expect(await names()).toEqual(['Test']);
});

test('the service deletes 500 rows at a time, and learns how many were deleted', async () => {
  const { id } = await service.createUser();
  await service.database.asUser(id, (em) => em.execute(insertResponses, [id, 'expired', '25 hours', 700], 'run'));
  const { runBatch } = expiredRows(service.database);
  expect([await runBatch(), await runBatch(), await runBatch()]).toEqual([500, 200, 0]);
});
