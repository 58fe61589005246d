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
  ...faultsIn({ file: 'src/db/migrations/0012_incidents_and_names.sql', tests: policies }, [
    {
      title: 'requests can change resolved incidents',
      find: 'using (resolved_at is null) with check (true)',
      replace: 'using (true) with check (true)',
    },
    {
      title: 'requests can change the cause of incidents',
      find: 'revoke update on incidents from sitekeeper_app;\n',
      replace: '',
    },
    {
      title: 'pausing a monitor with an open incident fails',
      find: ' with check (true)',
      replace: '',
      tests: ['test/monitoring/incidents/acknowledge-incident.test.ts > pausing'],
    },
  ]),
  ...faultsIn({ file: 'src/db/migrations/0018_statistics.sql', tests: policies }, [
    {
      title: 'every user sees the history of everybody',
      find: "own_rows on %I for select to sitekeeper_app using (user_id = current_user_id())', ring.name);",
      replace: "own_rows on %I for select to sitekeeper_app using (true)', ring.name);",
    },
    {
      title: 'requests can delete their history',
      find: "'grant select on %I to sitekeeper_app', ring.name",
      replace: "'grant select, delete on %I to sitekeeper_app', ring.name",
    },
    {
      title: 'requests can read partitions',
      find: "'grant select, truncate on %I to sitekeeper_engine', part",
      replace: "'grant select, truncate on %I to sitekeeper_engine, sitekeeper_app', part",
    },
    {
      title: 'the owner of the tables sees all rows of a partition',
      find: "      execute format('alter table %I force row level security', part);\n",
      replace: '',
    },
    {
      title: 'the engine cannot empty partitions',
      find: "'grant select, truncate on %I to sitekeeper_engine', part",
      replace: "'grant select on %I to sitekeeper_engine', part",
      tests: ['test/monitoring/engine/retention.test.ts > the history'],
    },
    {
      title: 'the engine can empty the whole history at once',
      find: "'grant select, insert, update, delete on %I to sitekeeper_engine', ring.name",
      replace: "'grant select, insert, update, delete, truncate on %I to sitekeeper_engine', ring.name",
    },
    {
      title: 'requests can change how far statistics were calculated',
      find: 'grant select on roll_up_progress to sitekeeper_app;',
      replace: 'grant select, update on roll_up_progress to sitekeeper_app;',
    },
    {
      title: 'a user can have the history of others deleted',
      find: 'create policy own_rows on deleted_monitors to sitekeeper_app using (user_id = current_user_id());',
      replace: 'create policy own_rows on deleted_monitors to sitekeeper_app using (true);',
    },
    {
      title: 'the history of a deleted monitor is not deleted',
      find: 'create trigger history_kept after delete on monitors\nreferencing old table as deleted for each statement execute function remember_deleted_monitors();\n',
      replace: '',
    },
    {
      title: 'the sums of a deleted user are not deleted',
      find: 'create trigger history_kept after delete on users\nreferencing old table as deleted for each statement execute function remember_deleted_users();\n',
      replace: '',
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
  ...faultsIn({ file: 'src/db/migrations/0011_alert_events.sql', tests: ['test/db/migrations.test.ts > an alert cannot be about'] }, [
    {
      title: 'an alert can be about an incident and a monitor',
      find: 'check (num_nonnulls(incident_id, monitor_id) <= 1)',
      replace: 'check (num_nonnulls(incident_id, monitor_id) <= 2)',
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
    {
      title: 'Idempotency-Key ignores the method',
      find: '`${request.method} ${request.path}`',
      replace: '`${request.path}`',
      tests: ['test/db/idempotency.test.ts > method and path'],
    },
    {
      title: 'a stored response is replayed for another body',
      find: "if (!hashes.some((hash) => hash.equals(request_hash))) throw new InvalidRequest([reused], 'idempotency_key_reused');",
      replace: 'if (hashes.length === 0 || request_hash === undefined) throw new InvalidRequest([reused]);',
    },
    {
      title: 'a response is not replayed after the secret key was rotated',
      find: 'hashes.some((hash) => hash.equals(request_hash))',
      replace: 'hashes[0]?.equals(request_hash)',
    },
    {
      title: 'anybody who knows a request can find it by its stored hash',
      find: "createHmac('sha256', secret)",
      replace: "createHmac('sha256', secret && '')",
    },
    {
      title: 'stored responses contain new keys',
      find: 'if (!containsSecret && Buffer.byteLength(text) <= maxStoredBytes) return text;',
      replace: 'if (Buffer.byteLength(text) <= maxStoredBytes) return text;',
    },
    { title: 'a response of any size is stored', find: 'const maxStoredBytes = 8192;', replace: 'const maxStoredBytes = 8_192_000;' },
    {
      title: 'a user can store any number of responses',
      find: 'const maxStoredPerUser = 10_000;',
      replace: 'const maxStoredPerUser = 10_000_000;',
    },
    {
      title: 'a response is replayed after more than a day',
      find: "created_at > app_now() - interval '24 hours'`;",
      replace: "created_at > app_now() - interval '48 hours'`;",
    },
    {
      title: 'a request that ran while this one waited is executed again',
      find: '    concurrent = await findStored(query);\n',
      replace: '',
    },
    { title: 'requests with the same Idempotency-Key run at the same time', find: 'if (lock?.free) return;', replace: 'if (lock) return;' },
    {
      title: 'a request with the Idempotency-Key of another user waits for theirs',
      find: '`${userId} ${operation} ${key}`',
      replace: '`${operation} ${key}`',
    },
    {
      title: 'a request with the Idempotency-Key of another operation waits for it',
      find: '`${userId} ${operation} ${key}`',
      replace: '`${userId} ${key}`',
    },
    {
      title: 'the response of a key that is used again after a day is not stored for another day',
      find: '        created_at: sql`app_now()`,\n',
      replace: '',
    },
    {
      title: 'the repetition of a request whose key is used again after a day is rejected',
      find: "        request_hash: row.ref('excluded.request_hash'),\n",
      replace: '',
      tests: ['test/db/idempotency.test.ts > the key belongs to the new request'],
    },
    {
      title: 'a key that is used again after a day returns the response of the day before',
      find: "        response: row.ref('excluded.response'),\n",
      replace: '',
      tests: ['test/db/idempotency.test.ts > the key belongs to the new request'],
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
  ...faultsIn({ file: 'src/db/secret-key-file.ts', tests: ['test/db/secret-key-file.test.ts'], needs: 'embedded' }, [
    {
      title: 'everybody on the machine can read the secret keys after a rotation',
      find: "openSync(temporary, 'w', 0o600)",
      replace: "openSync(temporary, 'w', 0o644)",
    },
  ]),
  ...faultsIn({ file: 'src/db/batch-jobs.ts', tests: ['test/db/batch-jobs.test.ts'] }, [
    { title: 'expired rows are deleted only once after the start', find: '      await pause(intervalMs);\n', replace: '      return;\n' },
    {
      title: 'one failed job ends all others',
      find: '    } catch (error) {\n      if (!(error',
      replace: '    } catch (error) {\n      stopping.abort();\n      if (!(error',
    },
    {
      title: 'only one batch is deleted',
      find: 'while (!signal.aborted && (await runBatch()) > 0) await pause(pauseMs);',
      replace: 'await runBatch();',
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
    {
      title: 'a primary that became a standby is used for writes',
      find: '        if (this.#isReadOnly()) throw readOnlyError();\n',
      replace: '',
    },
    {
      title: 'a server whose transactions are read-only is used for writes',
      find: "['in_hot_standby', 'default_transaction_read_only']",
      replace: "['in_hot_standby']",
    },
    {
      title: 'every connection searches for the primary',
      find: '    if (this.#current) return this.#current;\n',
      replace: '',
    },
    { title: 'everybody who waits for a primary searches for it', find: 'this.#search ??= this', replace: 'this.#search = this' },
    {
      title: 'a connection to the old primary is used after another one was found',
      find: '    if (this.#current && !isSame(this.#current, client)) throw readOnlyError();\n',
      replace: '',
    },
    {
      title: 'the connections to an old primary that is frozen stay open',
      find: "if (!isSame(this.#current, client)) closeConnection(client, 'another host is the primary now');",
      replace: "if (!client) closeConnection(client, 'another host is the primary now');",
    },
    {
      title: 'a lost connection to the old primary makes the service forget the new one',
      find: 'if (this.#current && isSame(this.#current, address)) this',
      replace: 'if (this.#current && address) this',
    },
    {
      title: 'the primary is not searched again when a connection is lost',
      find: "      this.on('error', () => hosts.forget(this));\n",
      replace: '',
    },
    {
      title: 'the primary is not searched again when a connection is rejected',
      find: '        hosts.forget(this);\n        this.end()',
      replace: '        this.end()',
    },
    { title: 'hosts without a primary are flooded with searches', find: '      await delay(searchAgainMs);\n', replace: '' },
    {
      title: 'a search waits for a host that does not answer',
      find: 'const probeTimeoutMs = 2000;',
      replace: 'const probeTimeoutMs = 200_000;',
    },
    {
      title: 'a wrong password of the database looks like an outage',
      find: 'errors.find((error) => error.code !== readOnlyCode)',
      replace: 'errors.find((error) => error.code === readOnlyCode)',
    },
  ]),
  ...faultsIn({ file: 'src/db/listen.ts', tests: ['test/db/listen.test.ts'] }, [
    {
      title: 'a new connection does not listen to the channels of the lost one',
      find: '    for (const { channel } of this.#listeners) await client.query(`listen ${channel}`);\n',
      replace: '',
    },
    {
      title: 'nobody hears that notifications may have been missed',
      find: '      for (const { listener } of this.#listeners) listener.onReconnect();\n',
      replace: '',
    },
    {
      title: 'a listener gets the notifications of other channels',
      find: 'if (channel === notification.channel) listener',
      replace: 'if (channel && notification.channel) listener',
    },
    {
      title: 'a connection without notifications is closed after 5 seconds',
      find: "    await client.query('select 1');\n",
      replace: '',
    },
    {
      title: 'a server that does not answer any more is not noticed',
      find: '    closeWhenSilent(client, silenceMs);\n',
      replace: '    closeWhenSilent(client, silenceMs * 1000);\n',
    },
    {
      title: 'a connection that was being opened stays open after the end',
      find: '    if (this.#isClosed) await client.end(); //',
      replace: '    //',
    },
    {
      title: 'the service gives up its connection for notifications after one failed attempt',
      find: '      if (!connected) continue;\n',
      replace: '      if (!connected) return;\n',
    },
  ]),
  ...faultsIn({ file: 'src/db/pipelined-transaction.ts', tests: ['test/db/pipelined-transaction.test.ts'] }, [
    { title: 'the engine reads and writes as a request', find: '[begin, ...first]', replace: '[begin]' },
    { title: 'nothing is committed', find: 'await send([commit])', replace: 'await send([rollback])' },
    { title: 'what failed is committed', find: 'await send([rollback])', replace: 'await send([commit])' },
    {
      title: 'a connection is used again although it is unknown which statements it has prepared',
      find: 'if (query.preparesStatements) isUsable = false;',
      replace: '',
    },
  ]),
];
