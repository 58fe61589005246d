// What the database itself refuses, with no filter of ours in the statements. The tables are taken from its own
// catalogue, so that a new one without policies, or without rows to try them on, fails here.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startService, type TestService, type TestUser } from '../support/service.ts';
import { createUserWithRows } from '../support/user-with-rows.ts';

type Row = Record<string, unknown>;

let service: TestService;
let owner: TestUser;
let other: TestUser;

beforeAll(async () => {
  service = await startService();
  [owner, other] = [await createUserWithRows(service), await createUserWithRows(service)];
});
afterAll(() => service.stop());

/** Raw SQL for a user, or for nobody. */
function as(userId: number | undefined, sql: string, params: unknown[] = []): Promise<Row[]> {
  return userId === undefined
    ? service.database.asAuthenticator((em) => em.execute<Row[]>(sql, params))
    : service.database.asUser(userId, (em) => em.execute<Row[]>(sql, params));
}

/** Every table but the list of migrations, with the column that says whose a row is. */
async function tables(): Promise<{ table: string; whose: string }[]> {
  const rows = await as(
    undefined,
    `select relname from pg_class where relkind in ('r', 'p', 'v', 'm') and relnamespace = 'public'::regnamespace and relname <> 'migrations'`,
  );
  return rows.map(({ relname }) => ({ table: String(relname), whose: relname === 'users' ? 'id' : 'user_id' }));
}

/** What came of a statement: rows, or that it was refused. */
const outcome = (work: Promise<Row[]>): Promise<Row[] | 'refused'> =>
  work.catch((error: Error) => {
    if (/row-level security|permission denied/.test(error.message)) return 'refused';
    throw error;
  });

test('every table has forced row-level security, a policy, and rows of two users to try it on', async () => {
  const open = await as(
    undefined,
    `select relname from pg_class c
      where relkind in ('r', 'p') and relnamespace = 'public'::regnamespace and relname <> 'migrations'
        and not (relrowsecurity and relforcerowsecurity and exists (select from pg_policy p where p.polrelid = c.oid))`,
  );
  expect(open).toEqual([]);
  for (const { table } of await tables()) {
    for (const user of [owner, other]) expect([table, (await as(user.id, `select * from ${table}`)).length > 0]).toEqual([table, true]);
  }
});

test('select without a filter shows own rows only', async () => {
  for (const { table, whose } of await tables()) {
    const rows = await as(other.id, `select ${whose} as whose from ${table}`);
    expect([table, new Set(rows.map((row) => Number(row.whose)))]).toEqual([table, new Set([other.id])]);
  }
});

test('without a user no row is seen, and there is no error', async () => {
  for (const { table } of await tables()) expect([table, await as(undefined, `select * from ${table}`)]).toEqual([table, []]);
});

test('update and delete without a filter leave foreign rows as they are', async () => {
  for (const { table, whose } of await tables()) {
    // xmin moves with every update, even one that changes no value.
    const count = `select count(*)::int as count, md5(string_agg(t::text || t.xmin, ',' order by t::text)) as content from ${table} t`;
    const [column] = await as(
      undefined,
      `select attname from pg_attribute where attrelid = ?::regclass and attnum > 0 and attidentity = '' and not attisdropped order by attnum desc limit 1`,
      [table],
    );
    const before = await as(owner.id, count);
    await outcome(as(other.id, `update ${table} set ${column?.attname} = ${column?.attname}`));
    await service.database
      .asUser(other.id, async (em) => {
        await outcome(em.execute<Row[]>(`delete from ${table}`));
        throw new Error('undo');
      })
      .catch(() => {});
    await outcome(as(undefined, `delete from ${table}`));
    expect([table, await as(owner.id, count)]).toEqual([table, before]);
    expect([table, whose, before[0]?.count]).not.toEqual([table, whose, 0]);
  }
});

test("a row cannot be made in another user's name, nor handed to them", async () => {
  for (const { table, whose } of await tables()) {
    const [copy] = await as(owner.id, `select row_to_json(t)::text as row from ${table} t limit 1`);
    const insert = `insert into ${table} overriding system value select * from json_populate_record(null::${table}, ?::json)`;
    expect([table, await outcome(as(other.id, insert, [copy?.row]))]).toEqual([table, 'refused']);
    expect([table, await outcome(as(undefined, insert, [copy?.row]))]).toEqual([table, 'refused']);
    const handed = await outcome(as(other.id, `update ${table} set ${whose} = ?`, [owner.id])).catch((error: Error) => error.message);
    expect([table, /refused|can only be updated to DEFAULT/.test(String(handed))]).toEqual([table, true]);
  }
});

test("no foreign key lets a row point at another user's", async () => {
  const loose = await as(
    undefined,
    `select conrelid::regclass::text as table, conname from pg_constraint c
      where contype = 'f' and connamespace = 'public'::regnamespace and confrelid <> 'users'::regclass
        and not exists (select from pg_attribute a where a.attrelid = c.conrelid and a.attnum = any (c.conkey) and a.attname = 'user_id')`,
  );
  expect(loose).toEqual([]);
  const [theirs] = await as(owner.id, 'select id from api_keys limit 1');
  const insert = `insert into api_keys (user_id, created_by, name, scopes, prefix, key_hash) values (?, ?, 'x', '{}', 'x', 'x')`;
  await expect(as(other.id, insert, [other.id, theirs?.id])).rejects.toThrow(/foreign key/);
});

test('uniqueness is per user, but for what is random and for the name of an account', async () => {
  const rows = await as(
    undefined,
    `select c.relname as index from pg_index i join pg_class c on c.oid = i.indexrelid
      where i.indisunique and not i.indisprimary and c.relnamespace = 'public'::regnamespace and i.indrelid <> 'migrations'::regclass
        and not exists (select from pg_attribute a where a.attrelid = i.indrelid and a.attnum = any (i.indkey) and a.attname = 'user_id')
      order by 1`,
  );
  expect(rows.map(({ index }) => index)).toEqual(['api_keys_key_hash_key', 'sessions_token_hash_key', 'users_email_key']);
});

test('the role that serves is no superuser, bypasses nothing and owns nothing; nor do the others', async () => {
  const [{ name } = {}] = await as(undefined, 'select current_user as name');
  expect(name).toBe('sitekeeper_app');
  const roles = await as(
    undefined,
    `select rolname, rolsuper or rolbypassrls or rolcreaterole or rolcreatedb or rolcanlogin as mighty,
            exists (select from pg_class where relowner = r.oid) as owns from pg_roles r where rolname like 'sitekeeper\\_%'
        and rolname in ('sitekeeper_app', 'sitekeeper_engine', 'sitekeeper_auth', 'sitekeeper_service') order by 1`,
  );
  for (const role of roles) expect(role).toMatchObject({ mighty: false, owns: false });
  expect(roles.length).toBeGreaterThanOrEqual(3);
});

test('the engine may check and alert, and nothing else', async () => {
  const engine = (sql: string) => outcome(service.database.asEngine((em) => em.execute<Row[]>(sql)));
  for (const sql of [
    'select * from users',
    'select * from api_keys',
    'select * from sessions',
    'select * from websites',
    'select * from idempotent_responses',
    `update monitors set url = 'https://evil.example'`,
    'delete from monitors',
    'insert into providers (user_id, provider_type) values (1, null)',
    `update providers set recipient_email = 'evil@example.com'`,
    'delete from notifications',
    `select * from auth_find_user('user1@example.com')`,
  ]) {
    expect([sql, await engine(sql)]).toEqual([sql, 'refused']);
  }
  expect(await engine('select id from monitors')).toHaveLength(2);
});

test('the door answers only about a value it is given, and cannot be walked through', async () => {
  expect(await as(undefined, `select * from auth_find_api_key('\\x00')`)).toEqual([]);
  expect(await as(undefined, `select * from auth_find_session('\\x00')`)).toEqual([]);
  expect(await as(undefined, `select * from auth_find_user('%')`)).toEqual([]);
  await expect(as(undefined, 'set local role sitekeeper_auth')).rejects.toThrow(/permission denied/);
});
