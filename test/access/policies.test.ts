// What the database itself refuses, with no filter of ours in the statements.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startService, type TestService, type TestUser } from '../support/service.ts';

let service: TestService;
let owner: TestUser;
let other: TestUser;

beforeAll(async () => {
  service = await startService();
  owner = await service.createUser();
  other = await service.createUser();
  await owner.api.post('/api/v1/websites', { form: { domain: 'example.com' } });
  await service.database.asUser(owner.id, (em) =>
    em.execute(`insert into monitors (user_id, friendly_name, url) values (?, 'M', 'https://example.com')`, [owner.id]),
  );
});
afterAll(() => service.stop());

const rowsOf = (userId: number | undefined, sql: string, params: unknown[] = []) =>
  userId === undefined
    ? service.database.atTheDoor((em) => em.execute<Record<string, unknown>[]>(sql, params))
    : service.database.asUser(userId, (em) => em.execute<Record<string, unknown>[]>(sql, params));

const tables = ['users', 'api_keys', 'websites', 'monitors'];

test('every table but the list of migrations has forced row-level security and is listed here', async () => {
  const found = await rowsOf(
    undefined,
    `select relname, relrowsecurity and relforcerowsecurity as forced from pg_class
      where relkind in ('r', 'p') and relnamespace = 'public'::regnamespace and relname <> 'migrations' order by relname`,
  );
  expect(found).toEqual(tables.toSorted().map((relname) => ({ relname, forced: true })));
});

test('the role that serves is no superuser, bypasses nothing and owns nothing', async () => {
  const [role] = await rowsOf(
    undefined,
    `select current_user as name, rolsuper, rolbypassrls, exists (select from pg_class where relowner = r.oid) as owns from pg_roles r where rolname = current_user`,
  );
  expect(role).toEqual({ name: 'sitekeeper_app', rolsuper: false, rolbypassrls: false, owns: false });
});

test.each(tables)('%s: another user sees and touches no row, and nobody sees any', async (table) => {
  const own = table === 'users' ? 'id' : 'user_id';
  expect((await rowsOf(owner.id, `select * from ${table}`)).length).toBeGreaterThan(0);
  expect((await rowsOf(other.id, `select * from ${table} where ${own} = ?`, [owner.id])).length).toBe(0);
  expect(await rowsOf(undefined, `select * from ${table}`)).toEqual([]);
});

test.each(['api_keys', 'websites', 'monitors'])('%s: an update or delete without a filter touches only own rows', async (table) => {
  const before = await rowsOf(owner.id, `select * from ${table} order by id`);
  await rowsOf(other.id, `update ${table} set created_at = now()`);
  await rowsOf(other.id, `delete from ${table}`);
  expect(await rowsOf(owner.id, `select * from ${table} order by id`)).toEqual(before);
});

test("a row cannot be made or moved into another user's hands", async () => {
  await expect(rowsOf(other.id, `insert into websites (user_id, domain) values (?, 'x.example')`, [owner.id])).rejects.toThrow(
    /row-level security/,
  );
  await rowsOf(other.id, `insert into websites (user_id, domain) values (?, 'y.example')`, [other.id]);
  await expect(rowsOf(other.id, 'update websites set user_id = ?', [owner.id])).rejects.toThrow(/row-level security/);
});

test('the door answers only about a hash it is given', async () => {
  expect(await rowsOf(undefined, `select * from door_find_api_key('\\x00')`)).toEqual([]);
  await expect(rowsOf(undefined, 'set role sitekeeper_door')).rejects.toThrow(/permission denied/);
});
