// What the database itself rejects, although the statements contain no filter. The tables are read from the catalog, so that
// a new table without policies, or without rows to try them on, fails here.
import pg from 'pg';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { deleteUser } from '../../src/accounts/users.ts';
import { PipelinedQuery } from '../../src/db/pipelined-query.ts';
import type { Query } from '../../src/db/statement.ts';
import { rings } from '../../src/monitoring/statistics/periods.ts';
import type { ApiResponse } from '../support/api-client.ts';
import { sampleAlert } from '../support/sample-event.ts';
import { startService, type TestService, type TestUser } from '../support/service.ts';
import { createUserWithRows } from '../support/user-with-rows.ts';
import { createMonitor, createProvider } from '../support/valid-requests.ts';

type Row = Record<string, unknown>;

interface Table {
  name: string;
  /** The column that contains the id of the user who owns the row. */
  owner: string;
  /** Every column that an update can set. */
  columns: string[];
  /** Every column that an insert can set. */
  insertable: string[];
}

/** Tables without user data, with a column that an update could set. A separate test covers them. */
const ownerless = { migrations: 'name', migration_checksums: 'name', installation: 'id', roll_up_progress: 'hour' };
/** Partitions are no tables of their own here. A separate test covers them. */
const isTable = (...kinds: string[]) =>
  `c.relkind in ('${kinds.join("', '")}') and not c.relispartition and c.relnamespace = 'public'::regnamespace
     and c.relname <> all (array['${Object.keys(ownerless).join("', '")}'])`;

let service: TestService;
let owner: TestUser;
let other: TestUser;
let tables: Table[];

beforeAll(async () => {
  service = await startService();
  [owner, other] = [await createUserWithRows(service), await createUserWithRows(service)];
  tables = (await queryAs(
    undefined,
    `select relname as name, case when relname = 'users' then 'id' else 'user_id' end as owner,
            array(select attname::text from pg_attribute where attrelid = c.oid and attnum > 0 and attidentity = '' and attgenerated = '' and not attisdropped) as columns,
            array(select attname::text from pg_attribute where attrelid = c.oid and attnum > 0 and attgenerated = '' and not attisdropped) as insertable
       from pg_class c where ${isTable('r', 'p', 'v', 'm')}`,
  )) as unknown as Table[];
});
afterAll(() => service.stop());

/** Runs SQL for a user, or without a user. */
function queryAs(userId: number | undefined, sql: string, params: unknown[] = []): Promise<Row[]> {
  return userId === undefined
    ? service.database.asAuthenticator((em) => em.execute<Row[]>(sql, params))
    : service.database.asUser(userId, (em) => em.execute<Row[]>(sql, params));
}

class RolledBack extends Error {}

/** Runs one statement and rolls it back, so that the next attempt finds the same rows. */
async function attempt(userId: number | undefined, sql: string, params: unknown[] = []): Promise<Row[] | 'rejected'> {
  let outcome: Row[] | 'rejected' = 'rejected';
  const work = async (em: { execute<T>(sql: string, params: unknown[]): Promise<T> }) => {
    outcome = await em.execute<Row[]>(sql, params);
    throw new RolledBack();
  };
  const { database } = service;
  await (userId === undefined ? database.asAuthenticator(work) : database.asUser(userId, work)).catch((error: Error) => {
    if (!(error instanceof RolledBack)) expectRejection(error);
  });
  return outcome;
}

/** Any error but a missing privilege or a policy means that the statement itself is wrong, and proves nothing. */
function expectRejection(error: Error) {
  expect(error.message).toMatch(/row-level security|permission denied|can only be updated to DEFAULT/);
}

/** The statement is rejected, or it affects only rows of `other`. The statement must return the owner of each row as `owner`. */
async function expectOnlyOwnRows(sql: string, params: unknown[] = []) {
  const outcome = await attempt(other.id, sql, params);
  const rowsOfOthers = outcome === 'rejected' ? [] : outcome.filter((row) => Number(row.owner) !== other.id);
  expect([sql, rowsOfOthers]).toEqual([sql, []]);
}

const isProtected = '(c.relrowsecurity and c.relforcerowsecurity and exists (select from pg_policy p where p.polrelid = c.oid))';

test('every table has forced row-level security, a policy, and rows of two users', async () => {
  const unprotected = await queryAs(undefined, `select relname from pg_class c where ${isTable('r', 'p')} and not ${isProtected}`);
  expect(unprotected).toEqual([]);
  expect(tables.length).toBeGreaterThan(9);
  expect(tables.map(({ name }) => name)).toEqual(expect.arrayContaining(['check_logs', 'hour_statistics', 'day_statistics']));
  for (const { name } of tables) {
    for (const user of [owner, other]) expect([name, (await queryAs(user.id, `select * from ${name}`)).length > 0]).toEqual([name, true]);
  }
});

test('every partition has forced row-level security and a policy, and requests have no privilege on it', async () => {
  const privileges = ['select', 'insert', 'update', 'delete', 'truncate', 'references', 'trigger'];
  const partitions = await queryAs(
    undefined,
    `select c.relname as name, ${isProtected} as protected,
            array(select privilege from unnest(array['${privileges.join("', '")}']) privilege
                   where has_table_privilege('sitekeeper_app', c.oid, privilege)) as privileges,
            has_any_column_privilege('sitekeeper_app', c.oid, 'select, insert, update, references') as columns
       from pg_class c where c.relispartition and c.relkind in ('r', 'p') and c.relnamespace = 'public'::regnamespace order by 1`,
  );
  const names = Object.entries(rings).flatMap(([table, { slots }]) => Array.from({ length: slots }, (_, slot) => `${table}_${slot}`));
  const expected = names.toSorted().map((name) => ({ name, protected: true, privileges: [], columns: false }));
  expect(partitions.toSorted((one, other) => (String(one.name) < String(other.name) ? -1 : 1))).toEqual(expected);
  for (const name of names) {
    for (const userId of [owner.id, undefined]) {
      for (const sql of [`select * from ${name}`, `delete from ${name}`, `truncate ${name}`]) {
        expect([sql, await attempt(userId, sql)]).toEqual([sql, 'rejected']);
      }
    }
  }
});

test('a select without a filter returns only own rows, also if it locks them', async () => {
  for (const { name, owner: column } of tables) {
    const rows = await queryAs(other.id, `select ${column} as owner from ${name}`);
    expect([name, new Set(rows.map((row) => Number(row.owner)))]).toEqual([name, new Set([other.id])]);
    await expectOnlyOwnRows(`select ${column} as owner from ${name} for update`);
  }
});

test('without a user, a select returns no rows and no error', async () => {
  for (const { name } of tables) expect([name, await queryAs(undefined, `select * from ${name}`)]).toEqual([name, []]);
});

test("an update or delete without a filter does not touch another user's rows", async () => {
  for (const { name, owner: column, columns } of tables) {
    await expectOnlyOwnRows(`delete from ${name} returning ${column} as owner`);
    for (const updated of columns) await expectOnlyOwnRows(`update ${name} set ${updated} = ${updated} returning ${column} as owner`);

    // RETURNING shows only visible rows. The contents and xmin, which changes with every update, prove that the others are
    // untouched. The updates are committed; the deletes are not, because other tests need the rows.
    const contents = `select count(*)::int as count, md5(string_agg(t::text || t.xmin, ',' order by t::text)) as content from ${name} t`;
    const before = await queryAs(owner.id, contents);
    for (const updated of columns) await queryAs(other.id, `update ${name} set ${updated} = ${updated}`).catch(expectRejection);
    await attempt(other.id, `delete from ${name}`);
    await queryAs(undefined, `delete from ${name}`).catch(expectRejection);
    expect([name, await queryAs(owner.id, contents)]).toEqual([name, before]);
    expect([name, before[0]?.count]).not.toEqual([name, 0]);
  }
});

test('a row cannot be created for another user, or given to them', async () => {
  for (const { name, owner: column, insertable } of tables) {
    const [copy] = await queryAs(owner.id, `select row_to_json(t)::text as row from ${name} t limit 1`);
    const insert = `insert into ${name} (${insertable}) overriding system value select ${insertable} from json_populate_record(null::${name}, ?::json)`;
    for (const userId of [other.id, undefined]) {
      expect([name, userId, await attempt(userId, insert, [copy?.row])]).toEqual([name, userId, 'rejected']);
    }
    await expectOnlyOwnRows(`${insert} on conflict do nothing returning ${column} as owner`, [copy?.row]);
    expect([name, await attempt(other.id, `update ${name} set ${column} = ?`, [owner.id])]).toEqual([name, 'rejected']);
  }
});

test('no table can be truncated', async () => {
  for (const { name } of tables) expect([name, await attempt(other.id, `truncate ${name} cascade`)]).toEqual([name, 'rejected']);
});

test("no foreign key can reference another user's row", async () => {
  const withoutUser = await queryAs(
    undefined,
    `select conrelid::regclass::text as table, conname from pg_constraint c
      where contype = 'f' and connamespace = 'public'::regnamespace and confrelid <> 'users'::regclass
        and not exists (select from pg_attribute a where a.attrelid = c.conrelid and a.attnum = any (c.conkey) and a.attname = 'user_id')`,
  );
  expect(withoutUser).toEqual([]);
  const [theirs] = await queryAs(owner.id, 'select id from api_keys limit 1');
  const insert = `insert into api_keys (user_id, created_by, name, scopes, prefix, key_hash) values (?, ?, 'x', '{}', 'x', 'x')`;
  await expect(queryAs(other.id, insert, [other.id, theirs?.id])).rejects.toThrow(/foreign key/);
});

test('unique indexes include the user, except those on random values and e-mail addresses', async () => {
  const rows = await queryAs(
    undefined,
    `select c.relname as index from pg_index i join pg_class c on c.oid = i.indexrelid join pg_class t on t.oid = i.indrelid
      where i.indisunique and not i.indisprimary and c.relnamespace = 'public'::regnamespace
        and t.relname <> all (array['${Object.keys(ownerless).join("', '")}'])
        and not exists (select from pg_attribute a where a.attrelid = i.indrelid and a.attnum = any (i.indkey) and a.attname = 'user_id')
      order by 1`,
  );
  expect(rows.map(({ index }) => index)).toEqual([
    'api_keys_key_hash_key',
    'monitors_by_token',
    'sessions_token_hash_key',
    'users_email_key',
  ]);
});

test('no role of the service is a superuser, bypasses row-level security, can log in or owns a table', async () => {
  expect(await queryAs(undefined, 'select current_user as name')).toEqual([{ name: 'sitekeeper_app' }]);
  const roles = await queryAs(
    undefined,
    `select rolname, rolsuper or rolbypassrls or rolcreaterole or rolcreatedb or rolcanlogin as privileged,
            exists (select from pg_class where relowner = r.oid) as owns from pg_roles r
      where rolname in ('sitekeeper_app', 'sitekeeper_engine', 'sitekeeper_auth', 'sitekeeper_service') order by 1`,
  );
  for (const role of roles) expect(role).toMatchObject({ privileged: false, owns: false });
  // Only the embedded database has sitekeeper_service; on a server the operator's login takes its place.
  expect(roles.map(({ rolname }) => rolname)).toEqual(expect.arrayContaining(['sitekeeper_app', 'sitekeeper_auth', 'sitekeeper_engine']));
});

test('a user who deletes a monitor or is deleted leaves the history, and the ids that it is deleted by later', async () => {
  const user = await createUserWithRows(service);
  const asEngine = (sql: string) => service.database.asEngine((em) => em.execute<Row[]>(sql, [user.id]));
  const ofUser = async (table: string) =>
    (await asEngine(`select distinct monitor_id from ${table} where user_id = ? order by 1`)).map((row) => Number(row.monitor_id));
  const [[monitor], [deleted = 0]] = [await queryAs(user.id, 'select id from monitors'), await ofUser('deleted_monitors')];
  const monitorId = Number(monitor?.id);
  expect(deleted).toBeGreaterThan(monitorId);
  const ofOthers = () => asEngine('select user_id, monitor_id from deleted_monitors where user_id <> ? order by 1, 2');
  const before = await ofOthers();
  await deleteUser(service.database, user.id);
  expect(await ofUser('deleted_monitors')).toEqual([0, monitorId, deleted]);
  expect(await ofOthers()).toEqual(before);
  for (const table of ['hour_statistics', 'day_statistics']) expect([table, await ofUser(table)]).toEqual([table, [0, monitorId]]);
  expect(await ofUser('check_logs')).toEqual([monitorId]);
});

test('requests can read, but not change, alerts, statistics and the address of a user', async () => {
  for (const sql of [
    `update alerts set payload = '{}'`,
    'update alerts set created_at = now()',
    'delete from alerts',
    `insert into check_logs (hour, user_id, monitor_id, slot, checks) select hour, user_id, monitor_id + 1, slot, checks from check_logs`,
    `update check_logs set checks = ''`,
    'delete from check_logs',
    `update hour_statistics set hours = ''`,
    'delete from hour_statistics',
    `update day_statistics set days = ''`,
    'delete from day_statistics',
    'delete from deleted_monitors',
    'update deleted_monitors set monitor_id = 0',
    `update users set email = 'evil@example.com'`,
    'update users set suspended_at = null',
    'delete from message_counts',
  ]) {
    const attempt = service.database.asUser(owner.id, (em) => em.execute(sql, [], 'run'));
    await expect(attempt, sql).rejects.toThrow('permission denied');
  }
});

test('requests can cancel alerts, and have them sent again, but not claim that they were', async () => {
  const change = (sql: string) => service.database.asUser(owner.id, (em) => em.execute(sql, [], 'run'));
  const statuses = async () =>
    (await service.database.asUser(owner.id, (em) => em.execute<{ status: string }[]>('select distinct status from alerts'))).map(
      (row) => row.status,
    );
  for (const status of ['sent', 'failed']) {
    const sql = `update alerts set status = '${status}'`;
    await expect(change(sql), sql).rejects.toThrow('row-level security');
  }
  expect(await statuses()).toEqual(['queued']);
  for (const status of ['suppressed', 'queued', 'suppressed']) {
    await change(`update alerts set status = '${status}', queued_at = now(), next_attempt_at = now(), lease_token = null`);
    expect(await statuses()).toEqual([status]);
  }
});

test('requests can log tests that they have sent themselves, and queue nothing but links and ends', async () => {
  const insert = (alert: string, status: string) =>
    service.database.asUser(owner.id, (em) =>
      em.execute(
        `insert into alerts (user_id, provider_id, kind, payload, status) select user_id, id, ${alert}, '${status}' from providers`,
        [],
        'run',
      ),
    );
  const ofType = (type: string) => `'${type}', '{"type":"${type}"}'`;
  for (const [alert, status] of [
    [sampleAlert(), 'sent'],
    [ofType('test'), 'queued'],
    [ofType('test'), 'suppressed'],
    [ofType('recipient.confirmation'), 'sent'],
    [ofType('monitor.recovered'), 'sent'],
    [ofType('monitor.down'), 'queued'],
    [`'recipient.confirmation', '{"type":"monitor.down"}'`, 'queued'],
    [`'recipient.confirmation', '{}'`, 'queued'],
  ] as const) {
    await expect(insert(alert, status), `${alert} ${status}`).rejects.toThrow('row-level security');
  }
  await expect(insert(ofType('test'), 'sent')).resolves.toMatchObject({ affectedRows: 1 });
  for (const type of ['recipient.confirmation', 'monitor.recovered', 'monitor.tls_renewed']) {
    await expect(insert(ofType(type), 'queued')).resolves.toMatchObject({ affectedRows: 1 });
  }
});

test('requests can acknowledge and resolve open incidents of the user, and change nothing else in incidents', async () => {
  const change = (sql: string) => service.database.asUser(owner.id, (em) => em.execute(sql, [], 'run'));
  for (const assignment of ['started_at = now()', `cause = 'x'`, 'status_code = 200', 'monitor_id = monitor_id', 'user_id = user_id']) {
    await expect(change(`update incidents set ${assignment}`), assignment).rejects.toThrow('permission denied');
  }
  const times = (user: TestUser) => queryAs(user.id, 'select resolved_at, acknowledged_at from incidents');
  const ofOther = await times(other);
  await change('update incidents set acknowledged_at = now()');
  expect(await times(owner)).toEqual([{ resolved_at: null, acknowledged_at: expect.anything() }]);
  await change('update incidents set resolved_at = greatest(now(), started_at)');
  const resolved = await times(owner);
  expect(resolved).toEqual([{ resolved_at: expect.anything(), acknowledged_at: expect.anything() }]);
  for (const assignment of ['acknowledged_at = null', 'resolved_at = null']) await change(`update incidents set ${assignment}`);
  expect(await times(owner)).toEqual(resolved);
  expect(await times(other)).toEqual(ofOther);
});

test('the engine can do only what checks and alerts need', async () => {
  const attemptAsEngine = (sql: string) =>
    service.database
      .asEngine((em) => em.execute<Row[]>(sql))
      .catch((error: Error) => {
        expectRejection(error);
        return 'rejected';
      });
  for (const sql of [
    'select * from users',
    'select * from api_keys',
    'select * from sessions',
    'select * from websites',
    'select * from idempotent_responses',
    'select * from migration_checksums',
    `update monitors set url = 'https://evil.example'`,
    'update providers set recipient_unconfirmed = false',
    'delete from monitors',
    'insert into providers (user_id, provider_type) values (1, null)',
    `update providers set settings = '{"recipient_email": "evil@example.com"}'`,
    'delete from notifications',
    'delete from roll_up_progress',
    'insert into deleted_monitors (user_id, monitor_id) values (1, 1)',
    'update deleted_monitors set monitor_id = 0',
    // It truncates only single partitions, and writes only to the tables, which find the partition.
    ...Object.keys(rings).flatMap((name) => [`truncate ${name}`, `delete from ${name}_0`, `update ${name}_0 set slot = slot`]),
    `select * from auth_find_user('user1@example.com')`,
  ]) {
    expect([sql, await attemptAsEngine(sql)]).toEqual([sql, 'rejected']);
  }
  // It sees the monitors of all users.
  expect(await attemptAsEngine(`select distinct user_id from monitors where user_id in (${owner.id}, ${other.id})`)).toHaveLength(2);
});

test('requests cannot list users or keys, and the engine sees of users only who is suspended', async () => {
  const suspended = await service.createUser();
  for (const userId of [undefined, other.id]) {
    for (const call of [
      `operator_find_user('${suspended.email}')`,
      'operator_list_users(0, 10)',
      'operator_list_keys(0, 10, null, null, null, null)',
      `operator_set_suspended(${suspended.id}, true)`,
    ]) {
      expect([call, await attempt(userId, `select * from ${call}`)]).toEqual([call, 'rejected']);
    }
    expect(await attempt(userId, 'update users set suspended_at = null')).toBe('rejected');
  }
  const asEngine = (sql: string) => service.database.asEngine((em) => em.execute<Row[]>(sql));
  expect(await asEngine('select id from users')).toEqual([]);
  await asEngine(`select operator_set_suspended(${suspended.id}, true)`);
  expect(await asEngine('select id from users')).toEqual([{ id: suspended.id }]);
  await expect(asEngine('select email from users')).rejects.toThrow(/permission denied/);
  await expect(asEngine('update users set suspended_at = null')).rejects.toThrow(/permission denied/);
  await asEngine(`select operator_set_suspended(${suspended.id}, false)`);
  const listed = (await asEngine('select * from operator_list_keys(0, 1000000, null, null, null, null)'))[0] ?? {};
  expect(Object.keys(listed).filter((column) => /hash|password/.test(column))).toEqual([]);
});

test('the auth functions look up exact values only, and their role cannot be assumed', async () => {
  expect(await queryAs(undefined, `select * from auth_find_api_key('\\x00')`)).toEqual([]);
  expect(await queryAs(undefined, `select * from auth_find_session('\\x00')`)).toEqual([]);
  expect(await queryAs(undefined, `select * from auth_find_user('%')`)).toEqual([]);
  await expect(queryAs(undefined, 'set local role sitekeeper_auth')).rejects.toThrow(/permission denied/);
});

test('requests can read but not change the list of migrations and the progress of statistics, and cannot access checksums or the id of the installation', async () => {
  expect(await attempt(undefined, 'select name from migrations')).toContainEqual({ name: '0001_baseline' });
  expect(await attempt(owner.id, 'select monitor_id from roll_up_progress')).toEqual([{ monitor_id: 0 }]);
  for (const userId of [undefined, other.id]) {
    for (const table of ['migration_checksums', 'installation']) expect(await attempt(userId, `select * from ${table}`)).toBe('rejected');
    for (const [table, column] of Object.entries(ownerless)) {
      for (const sql of [
        `insert into ${table} default values`,
        `update ${table} set ${column} = ${column}`,
        `delete from ${table}`,
        `truncate ${table}`,
      ]) {
        expect([sql, await attempt(userId, sql)]).toEqual([sql, 'rejected']);
      }
    }
  }
});

test("an assignment of another user's provider is treated like one of a provider that does not exist", async () => {
  const monitorId = await createMonitor({ service, user: other });
  const ownersId = await createProvider({ service, user: owner });
  // With as many digits, the responses have the same length.
  const unknownId = Number('9'.repeat(String(ownersId).length));
  const path = `/api/monitors/${monitorId}/notifications`;
  const requests: Send[] = [
    (provider_id) => other.api.post(path, { json: { provider_id } }),
    (provider_id) => other.api.post(path, { json: { provider_id, enabled: false } }),
    (provider_id) => other.api.post(path, { json: { provider_id }, headers: { 'Idempotency-Key': `for ${provider_id}` } }),
    (provider_id) => other.api.delete(path, { json: { provider_id } }),
    (provider_id) => other.api.delete(`${path}?provider_id=${provider_id}`),
  ];
  for (const send of requests) {
    await send(unknownId); // The first request may prepare statements.
    const [owned, unknown] = [await recordWithCachedKey(ownersId, send), await recordWithCachedKey(unknownId, send)];
    expect(owned.response.status).toBe(404);
    expect(owned.response).toEqual(unknown.response);
    // On PostgreSQL the statements are compared as well. The embedded database does not use this driver.
    if (process.env.TEST_DATABASE_URL) expect(owned.statements.length).toBeGreaterThan(2);
    expect(owned.statements).toEqual(unknown.statements);
  }
  expect((await other.api.get(path)).body.data).toEqual([]);
});

type Send = (providerId: number) => Promise<ApiResponse>;

/** Every few seconds a key is looked up again, or its last use is written. Such a recording is repeated. */
async function recordWithCachedKey(providerId: number, send: Send) {
  for (let tries = 1; ; tries++) {
    const recording = await record(providerId, send);
    if (tries === 5 || !recording.statements.some((text) => /auth_find_api_key|last_used_at/.test(text))) return recording;
  }
}

/** Returns the response, without what differs between any two requests, and the statements that were sent for it, in order. */
async function record(providerId: number, send: Send) {
  const query = vi.spyOn(pg.Client.prototype, 'query');
  const pipelined: string[] = [];
  const queryFor = service.database.query.bind(service.database);
  const queryOfUser = vi.spyOn(service.database, 'query').mockImplementation((userId) => {
    const recorded: Query = (...statements) => {
      pipelined.push(...statements.map(({ text }) => text));
      return queryFor(userId)(...statements);
    };
    return recorded;
  });
  try {
    const { status, headers, text, body } = await send(providerId);
    const variable = ['x-request-id', 'date', 'ratelimit', 'x-ratelimit-remaining', 'x-ratelimit-reset'];
    return {
      response: {
        status,
        text: text.replace(body.request_id, '…').replace(`Provider ${providerId} `, 'Provider … '),
        headers: [...headers].filter(([name]) => !variable.includes(name)),
      },
      statements: [...query.mock.calls.map(([statement]) => withoutValues(statement)).filter((text) => text !== heartbeat), ...pipelined],
    };
  } finally {
    query.mockRestore();
    queryOfUser.mockRestore();
  }
}

/** The connection for notifications sends this every few seconds. */
const heartbeat = 'select 1';

/** The texts of a pipelined query are recorded separately, because it does not show them. */
function withoutValues(statement: unknown): string {
  if (statement instanceof PipelinedQuery) return 'pipelined';
  const text = typeof statement === 'string' ? statement : (statement as { text?: string })?.text;
  if (text === undefined) throw new Error('A statement has no text.');
  return text.replace(/'(?:[^']|'')*'/g, '?');
}
