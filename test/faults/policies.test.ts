// What one user may see and do of another's: nothing, and nothing tells that it is there.
import pg from 'pg';
import { afterAll, beforeAll, expect, vi } from 'vitest';
import type { ApiResponse } from '../support/api-client.ts';
import { startService, type TestService, type TestUser } from '../support/service.ts';
import { createUserWithRows } from '../support/user-with-rows.ts';
import { createMonitor, createProvider } from '../support/valid-requests.ts';
import { fault } from './fault.ts';

type Row = Record<string, unknown>;

let service: TestService;
let owner: TestUser;
let other: TestUser;

beforeAll(async () => {
  service = await startService();
  [owner, other] = [await createUserWithRows(service), await createUserWithRows(service)];
});
afterAll(() => service.stop());

/** One statement of a user, without any filter of ours. It is taken back, so that each table is tried as it was. */
async function attempt(user: TestUser, sql: string, params: unknown[] = []): Promise<Row[] | 'refused'> {
  let outcome: Row[] | 'refused' = 'refused';
  await service.database
    .asUser(user.id, async (em) => {
      outcome = await em.execute<Row[]>(sql, params);
      throw new TakenBack();
    })
    .catch((error: Error) => {
      if (!(error instanceof TakenBack) && !/row-level security|permission denied|can only be updated to DEFAULT/.test(error.message))
        throw error;
    });
  return outcome;
}

class TakenBack extends Error {}

fault(19, 'Policies: every table, two users, all verbs, no filters: nothing foreign', async () => {
  const tables = (await attempt(
    other,
    `select c.relname as table, case when c.relname = 'users' then 'id' else 'user_id' end as whose,
            array(select attname::text from pg_attribute where attrelid = c.oid and attnum > 0 and attidentity = '' and not attisdropped) as columns
       from pg_class c where relkind in ('r', 'p', 'v', 'm') and relnamespace = 'public'::regnamespace and relname <> 'migrations'`,
  )) as { table: string; whose: string; columns: string[] }[];
  expect(tables.length).toBeGreaterThan(9);
  let statements = 0;
  for (const { table, whose, columns } of tables) {
    const foreign = async (sql: string, params?: unknown[]) => {
      const rows = await attempt(other, sql, params);
      statements++;
      return rows === 'refused' ? [] : rows.filter((row) => Number(row.whose) !== other.id);
    };
    const expectNothing = async (sql: string, params?: unknown[]) => expect([sql, await foreign(sql, params)]).toEqual([sql, []]);
    expect([table, ((await attempt(owner, `select * from ${table}`)) as Row[]).length > 0]).toEqual([table, true]);
    expect([table, ((await attempt(other, `select * from ${table}`)) as Row[]).length > 0]).toEqual([table, true]);
    await expectNothing(`select ${whose} as whose from ${table}`);
    await expectNothing(`select ${whose} as whose from ${table} for update`);
    await expectNothing(`delete from ${table} returning ${whose} as whose`);
    // What is returned is how the row is now; one that was handed over would show.
    for (const column of columns) {
      await expectNothing(`update ${table} set ${column} = ${column} returning ${whose} as whose`);
      if (column === whose) await expectNothing(`update ${table} set ${column} = ? returning ${whose} as whose`, [owner.id]);
    }
    const [copy] = (await attempt(owner, `select row_to_json(t)::text as row from ${table} t limit 1`)) as Row[];
    const values = `select * from json_populate_record(null::${table}, ?::json)`;
    for (const conflict of ['', ' on conflict do nothing']) {
      await expectNothing(`insert into ${table} overriding system value ${values}${conflict} returning ${whose} as whose`, [copy?.row]);
    }
    expect([table, await attempt(other, `truncate ${table} cascade`)]).toEqual([table, 'refused']);
    statements++;
  }
  return `${tables.length} tables, ${statements} statements, 0 foreign rows`;
});

fault(20, 'A foreign provider in an assignment: byte for byte the answer for an unknown one, by the same statements', async () => {
  const monitorId = await createMonitor({ service, user: other });
  const theirs = await createProvider({ service, user: owner });
  const path = `/api/monitors/${monitorId}/notifications`;
  const unknown = theirs + 1_000_000;
  const asks: ((providerId: number) => Promise<ApiResponse>)[] = [
    (provider_id) => other.api.post(path, { json: { provider_id } }),
    (provider_id) => other.api.post(path, { json: { provider_id, enabled: false } }),
    (provider_id) => other.api.post(path, { json: { provider_id }, headers: { 'Idempotency-Key': `for ${provider_id}` } }),
    (provider_id) => other.api.delete(path, { json: { provider_id } }),
    (provider_id) => other.api.delete(`${path}?provider_id=${provider_id}`),
  ];
  let count = 0;
  for (const ask of asks) {
    await ask(unknown); // so that nothing is done for the first time
    const [foreign, nobodys] = [await recordedWithKnownKey(() => ask(theirs)), await recordedWithKnownKey(() => ask(unknown))];
    expect(foreign.answer.status).toBe(404);
    expect(foreign.answer).toEqual(nobodys.answer);
    expect(foreign.statements.length).toBeGreaterThan(2);
    expect(foreign.statements).toEqual(nobodys.statements);
    count += foreign.statements.length;
  }
  expect((await other.api.get(path)).body.data).toEqual([]);
  return `${asks.length} ways to ask, the same bytes and the same ${count} statements`;
});

/** Every few seconds a key is looked up again, and its use is written; such a recording is made anew. */
async function recordedWithKnownKey(ask: () => Promise<ApiResponse>) {
  for (let tries = 1; ; tries++) {
    const recording = await recorded(ask);
    if (tries === 5 || !recording.statements.some((text) => /auth_find_api_key|last_used_at/.test(text))) return recording;
  }
}

/** What the answer was but for what is the request's own, and what was sent to the database for it, in order. */
async function recorded(ask: () => Promise<ApiResponse>) {
  const query = vi.spyOn(pg.Client.prototype, 'query');
  try {
    const { status, headers, text, body } = await ask();
    const statements = query.mock.calls.map(([statement]) => textOf(statement));
    const own = ['x-request-id', 'date', 'ratelimit', 'x-ratelimit-remaining', 'x-ratelimit-reset'];
    return {
      answer: { status, text: text.replace(body.request_id, '…'), headers: [...headers].filter(([name]) => !own.includes(name)) },
      statements,
    };
  } finally {
    query.mockRestore();
  }
}

function textOf(statement: unknown): string {
  const text = typeof statement === 'string' ? statement : (statement as { text?: string })?.text;
  if (text === undefined) throw new Error('a statement without a text');
  return text.replace(/'(?:[^']|'')*'/g, '?'); // values stand in the text
}
