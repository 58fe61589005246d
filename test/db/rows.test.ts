import { afterAll, beforeAll, expect, test } from 'vitest';
import { createUser } from '../../src/accounts/users.ts';
import type { Database } from '../../src/db/database.ts';
import { writeIf } from '../../src/db/rows.ts';
import { columnsOf } from '../../src/db/tables.ts';
import { WebsiteEntity } from '../../src/websites/website.entity.ts';
import { updateWebsite } from '../../src/websites/website.writes.ts';
import { createDatabase } from '../support/database.ts';
import { sql } from '../support/statement.ts';

let database: Database;
let userId: number;

beforeAll(async () => {
  database = await createDatabase();
  userId = (await createUser(database, 'ada@example.com', undefined)) ?? 0;
});
afterAll(() => database.close());

test('updated_at never goes back', async () => {
  const query = database.query(userId);
  const insert = `insert into websites (user_id, domain, updated_at) values ($1, 'a.example', '2999-01-01') returning id`;
  const [[created]] = await query(sql<{ id: number }>(insert, [userId]));
  const [[updated]] = await query(updateWebsite({ id: created?.id ?? 0, versions: undefined, favorite: true }));
  expect([updated?.favorite, updated?.updatedAt.toISOString()]).toEqual([true, '2999-01-01T00:00:00.000Z']);
});

test('a conditional write that changes nothing is decided again, five times in all', async () => {
  const decisions: boolean[] = [];
  const writing = writeIf({ query: database.query(userId) }, async (isRetry) => {
    decisions.push(isRetry);
    return [updateWebsite({ id: 0, versions: undefined, favorite: true })];
  });
  await expect(writing).rejects.toMatchObject({ code: 'unavailable', retryAfterSeconds: 2 });
  expect(decisions).toEqual([false, true, true, true, true]);
});

test('columns can be left out', () => {
  const [all, some] = [columnsOf(WebsiteEntity), columnsOf(WebsiteEntity, ['excludeIps'])];
  expect(all.filter((column) => !some.includes(column))).toEqual([expect.stringContaining('excludeIps')]);
});
