import type { PGlite, Transaction } from '@electric-sql/pglite';
import { maintenanceGrants } from './maintenance.ts';

/**
 * Takes the rights of a superuser from the only session of the embedded database, for as long as it runs. PGlite authenticates
 * it as the superuser, and PostgreSQL lets such a session return to that user, in two ways: with set_config, which the service
 * loses the right to execute, and with statements such as SET SESSION AUTHORIZATION, which are not passed to the database.
 */
export async function restrictSession(pglite: PGlite): Promise<SuperuserQuery> {
  const exec = pglite.exec.bind(pglite);
  const restrict = 'set session authorization sitekeeper_service; set role sitekeeper_app';
  await exec(`
    do $$ begin
      if not exists (select from pg_roles where rolname = 'sitekeeper_service') then
        create role sitekeeper_service nologin noinherit in role sitekeeper_app, sitekeeper_engine;
      end if;
      if has_function_privilege('sitekeeper_service', 'set_config(text, text, boolean)', 'execute') then
        revoke execute on function set_config from public;
        grant execute on function set_config to sitekeeper_auth;
      end if;
      if not (select prosecdef from pg_proc where oid = 'set_user_id(text)'::regprocedure) then
        alter function set_user_id security definer set search_path = pg_catalog, public, pg_temp;
        alter function set_user_id owner to sitekeeper_auth;
      end if;
    end $$;
    ${maintenanceGrants}
    ${restrict};
  `);
  rejectOtherStatements(pglite);
  // PostgreSQL runs these statements in one transaction, so the session is restricted again even if one fails.
  return async <Row>(sql: string) =>
    (await exec(`set session authorization postgres; set role none; ${sql}; ${restrict}`))[2]?.rows as Row[];
}

/** Runs one statement with the rights of a superuser, for what the database layer itself needs. Its text must be constant. */
export type SuperuserQuery = <Row>(sql: string) => Promise<Row[]>;

/**
 * What the service and its tests send. PGlite runs one statement per query, so its first word decides what it can do. A comment
 * before it is not allowed. SET, RESET, DISCARD and DO could change the user of the session.
 */
const allowedStatement =
  /^\s*(select|insert|update|delete|with|values|explain|truncate|lock|savepoint|release|rollback|set local (?!session)[a-z])/i;

function rejectOtherStatements(pglite: PGlite) {
  const guard = (query: Transaction['query']): Transaction['query'] =>
    async function guarded(text, ...rest) {
      if (allowedStatement.test(text)) return query(text, ...rest);
      throw new Error(`permission denied: the embedded database runs no statement that begins with "${text.slice(0, 30)}"`);
    };
  const rejectScript = () => Promise.reject(new Error('permission denied: the embedded database runs one statement at a time'));
  const exec = pglite.exec.bind(pglite);
  const transaction = pglite.transaction.bind(pglite);
  pglite.query = guard(pglite.query.bind(pglite));
  pglite.transaction = (work) => transaction((own) => work({ ...own, query: guard(own.query), exec: rejectScript, sql: rejectScript }));
  // PGlite itself listens this way.
  pglite.exec = (text, ...rest) => (/^(un)?listen [^;]+;?$/i.test(text) ? exec(text, ...rest) : rejectScript());
  pglite.sql = rejectScript;
}
