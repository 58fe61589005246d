// Functions that run with the rights of their owner: nothing that a caller creates can change what they do.
import { readFile } from 'node:fs/promises';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { createUser } from '../../src/accounts/users.ts';
import type { Database } from '../../src/db/database.ts';
import { openOnPglite, startPglite } from '../../src/db/embedded.ts';
import { migratePostgres } from '../../src/db/postgres.ts';
import { entities } from '../../src/entities.ts';
import { createDatabase, ownerUrlOf, urlOf } from '../support/database.ts';

let database: Database;

beforeAll(async () => {
  database = await createDatabase();
  // A copy of a database lacks the privileges of the original on the database itself. The service restores them when it migrates.
  if ('server' in inject('source')) await migratePostgres(ownerUrlOf(database), urlOf(database));
});
afterAll(() => database.close());

const query = (sql: string, on = database) => on.asAuthenticator((em) => em.execute<object[]>(sql));

test('every function with the rights of its owner has a fixed search path and an owner without privileges', async () => {
  const functions = await query(
    `select proname, proconfig, rolsuper or rolbypassrls or rolcreaterole as privileged,
            exists (select from pg_class where relowner = r.oid) as owns
       from pg_proc join pg_roles r on r.oid = proowner
      where prosecdef and pronamespace = 'public'::regnamespace`,
  );
  expect(functions.length).toBeGreaterThan(5);
  for (const definer of functions) {
    expect(definer).toMatchObject({ proconfig: ['search_path=pg_catalog, public, pg_temp'], privileged: false, owns: false });
  }
});

test('no function can be executed by everyone, and each only by the roles that need it', async () => {
  const grants = await query(
    `select proname || ': ' || coalesce(string_agg(distinct case grantee when 0 then 'PUBLIC' else grantee::regrole::text end, ', '), '') as granted
       from pg_proc left join lateral (
              select grantee from aclexplode(coalesce(proacl, acldefault('f', proowner))) where grantee <> proowner) as acl on true
      where pronamespace = 'public'::regnamespace group by pg_proc.oid, proname order by 1`,
  );
  const granted = grants.map((row) => (row as { granted: string }).granted);
  expect(granted.filter((text) => text.includes('PUBLIC'))).toEqual([]);
  for (const text of granted.filter((name) => name.startsWith('auth_'))) expect(text).toMatch(/^auth_\w+: sitekeeper_app$/);
  const operatorFunctions = granted.filter((name) => name.startsWith('operator_'));
  expect(operatorFunctions.length).toBeGreaterThan(3);
  for (const text of operatorFunctions) expect(text).toMatch(/^operator_\w+: sitekeeper_engine$/);
  expect(granted).toEqual(
    expect.arrayContaining(['maintain_website_count: ', 'current_user_id: sitekeeper_app', 'set_user_id: sitekeeper_app']),
  );
});

/** A table, a function and an operator that would replace what auth_find_user uses, if they were found first. */
const shadows = [
  `create temporary table users as select 1::bigint as id, 'ada@example.com'::text as email, 'forged'::text as password_hash`,
  `create function pg_temp.lower(text) returns text language sql as 'select ''forged'''`,
  'create operator pg_temp.= (leftarg = text, rightarg = text, function = texteq)',
];

test('the service cannot create temporary tables, functions or operators, and nothing in the schema', async () => {
  for (const sql of [
    ...shadows,
    'create table public.shadow ()',
    `create function public.lower(text) returns text language sql return ''`,
  ]) {
    await expect(query(sql)).rejects.toThrow(/permission denied/);
    await expect(database.asEngine((em) => em.execute(sql))).rejects.toThrow(/permission denied/);
  }
  const roles = await query(
    `select rolname from pg_roles where rolname like 'sitekeeper%' and rolname <> 'sitekeeper_owner'
        and has_database_privilege(oid, current_database(), 'temporary')`,
  );
  expect(roles).toEqual([]);
});

describe('with the right to create temporary objects', () => {
  let permissive: Permissive;

  beforeAll(async () => {
    permissive = 'snapshot' in inject('source') ? await openPermissiveEmbedded() : await openPermissiveOnServer();
  });
  afterAll(() => permissive.close());

  test('a temporary table, function or operator still does not change what an auth function returns', async () => {
    const stored = await permissive.asService(
      ...shadows,
      'set search_path = pg_temp, public',
      `select password_hash from auth_find_user('ADA@example.com')`,
    );
    expect(stored).toEqual([{ password_hash: expect.stringMatching(/^\$argon2id\$/) }]);
  });
});

interface Permissive {
  /** Runs statements in a session with the roles of the service, and returns the rows of the last one. */
  asService(...statements: string[]): Promise<unknown[]>;
  close(): Promise<void>;
}

async function openPermissiveOnServer(): Promise<Permissive> {
  const shared = await createDatabase();
  await createUser(shared, 'ada@example.com', 'correct horse battery');
  const owner = new pg.Client({ connectionString: ownerUrlOf(shared) });
  await owner.connect();
  await owner.query(`do $$ begin execute format('grant temporary on database %I to sitekeeper_app', current_database()); end $$`);
  await owner.end();
  const client = new pg.Client({ connectionString: urlOf(shared), options: '-c role=sitekeeper_app' });
  await client.connect();
  return {
    async asService(...statements) {
      let rows: unknown[] = [];
      for (const statement of statements) ({ rows } = await client.query(statement));
      return rows;
    },
    async close() {
      await client.end();
      await shared.close();
    },
  };
}

async function openPermissiveEmbedded(): Promise<Permissive> {
  const source = inject('source') as { snapshot: string };
  const pglite = await startPglite({ loadDataDir: new Blob([await readFile(source.snapshot)]) });
  // Opening the database takes the rights of the session, so its functions are kept to be used after that.
  const exec = pglite.exec.bind(pglite);
  await exec('grant temporary on database postgres to sitekeeper_app');
  const opened = await openOnPglite(pglite, entities);
  await createUser(opened, 'ada@example.com', 'correct horse battery');
  return {
    async asService(...statements) {
      return (await exec(statements.join(';\n'))).at(-1)?.rows ?? [];
    },
    close: () => opened.close(),
  };
}
