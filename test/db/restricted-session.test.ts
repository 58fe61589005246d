// The embedded database authenticates its only session as the superuser. The session must not be able to return to it.
import { readFile } from 'node:fs/promises';
import type { PGlite } from '@electric-sql/pglite';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import type { Database } from '../../src/db/database.ts';
import { openOnPglite, startPglite } from '../../src/db/embedded.ts';
import { entities } from '../../src/entities.ts';

const source = inject('source');
const isEmbedded = 'snapshot' in source;
let pglite: PGlite;
let database: Database;

beforeAll(async () => {
  if (!('snapshot' in source)) return;
  pglite = await startPglite({ loadDataDir: new Blob([await readFile(source.snapshot)]) });
  database = await openOnPglite(pglite, entities);
});
afterAll(() => database?.close());

/** Every way to run a statement that code of the service has. */
const ways: Record<string, (sql: string) => Promise<unknown>> = {
  authenticator: (sql) => database.asAuthenticator((em) => em.execute(sql)),
  user: (sql) => database.asUser(1, (em) => em.execute(sql)),
  engine: (sql) => database.asEngine((em) => em.execute(sql)),
  query: (sql) => database.query(1)({ text: sql, values: [] } as never),
  'PGlite query': (sql) => pglite.query(sql),
  'PGlite exec': (sql) => pglite.exec(sql),
  'PGlite transaction': (sql) => pglite.transaction((transaction) => transaction.exec(sql)),
};

const attacks = [
  `select set_config('session_authorization', 'postgres', false)`,
  `select set_config('session_authorization', 'postgres', true)`,
  `update pg_settings set setting = 'postgres' where name = 'session_authorization'`,
  `select query_to_xml('select set_config(''session_authorization'', ''postgres'', false)', true, true, '')`,
  `select query_to_xml('set session authorization postgres', true, true, '')`,
  `with changed as materialized (select set_config('session_authorization', 'postgres', false)) select * from changed`,
  'set session authorization postgres',
  'set session authorization default',
  'set local session authorization postgres',
  'set local  session authorization postgres',
  'set local session_authorization = postgres',
  'set local "session_authorization" = postgres',
  'set session_authorization to postgres',
  'reset session authorization',
  'discard all',
  `do $$ begin set session authorization postgres; end $$`,
  `/* select */ set session authorization postgres`,
  `-- select\nset session authorization postgres`,
  `select 1; set session authorization postgres`,
  'set local role postgres',
  'set local role sitekeeper_auth',
];

test.runIf(isEmbedded).each(Object.keys(ways))('no statement gives the session the rights of the superuser (%s)', async (way) => {
  for (const sql of attacks) {
    const error = await ways[way]?.(sql).then(
      () => undefined,
      (cause: Error) => cause.message,
    );
    expect([sql, error]).toEqual([
      sql,
      expect.stringMatching(/permission denied|cannot insert multiple commands|is not allowed in a non-volatile function/),
    ]);
    const { rows } = await pglite.query(`select session_user as login, current_user as role, current_setting('is_superuser') as super`);
    expect([sql, rows]).toEqual([sql, [{ login: 'sitekeeper_service', role: 'sitekeeper_app', super: 'off' }]]);
  }
});

test.runIf(isEmbedded)('a user that was set ends with the transaction', async () => {
  const current = `select current_user_id() as id`;
  expect(await database.asUser(7, (em) => em.execute(current))).toEqual([{ id: 7 }]);
  expect(await database.asAuthenticator((em) => em.execute(current))).toEqual([{ id: null }]);
});

test.runIf(isEmbedded)('a backup that fails leaves the session without the rights of the superuser', async () => {
  await expect(database.backup?.('/dev/null/backup', new AbortController().signal)).rejects.toThrow('ENOTDIR');
  const { rows } = await pglite.query('select session_user, current_user, count(*)::int as slots from pg_replication_slots');
  expect(rows).toEqual([{ session_user: 'sitekeeper_service', current_user: 'sitekeeper_app', slots: 0 }]);
});
