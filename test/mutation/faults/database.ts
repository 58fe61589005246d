import { type Fault, faultsIn } from '../fault.ts';

const policies = ['test/db/policies.test.ts'];
const definer = ['test/db/security-definer.test.ts'];
const idempotency = ['test/db/idempotency.test.ts'];
const suspend = ['test/commands/suspend-user.test.ts > keys and sessions'];

export const databaseFaults: Fault[] = [
  ...faultsIn({ file: 'src/db/migrations/0001_baseline.sql', tests: policies }, [
    {
      title: 'row-level security does not apply to the owner of the tables',
      find: "    execute format('alter table %I force row level security', name);\n",
      replace: '',
    },
    {
      title: 'every user sees the rows of everybody',
      find: 'using (%I = current_user_id())',
      replace: 'using (%I = current_user_id() or true)',
    },
    {
      title: 'without a user, the rows of user 0 are visible instead of none',
      find: "return nullif(current_setting('app.user_id', true), '')::bigint;",
      replace: "return coalesce(nullif(current_setting('app.user_id', true), ''), '1')::bigint;",
    },
    {
      title: 'requests can change the e-mail address of users',
      find: 'update (password_hash, website_count), delete on users',
      replace: 'update, delete on users',
    },
    {
      title: 'requests can change alerts',
      find: 'grant select on alerts, check_hours to sitekeeper_app;',
      replace: 'grant select, update, insert on alerts, check_hours to sitekeeper_app;',
    },
    {
      title: 'the engine can change the URL of monitors',
      find: 'grant select, update (status, last_checked_at,',
      replace: 'grant select, update (url, status, last_checked_at,',
    },
    {
      title: 'the engine can change providers',
      find: 'grant select on notifications, providers to sitekeeper_engine;',
      replace: 'grant select, update on notifications, providers to sitekeeper_engine;',
    },
    {
      title: 'an assignment can reference the provider of another user',
      find: 'foreign key (user_id, provider_id) references providers (user_id, id) on delete cascade\n);\n\ncreate index notifications_by_provider',
      replace: 'foreign key (provider_id) references providers (id) on delete cascade\n);\n\ncreate index notifications_by_provider',
    },
    {
      title: 'a key can be created by the key of another user',
      find: 'foreign key (user_id, created_by) references api_keys (user_id, id) on delete cascade',
      replace: 'foreign key (created_by) references api_keys (id) on delete cascade',
    },
    {
      title: 'a domain can be registered by one user only',
      find: 'constraint websites_domain_key unique (user_id, domain)',
      replace: 'constraint websites_domain_key unique (domain)',
    },
    {
      title: 'an owner is created although there are users',
      find: '  if exists (select from users) then',
      replace: '  if exists (select from users where false) then',
      tests: ['test/accounts/owner.test.ts'],
    },
  ]),
  ...faultsIn({ file: 'src/db/migrations/0003_shares_and_caps.sql', tests: policies }, [
    {
      title: 'every user sees the message counts of everybody',
      find: 'create policy own_rows on message_counts to sitekeeper_app using (user_id = current_user_id());',
      replace: 'create policy own_rows on message_counts to sitekeeper_app using (true);',
    },
    { title: 'message counts have no row-level security', find: 'alter table message_counts enable row level security;', replace: '' },
  ]),
  ...faultsIn({ file: 'src/db/migrations/0004_function_privileges.sql', tests: definer }, [
    { title: 'every role can set the user of a transaction', find: 'revoke execute on function set_user_id from public;', replace: '' },
  ]),
  ...faultsIn({ file: 'src/db/migrations/0005_one_data_layer.sql', tests: ['test/db/expiry.test.ts'] }, [
    {
      title: 'stored responses of the last day are deleted',
      find: "created_at < app_now() - interval '24 hours' limit batch",
      replace: "created_at < app_now() - interval '1 hours' limit batch",
    },
    { title: 'sessions that are used expire only by their age', find: "last_used_at < app_now() - interval '7 days' or ", replace: '' },
    { title: 'sessions that are used are stored forever', find: " or created_at < app_now() - interval '30 days'", replace: '' },
    {
      title: 'keys that have not expired are deleted',
      find: 'where expires_at < app_now() order by',
      replace: 'where expires_at is not null order by',
    },
    {
      title: 'everybody can delete expired rows',
      find: 'revoke all on function auth_delete_expired(integer) from public;',
      replace: '',
      tests: definer,
    },
    {
      title: 'the clean-up can be tricked with temporary objects',
      find: 'create function auth_delete_expired(batch integer)\nreturns bigint\nlanguage sql volatile security definer set search_path = pg_catalog, public, pg_temp',
      replace: 'create function auth_delete_expired(batch integer)\nreturns bigint\nlanguage sql volatile security definer',
      tests: definer,
    },
  ]),
  ...faultsIn({ file: 'src/db/migrations/0007_suspended_users.sql', tests: suspend }, [
    {
      title: 'the keys of a suspended user work',
      find: "     and not exists (select from users u where u.id = k.user_id and u.suspended_at is not null)';",
      replace: "';",
    },
    {
      title: 'the sessions of a suspended user work',
      find: "     and not exists (select from users u where u.id = s.user_id and u.suspended_at is not null)';",
      replace: "';",
    },
    { title: 'a suspended user can sign in', find: ' and u.suspended_at is null', replace: '' },
    {
      title: 'suspending one user suspends everybody',
      find: 'where id = operator_set_suspended.user_id and (suspended_at',
      replace: 'where (suspended_at',
      tests: ['test/commands/suspend-user.test.ts'],
    },
    {
      title: 'requests can list all users',
      find: 'operator_set_suspended to sitekeeper_engine;',
      replace: 'operator_set_suspended to sitekeeper_engine, sitekeeper_app;',
      tests: policies,
    },
    { title: 'the engine sees all users', find: 'using (suspended_at is not null);', replace: 'using (true);', tests: policies },
    {
      title: 'the functions of the operator can be executed by everyone',
      find: 'revoke all on function operator_find_user, operator_list_users, operator_list_keys, operator_set_suspended from public;',
      replace: '',
      tests: definer,
    },
    {
      title: 'the list of keys ignores the user',
      find: '(of_user is null or k.user_id = of_user)',
      replace: 'true',
      tests: ['test/commands/list-keys.test.ts'],
    },
    {
      title: 'a key is revoked by the prefix of another one',
      find: '(of_prefix is null or k.prefix = of_prefix)',
      replace: 'true',
      tests: ['test/commands/revoke-key.test.ts'],
    },
  ]),
  ...faultsIn({ file: 'src/db/idempotency.ts', tests: idempotency }, [
    {
      title: 'Idempotency-Key ignores the path',
      find: '`${request.method} ${request.path}`',
      replace: '`${request.method}`',
      tests: ['test/db/idempotency.test.ts > method and path'],
    },
  ]),
  ...faultsIn({ file: 'src/db/database.ts', tests: policies }, [
    {
      title: 'a process with a newer schema than the database is ready',
      find: 'return migrationNames.filter((name) => !done.has(name));',
      replace: 'return migrationNames.filter((name) => !name || !done);',
      tests: ['test/db/readiness.test.ts'],
    },
  ]),
  ...faultsIn({ file: 'src/db/retention.ts', tests: ['test/db/retention.test.ts'] }, [
    { title: 'expired rows are deleted only once after the start', find: '      await pause(intervalMs);\n', replace: '      return;\n' },
    {
      title: 'one failed deletion ends all others',
      find: '    } catch (error) {\n      if (!(error',
      replace: '    } catch (error) {\n      stopping.abort();\n      if (!(error',
    },
    {
      title: 'only one batch is deleted',
      find: 'while (!signal.aborted && (await deleteBatch()) > 0) await pause(pauseMs);',
      replace: 'await deleteBatch();',
    },
  ]),
  ...faultsIn({ file: 'src/auth/expired-rows.ts', tests: ['test/db/expiry.test.ts'] }, [
    { title: 'the clean-up always reports that nothing is left', find: 'return row?.deleted ?? 0;', replace: 'return row ? 0 : 0;' },
  ]),
  ...faultsIn({ file: 'src/db/availability.ts', tests: ['test/db/availability.test.ts'] }, [
    { title: 'a lost database is an internal error', find: '  if (isOutage(error)) {', replace: '  if (isOutage(undefined)) {' },
  ]),
  ...faultsIn({ file: 'src/db/hosts.ts', tests: ['test/db/hosts.test.ts'] }, [
    { title: 'a standby is used for writes', find: 'if (isReadOnly()) throw readOnlyError();', replace: '' },
  ]),
];
