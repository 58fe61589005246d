-- unused since 0.1.0
-- No version has been released before this one, so what it no longer uses is dropped: the columns of each provider type, and
-- the triggers and functions whose work the code does.

-- The clock. Everything that is stored or compared uses it instead of now(). The offset is set only by tests and by the mock.
create function app_now() returns timestamptz
language sql stable parallel safe
return now() + coalesce(nullif(current_setting('app.clock_offset', true), '')::interval, interval '0');

revoke execute on function app_now from public;

grant execute on function app_now to sitekeeper_app, sitekeeper_engine, sitekeeper_auth;

alter table users alter column created_at set default app_now();

alter table api_keys alter column created_at set default app_now();

alter table sessions alter column created_at set default app_now(), alter column last_used_at set default app_now();

alter table idempotent_responses alter column created_at set default app_now();

alter table websites alter column created_at set default app_now(), alter column updated_at set default app_now();

alter table monitors alter column created_at set default app_now(), alter column updated_at set default app_now(),
  alter column next_check_at set default app_now();

alter table providers alter column created_at set default app_now(), alter column updated_at set default app_now();

alter table notifications alter column created_at set default app_now();

alter table alerts alter column created_at set default app_now(), alter column next_attempt_at set default app_now();

-- Quotas: the number of rows of a user in each table that has a quota. Counting up to 100,000 rows would take too long.
alter table users add column monitor_count integer not null default 0, add column provider_count integer not null default 0,
  add column key_count integer not null default 0;

-- Row-level security is forced, so the owner of the tables sees their rows only while it is not.
alter table users no force row level security;

alter table monitors no force row level security;

alter table providers no force row level security;

alter table api_keys no force row level security;

update users set
  monitor_count = (select count(*) from monitors where user_id = users.id),
  provider_count = (select count(*) from providers where user_id = users.id),
  key_count = (select count(*) from api_keys where user_id = users.id);

alter table users force row level security;

alter table api_keys force row level security;

grant update (monitor_count, provider_count, key_count) on users to sitekeeper_app;

-- Deleting an expired key changes the number of keys.
grant update (key_count) on users to sitekeeper_auth;

create policy auth_update on users for update to sitekeeper_auth using (true);

-- The update locks the user's row until the end of the transaction. So concurrent changes wait, and the number is exact.
create function maintain_row_count() returns trigger
language plpgsql
as $$
declare
  step integer := case tg_op when 'INSERT' then 1 else -1 end;
  change record;
begin
  for change in select user_id, (step * count(*))::integer as rows from changed group by user_id loop
    case tg_table_name
      when 'websites' then update users set website_count = website_count + change.rows where id = change.user_id;
      when 'monitors' then update users set monitor_count = monitor_count + change.rows where id = change.user_id;
      when 'providers' then update users set provider_count = provider_count + change.rows where id = change.user_id;
      when 'api_keys' then update users set key_count = key_count + change.rows where id = change.user_id;
    end case;
  end loop;
  return null;
end
$$;

revoke execute on function maintain_row_count from public;

drop trigger websites_inserted on websites;

drop trigger websites_deleted on websites;

do $$
declare
  name text;
begin
  foreach name in array array['websites', 'monitors', 'providers', 'api_keys'] loop
    execute format('create trigger rows_inserted after insert on %I referencing new table as changed
      for each statement execute function maintain_row_count()', name);
    execute format('create trigger rows_deleted after delete on %I referencing old table as changed
      for each statement execute function maintain_row_count()', name);
  end loop;
end
$$;

drop function maintain_website_count;

drop function enforce_website_quota;

-- Rolls back a creation that exceeds a quota. It runs after the insert, in the same transaction.
create function enforce_quota(counted text, maximum integer) returns void
language plpgsql
as $$
declare
  rows integer;
begin
  select case counted
      when 'websites' then website_count
      when 'monitors' then monitor_count
      when 'providers' then provider_count
      when 'api_keys' then key_count
    end into strict rows from users where id = current_user_id();
  if rows > maximum then
    raise exception 'more than % %', maximum, counted using errcode = 'SK001';
  end if;
end
$$;

revoke execute on function enforce_quota from public;

grant execute on function enforce_quota to sitekeeper_app;

-- Settings of a monitor type or a channel. The contract defines the types and their settings, so a new type needs no migration.
alter table monitors add column settings jsonb not null default '{}';

alter table monitors drop constraint monitors_type_check;

alter table monitors rename column settings_version to version;

alter table monitors force row level security;

alter table providers add column settings jsonb not null default '{}';

update providers set settings = case provider_type
  when 'email' then jsonb_build_object('recipient_email', recipient_email)
  when 'slack' then jsonb_build_object('channel', channel, 'username', username,
    'webhook_url', jsonb_build_object('encrypted', webhook_url_encrypted, 'mask', webhook_url_mask))
  when 'telegram' then jsonb_build_object('chat_id', chat_id,
    'token', jsonb_build_object('encrypted', token_encrypted, 'mask', token_mask))
  when 'sms' then jsonb_build_object('phone_number', phone_number)
end;

alter table providers drop column recipient_email, drop column webhook_url_encrypted, drop column webhook_url_mask,
  drop column channel, drop column username, drop column chat_id, drop column token_encrypted, drop column token_mask,
  drop column phone_number;

alter table providers drop constraint providers_provider_type_check;

alter table providers force row level security;

-- Whether a website has a password, for those who must not read the hash.
alter table websites add column has_password boolean not null generated always as (password_hash is not null) stored;

-- The code schedules monitors.
drop trigger schedule_monitor on monitors;

drop function schedule_monitor;

drop function target_host;

-- Deletes at most this many expired rows of each kind, and returns how many it has deleted.
grant sitekeeper_auth to current_user;

grant create on schema public to sitekeeper_auth;

drop function auth_delete_expired();

drop function auth_delete_expired(integer);

create function auth_delete_expired(batch integer)
returns bigint
language sql volatile security definer set search_path = pg_catalog, public, pg_temp
as $$
  with responses as (
    delete from idempotent_responses where ctid = any (array(
      select ctid from idempotent_responses where created_at < app_now() - interval '24 hours' limit batch)) returning 1
  ), expired_sessions as (
    delete from sessions where id = any (array(
      select id from sessions
       where last_used_at < app_now() - interval '7 days' or created_at < app_now() - interval '30 days' limit batch)) returning 1
  ), expired_keys as (
    delete from api_keys where id = any (array(
      select id from api_keys where expires_at < app_now() order by expires_at limit batch)) returning 1
  )
  select (select count(*) from responses) + (select count(*) from expired_sessions) + (select count(*) from expired_keys)
$$;

revoke all on function auth_delete_expired(integer) from public;

grant execute on function auth_delete_expired(integer) to sitekeeper_app;

alter function auth_delete_expired(integer) owner to sitekeeper_auth;

revoke create on schema public from sitekeeper_auth;

revoke sitekeeper_auth from current_user;
