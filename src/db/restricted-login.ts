import { sql } from 'kysely';
import { prepare, type Query } from './statement.ts';

/**
 * Throws if row-level security would not restrict a login: because of what the login may do itself, or because of a role that it
 * can become. The role of the connection proves nothing, because RESET ROLE returns to the login. Without `login`, the login of
 * the connection is checked.
 */
export async function assertRestrictedLogin(query: Query, login?: string): Promise<void> {
  const [[found]] = await query(findPower({ login }));
  if (!found) return;
  const via = found.role === found.login ? '' : `can become "${found.role}", which `;
  throw new Error(
    `The login "${found.login}" in DATABASE_URL ${via}${found.power}, so row-level security would not restrict it. Use a login that owns nothing, such as the one that deploy/create-database.sql creates, and set MIGRATE_DATABASE_URL to the login of the database owner.`,
  );
}

/** Throws if the server has no such login. */
export async function assertLoginExists(query: Query, login: string): Promise<void> {
  const [[found]] = await query(findRole({ login }));
  if (found) return;
  throw new Error(
    `PostgreSQL has no role "${login}", the login in DATABASE_URL. Correct its user name, or create it with deploy/create-database.sql.`,
  );
}

const findRole = prepare(({ login }: { login: string }) => sql<{ rolname: string }>`select rolname from pg_roles where rolname = ${login}`);

/** Finds a privilege with which a login could read or change the rows of all users. The login's own privileges come first. */
const findPower = prepare(
  ({ login }: { login: string | undefined }) => sql<{ login: string; role: string; power: string }>`
  select * from (
    select login.rolname as login, role.rolname as role, role.oid <> login.oid as acquired,
           case when role.rolsuper then 'is a superuser'
                when role.rolbypassrls then 'has BYPASSRLS'
                when role.rolcreaterole then 'has CREATEROLE'
                when role.rolreplication then 'has REPLICATION'
                when role.rolname in ('pg_read_server_files', 'pg_write_server_files', 'pg_execute_server_program')
                  then 'can access files of the server'
                when exists (select from pg_database where datname = current_database() and datdba = role.oid) then 'owns the database'
                when exists (select from pg_namespace where nspname = 'public' and nspowner = role.oid) then 'owns the schema'
                when exists (select from pg_class where relowner = role.oid) then 'owns tables'
                when exists (select from pg_proc where proowner = role.oid) then 'owns functions'
           end as power
      from pg_roles login join pg_roles role on pg_has_role(login.oid, role.oid, 'member')
     where login.rolname = coalesce(${login}, session_user)
  ) as powers
  where power is not null
  order by acquired, role
  limit 1`,
);
