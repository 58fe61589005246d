-- The runner splits this file at blank lines that follow a semicolon: one statement per paragraph.

-- Roles. None of them can log in; the login role of the service is a member of the first two.
--   sitekeeper_app     serves requests. It owns no table and sees only the rows of the user in app.user_id.
--   sitekeeper_engine  runs checks and sends alerts for all users.
--   sitekeeper_auth    owns the auth_* functions, which run before the user is known.
-- Roles belong to the whole server, so another database on it may have created them already.
do $$
declare
  name text;
begin
  foreach name in array array['sitekeeper_app', 'sitekeeper_engine', 'sitekeeper_auth'] loop
    if not exists (select from pg_roles where rolname = name) then
      begin
        execute format('create role %I nologin noinherit', name);
      exception when duplicate_object or unique_violation then
        null; -- The migration of another database has created it in the meantime.
      end;
    end if;
  end loop;
end
$$;

grant usage on schema public to sitekeeper_app, sitekeeper_engine, sitekeeper_auth;

-- The user that this transaction works for. After a transaction the setting is '', not null.
create function current_user_id() returns bigint
language sql stable parallel safe
return nullif(current_setting('app.user_id', true), '')::bigint;

-- Accounts

-- website_count saves counting up to 100,000 rows for the quota and for lists. Adding or deleting a website locks the user's
-- row until the transaction ends, so the number is exact.
create table users (
  id bigint generated always as identity primary key,
  email text not null,
  password_hash text,
  website_count integer not null default 0,
  created_at timestamptz(3) not null default now()
);

create unique index users_email_key on users (lower(email));

-- created_by is the key that created this one. Deleting a key deletes every key created with it.
create table api_keys (
  id bigint generated always as identity primary key,
  user_id bigint not null references users (id) on delete cascade,
  created_by bigint,
  name text not null,
  scopes text[] not null,
  prefix text not null,
  key_hash bytea not null unique,
  created_at timestamptz(3) not null default now(),
  last_used_at timestamptz(3),
  expires_at timestamptz(3),
  unique (user_id, id),
  foreign key (user_id, created_by) references api_keys (user_id, id) on delete cascade
);

create index api_keys_created_by on api_keys (user_id, created_by);

create table sessions (
  id bigint generated always as identity primary key,
  user_id bigint not null references users (id) on delete cascade,
  token_hash bytea not null unique,
  created_at timestamptz(3) not null default now(),
  last_used_at timestamptz(3) not null default now(),
  unique (user_id, id)
);

create index sessions_last_used_at on sessions (last_used_at);

-- The responses to requests that carried an Idempotency-Key, stored for 24 hours.
create table idempotent_responses (
  user_id bigint not null references users (id) on delete cascade,
  operation text not null,
  idempotency_key text not null,
  request_hash bytea not null,
  response json not null,
  created_at timestamptz(3) not null default now(),
  primary key (user_id, operation, idempotency_key)
);

create index idempotent_responses_created_at on idempotent_responses (created_at);

-- Website registry

-- The primary key starts with the user, as the policy does. With a key on the id alone, the planner may scan the newer rows
-- of all other users to find the newest rows of this one.
create table websites (
  id bigint generated always as identity,
  user_id bigint not null references users (id) on delete cascade,
  domain text collate "C" not null,
  privacy smallint not null default 0 check (privacy in (0, 1, 2)),
  password_hash text,
  email smallint not null default 0 check (email in (0, 1)),
  exclude_bots smallint not null default 1 check (exclude_bots in (0, 1)),
  exclude_params text not null default '',
  exclude_ips text not null default '',
  favorite boolean not null default false,
  version integer not null default 1,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  primary key (user_id, id),
  constraint websites_domain_key unique (user_id, domain),
  check (privacy <> 2 or password_hash is not null)
);

-- Few websites are favorites, and dashboards list only those.
create index websites_favorites on websites (user_id, id) where favorite;

-- Monitoring

-- The engine needs the columns from next_check_at on. next_check_at is null while the monitor is paused. A claim token is
-- issued with each check and must come back with the result; changing the target clears it, so that a late result is dropped.
create table monitors (
  id bigint generated always as identity primary key,
  user_id bigint not null references users (id) on delete cascade,
  friendly_name text not null,
  url text not null,
  type text not null default 'http' check (type in ('http', 'ping')),
  interval_seconds integer not null default 60 check (interval_seconds between 30 and 86400),
  is_active boolean not null default true,
  status text not null default 'pending' check (status in ('pending', 'up', 'down', 'paused')),
  last_checked_at timestamptz(3),
  last_response_time_ms integer,
  last_error text,
  settings_version integer not null default 1,
  state_version integer not null default 1,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  next_check_at timestamptz(3) default now(),
  failures smallint not null default 0,
  first_failed_at timestamptz(3),
  first_cause text,
  first_status_code integer,
  claim_token bigint,
  unique (user_id, id)
);

create index monitors_due on monitors (next_check_at) where next_check_at is not null;

create sequence claim_tokens;

create table incidents (
  id bigint generated always as identity primary key,
  user_id bigint not null,
  monitor_id bigint not null,
  started_at timestamptz(3) not null,
  resolved_at timestamptz(3),
  cause text not null,
  status_code integer,
  foreign key (user_id, monitor_id) references monitors (user_id, id) on delete cascade,
  unique (user_id, id),
  check (resolved_at >= started_at)
);

create unique index incidents_one_open on incidents (user_id, monitor_id) where resolved_at is null;

create index incidents_by_monitor on incidents (user_id, monitor_id, started_at desc, id desc);

-- Each provider type uses its own columns. Secrets are encrypted with SECRET_KEY and bound to user, row and column; the mask
-- that the API returns instead is stored next to them. The id is assigned before the insert, because secrets are bound to it.
create table providers (
  id bigint generated by default as identity primary key,
  user_id bigint not null references users (id) on delete cascade,
  provider_type text not null check (provider_type in ('email', 'slack', 'telegram', 'sms')),
  recipient_email text check ((recipient_email is not null) = (provider_type = 'email')),
  webhook_url_encrypted text check ((webhook_url_encrypted is not null) = (provider_type = 'slack')),
  webhook_url_mask text check ((webhook_url_mask is not null) = (provider_type = 'slack')),
  channel text check (channel is null or provider_type = 'slack'),
  username text check (username is null or provider_type = 'slack'),
  chat_id text check ((chat_id is not null) = (provider_type = 'telegram')),
  token_encrypted text check ((token_encrypted is not null) = (provider_type = 'telegram')),
  token_mask text check ((token_mask is not null) = (provider_type = 'telegram')),
  phone_number text check ((phone_number is not null) = (provider_type = 'sms')),
  version integer not null default 1,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  unique (user_id, id)
);

-- Assignments of providers to monitors.
create table notifications (
  user_id bigint not null,
  monitor_id bigint not null,
  provider_id bigint not null,
  enabled boolean not null default true,
  created_at timestamptz(3) not null default now(),
  primary key (user_id, monitor_id, provider_id),
  foreign key (user_id, monitor_id) references monitors (user_id, id) on delete cascade,
  foreign key (user_id, provider_id) references providers (user_id, id) on delete cascade
);

create index notifications_by_provider on notifications (user_id, provider_id);

-- The outbox: one alert per incident, provider and kind.
create table alerts (
  id bigint generated always as identity primary key,
  user_id bigint not null,
  incident_id bigint not null,
  provider_id bigint not null,
  kind text not null check (kind in ('down', 'recovered')),
  subject text not null,
  body text not null,
  status text not null default 'pending' check (status in ('pending', 'sent', 'failed')),
  attempts integer not null default 0,
  next_attempt_at timestamptz(3) not null default now(),
  lease_token bigint,
  last_error text,
  created_at timestamptz(3) not null default now(),
  done_at timestamptz(3),
  foreign key (user_id, incident_id) references incidents (user_id, id) on delete cascade,
  foreign key (user_id, provider_id) references providers (user_id, id) on delete cascade,
  unique (user_id, incident_id, provider_id, kind)
);

create index alerts_due on alerts (next_attempt_at) where status = 'pending';

-- Checks aggregated by hour: enough for statistics, and small.
create table check_hours (
  user_id bigint not null,
  monitor_id bigint not null,
  hour timestamptz(0) not null,
  checks integer not null,
  failures integer not null,
  total_ms bigint not null,
  min_ms integer,
  max_ms integer,
  primary key (user_id, monitor_id, hour),
  foreign key (user_id, monitor_id) references monitors (user_id, id) on delete cascade
);

create index check_hours_by_hour on check_hours (hour);

-- Row-level security: each user sees only their own rows. It is forced, so that it applies to the owner of the tables as well.
do $$
declare
  name text;
begin
  foreach name in array array['users', 'api_keys', 'sessions', 'idempotent_responses', 'websites', 'monitors', 'incidents',
      'providers', 'notifications', 'alerts', 'check_hours'] loop
    execute format('alter table %I enable row level security', name);
    execute format('alter table %I force row level security', name);
    execute format('create policy own_rows on %I to sitekeeper_app using (%I = current_user_id())', name,
      case name when 'users' then 'id' else 'user_id' end);
  end loop;
end
$$;

-- Users can change their password and delete their account. The trigger on websites maintains website_count.
grant select, update (password_hash, website_count), delete on users to sitekeeper_app;

grant select, insert, update, delete
  on api_keys, sessions, idempotent_responses, websites, monitors, incidents, providers, notifications to sitekeeper_app;

grant select on alerts, check_hours to sitekeeper_app;

grant usage on sequence providers_id_seq to sitekeeper_app;

-- The engine works for all users, and can change only what checks and alerts need.
create policy engine on monitors to sitekeeper_engine using (true);

create policy engine on incidents to sitekeeper_engine using (true);

create policy engine on notifications for select to sitekeeper_engine using (true);

create policy engine on providers for select to sitekeeper_engine using (true);

create policy engine on alerts to sitekeeper_engine using (true);

create policy engine on check_hours to sitekeeper_engine using (true);

grant select, update (status, last_checked_at, last_response_time_ms, last_error, next_check_at, failures, first_failed_at,
  first_cause, first_status_code, claim_token, state_version) on monitors to sitekeeper_engine;

grant select, insert, update (resolved_at), delete on incidents to sitekeeper_engine;

grant select on notifications, providers to sitekeeper_engine;

grant select, insert, delete, update (status, attempts, next_attempt_at, lease_token, last_error, done_at) on alerts to sitekeeper_engine;

grant select, insert, update, delete on check_hours to sitekeeper_engine;

grant usage on sequence claim_tokens to sitekeeper_engine;

-- Authentication: functions that run before the user is known. They find keys, sessions and users, create users, and delete
-- expired rows. They run as sitekeeper_auth, because sitekeeper_app sees no rows without a user.
create policy auth_select on users for select to sitekeeper_auth using (true);

create policy auth_insert on users for insert to sitekeeper_auth with check (true);

create policy auth_select on api_keys for select to sitekeeper_auth using (true);

create policy auth_select on sessions for select to sitekeeper_auth using (true);

create policy auth_delete on sessions for delete to sitekeeper_auth using (true);

create policy auth_select on idempotent_responses for select to sitekeeper_auth using (true);

create policy auth_delete on idempotent_responses for delete to sitekeeper_auth using (true);

grant select, insert on users to sitekeeper_auth;

grant select on api_keys to sitekeeper_auth;

grant select, delete on sessions, idempotent_responses to sitekeeper_auth;

-- Times are returned as milliseconds, because the two drivers return timestamps in different forms.
create function auth_find_api_key(hash bytea)
returns table (id bigint, user_id bigint, scopes text[], expires_at_ms double precision, last_used_at_ms double precision)
language sql stable security definer set search_path = pg_catalog, public, pg_temp
as 'select k.id, k.user_id, k.scopes, extract(epoch from k.expires_at) * 1000, extract(epoch from k.last_used_at) * 1000
    from api_keys k where k.key_hash = hash';

create function auth_find_session(hash bytea)
returns table (id bigint, user_id bigint, created_at_ms double precision, last_used_at_ms double precision)
language sql stable security definer set search_path = pg_catalog, public, pg_temp
as 'select s.id, s.user_id, extract(epoch from s.created_at) * 1000, extract(epoch from s.last_used_at) * 1000
    from sessions s where s.token_hash = hash';

create function auth_find_user(email text)
returns table (id bigint, password_hash text)
language sql stable security definer set search_path = pg_catalog, public, pg_temp
as 'select u.id, u.password_hash from users u where lower(u.email) = lower(auth_find_user.email)';

-- Returns null if the address is taken.
create function auth_create_user(email text, password_hash text)
returns bigint
language sql volatile security definer set search_path = pg_catalog, public, pg_temp
as 'insert into users (email, password_hash) values (auth_create_user.email, auth_create_user.password_hash)
    on conflict do nothing returning id';

-- Creates the owner account at the first start. It returns null if any user exists, so that of several processes that start
-- at the same time only one creates it.
create function auth_create_first_user(email text, password_hash text)
returns bigint
language plpgsql volatile security definer set search_path = pg_catalog, public, pg_temp
as $$
begin
  perform pg_advisory_xact_lock(hashtext('sitekeeper first user'));
  if exists (select from users) then
    return null;
  end if;
  return auth_create_user(email, password_hash);
end
$$;

-- Deletes the expired sessions and responses of all users.
create function auth_delete_expired()
returns void
language sql volatile security definer set search_path = pg_catalog, public, pg_temp
as 'delete from idempotent_responses where created_at < now() - interval ''24 hours'';
    delete from sessions where last_used_at < now() - interval ''7 days'' or created_at < now() - interval ''30 days''';

revoke all on function auth_find_api_key, auth_find_session, auth_find_user, auth_create_user, auth_create_first_user,
  auth_delete_expired from public;

grant execute on function auth_find_api_key, auth_find_session, auth_find_user, auth_create_user, auth_create_first_user,
  auth_delete_expired to sitekeeper_app;

-- Changing the owner of a function requires membership in the new owner and its right to create in the schema. Both are
-- granted only for these statements.
grant sitekeeper_auth to current_user;

grant create on schema public to sitekeeper_auth;

alter function auth_find_api_key owner to sitekeeper_auth;

alter function auth_find_session owner to sitekeeper_auth;

alter function auth_find_user owner to sitekeeper_auth;

alter function auth_create_user owner to sitekeeper_auth;

alter function auth_create_first_user owner to sitekeeper_auth;

alter function auth_delete_expired owner to sitekeeper_auth;

revoke create on schema public from sitekeeper_auth;

revoke sitekeeper_auth from current_user;

-- Triggers

-- Tells every process to drop a deleted key or session from its cache, also after a deletion by cascade.
create function notify_credential_revoked() returns trigger
language plpgsql
as $$
begin
  perform pg_notify('credential_revoked', substr(to_jsonb(old) ->> tg_argv[0], 3));
  return null;
end
$$;

create trigger credential_revoked after delete on api_keys for each row execute function notify_credential_revoked('key_hash');

create trigger credential_revoked after delete on sessions for each row execute function notify_credential_revoked('token_hash');

create function maintain_website_count() returns trigger
language plpgsql
as $$
begin
  update users
     set website_count = website_count + changes.rows * case tg_op when 'INSERT' then 1 else -1 end
    from (select user_id, count(*) as rows from changed group by user_id) as changes
   where users.id = changes.user_id;
  return null;
end
$$;

create trigger websites_inserted after insert on websites
referencing new table as changed for each statement execute function maintain_website_count();

create trigger websites_deleted after delete on websites
referencing old table as changed for each statement execute function maintain_website_count();

-- Rolls back a creation that exceeds the quota. It runs after the insert, which locks the user's row until the end of the
-- transaction: concurrent creations of the user wait, and the number is exact.
create function enforce_website_quota(maximum integer) returns void
language plpgsql
as $$
begin
  if (select website_count from users) > maximum then
    raise exception 'more than % websites', maximum using errcode = 'SK001';
  end if;
end
$$;

-- A monitor that is created, resumed or changed is checked within 5 seconds; a random delay spreads the load. A paused
-- monitor is not scheduled. Clearing the claim token drops the result of a check that is still running.
create function schedule_monitor() returns trigger
language plpgsql
as $$
begin
  new.next_check_at := case when new.is_active then now() + random() * interval '3 seconds' end;
  new.claim_token := null;
  return new;
end
$$;

create trigger schedule_monitor before insert or update of url, type, interval_seconds, is_active on monitors
for each row execute function schedule_monitor();
