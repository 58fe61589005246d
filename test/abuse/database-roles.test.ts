// What the database allows the service, if the operator or the code of the service makes a mistake.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, beforeAll, expect, inject } from 'vitest';
import { createUser } from '../../src/accounts/users.ts';
import type { Database } from '../../src/db/database.ts';
import { migratePostgres } from '../../src/db/postgres.ts';
import { createDatabase, ownerUrlOf, urlOf } from '../support/database.ts';
import { guarantee } from '../support/guarantee.ts';
import { run } from '../support/process.ts';

const isEmbedded = 'snapshot' in inject('source');
let database: Database;
let folder: string;

beforeAll(async () => {
  database = await createDatabase();
  folder = await mkdtemp(join(tmpdir(), 'sitekeeper-abuse-'));
});
afterAll(async () => {
  await database.close();
  await rm(folder, { recursive: true });
});

guarantee(6, 'The service does not start with a login that could bypass row-level security', async () => {
  const [session] = await database.asAuthenticator((em) =>
    em.execute<object[]>(
      `select current_user as role, rolsuper or rolbypassrls or rolcreaterole as privileged,
              exists (select from pg_class join pg_roles r on pg_has_role(session_user, r.oid, 'member') where relowner = r.oid) as owns
         from pg_roles where rolname = session_user`,
    ),
  );
  expect(session).toEqual({ role: 'sitekeeper_app', privileged: false, owns: false });
  if (isEmbedded) {
    for (const sql of [
      `select set_config('session_authorization', 'postgres', false)`,
      'set session authorization postgres',
      'reset session authorization',
    ]) {
      await expect(database.asAuthenticator((em) => em.execute(sql))).rejects.toThrow(/permission denied/);
    }
    return 'its session has no privileges, and cannot return to the superuser';
  }

  const refused: string[] = [];
  const logins = [ownerUrlOf(database), ...(await superuserUrls())];
  for (const login of logins) {
    const SECRET_KEY = Buffer.alloc(32, 1).toString('base64');
    const { ended, printed } = run(folder, { PORT: '0', SECRET_KEY, DATABASE_URL: login, MIGRATE_DATABASE_URL: ownerUrlOf(database) });
    const { username } = new URL(login);
    expect([await ended, printed()]).toEqual([1, expect.stringMatching(/^Cannot start\. The login "\w+" in DATABASE_URL [^\n]+\n$/)]);
    refused.push(`${username} (${/DATABASE_URL ([^,]+),/.exec(printed())?.[1]})`);
  }
  return `refused: ${refused.join(', ')}`;
});

guarantee(2, 'Nothing that the service creates in the database can change what functions with more rights do', async () => {
  // A copy of a database lacks the privileges of the original on the database itself. The service restores them when it migrates.
  if (!isEmbedded) await migratePostgres(ownerUrlOf(database), urlOf(database));
  await createUser(database, 'ada@example.com', 'correct horse battery');
  const shadows = [
    `create temporary table users as select 1::bigint as id, 'ada@example.com'::text as email, 'forged'::text as password_hash`,
    `create function pg_temp.lower(text) returns text language sql as 'select ''forged'''`,
    'create operator pg_temp.= (leftarg = text, rightarg = text, function = texteq)',
  ];
  for (const sql of shadows) {
    await expect(database.asAuthenticator((em) => em.execute(sql))).rejects.toThrow(/permission denied/);
    await expect(database.asEngine((em) => em.execute(sql))).rejects.toThrow(/permission denied/);
  }
  const [privileges] = await database.asAuthenticator((em) =>
    em.execute<object[]>(
      `select has_database_privilege(current_database(), 'temporary') as temporary, has_schema_privilege('public', 'create') as create`,
    ),
  );
  expect(privileges).toEqual({ temporary: false, create: false });
  const [found] = await database.asAuthenticator((em) =>
    em.execute<{ password_hash: string }[]>(`select password_hash from auth_find_user('ada@example.com')`),
  );
  expect(found?.password_hash).toMatch(/^\$argon2id\$/);
  return 'temporary tables, functions and operators: 6 of 6 attempts rejected';
});

/** The superuser of .ci/with-postgres has no password. Other servers may not let the tests log in as superuser. */
async function superuserUrls(): Promise<string[]> {
  const url = new URL(urlOf(database));
  url.username = 'postgres';
  const client = new pg.Client({ connectionString: url.href });
  try {
    await client.connect();
    return [url.href];
  } catch (error) {
    // The server of a developer may have another superuser. CI starts its own.
    if (process.env.CI) throw error;
    return [];
  } finally {
    await client.end();
  }
}
