import type pg from 'pg';

/** The login of the service in tests. The role in TEST_DATABASE_URL owns the databases, and the service refuses owners. */
const serviceLogin = 'sitekeeper_login';

/** Returns the URL of another database on the same server. */
export function databaseUrl(server: string, name: string): string {
  const url = new URL(server);
  url.pathname = `/${name}`;
  return url.href;
}

/** Returns the URL with which the service logs in to the database of this owner. */
export function serviceUrl(ownerUrl: string): string {
  const url = new URL(ownerUrl);
  url.username = serviceLogin;
  return url.href;
}

/** Creates the login of the service, with the password of the owner, unless another test run has created it. */
export async function createServiceLogin(owner: pg.Client, ownerUrl: string): Promise<void> {
  const password = owner.escapeLiteral(decodeURIComponent(new URL(ownerUrl).password));
  await owner.query(`
    do $$ begin
      create role ${serviceLogin} login noinherit;
    exception when duplicate_object or unique_violation then
      null;
    end $$`);
  if (password !== "''") await owner.query(`alter role ${serviceLogin} password ${password}`);
}
