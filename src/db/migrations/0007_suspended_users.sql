-- The operator can suspend users, and list users and keys.

alter table users add column suspended_at timestamptz(3);

create index users_suspended on users (id) where suspended_at is not null;

-- The engine checks no monitors and sends no alerts of suspended users. It sees who they are, and nothing else about users.
create policy engine on users for select to sitekeeper_engine using (suspended_at is not null);

grant select (id, suspended_at) on users to sitekeeper_engine;

grant update (suspended_at) on users to sitekeeper_auth;

grant sitekeeper_auth to current_user;

grant create on schema public to sitekeeper_auth;

-- The keys, sessions and passwords of suspended users are not found.
create or replace function auth_find_api_key(hash bytea)
returns table (id bigint, user_id bigint, scopes text[], expires_at_ms double precision, last_used_at_ms double precision)
language sql stable security definer set search_path = pg_catalog, public, pg_temp
as 'select k.id, k.user_id, k.scopes, extract(epoch from k.expires_at) * 1000, extract(epoch from k.last_used_at) * 1000
    from api_keys k where k.key_hash = hash
     and not exists (select from users u where u.id = k.user_id and u.suspended_at is not null)';

create or replace function auth_find_session(hash bytea)
returns table (id bigint, user_id bigint, created_at_ms double precision, last_used_at_ms double precision)
language sql stable security definer set search_path = pg_catalog, public, pg_temp
as 'select s.id, s.user_id, extract(epoch from s.created_at) * 1000, extract(epoch from s.last_used_at) * 1000
    from sessions s where s.token_hash = hash
     and not exists (select from users u where u.id = s.user_id and u.suspended_at is not null)';

create or replace function auth_find_user(email text)
returns table (id bigint, password_hash text)
language sql stable security definer set search_path = pg_catalog, public, pg_temp
as 'select u.id, u.password_hash from users u where lower(u.email) = lower(auth_find_user.email) and u.suspended_at is null';

-- What operator commands need about all users. Only sitekeeper_engine can execute these functions: requests run as
-- sitekeeper_app, so no request can list users. They return no hash, and at most 1,000 rows.
create function operator_find_user(email text)
returns table (id bigint)
language sql stable security definer set search_path = pg_catalog, public, pg_temp
as 'select u.id from users u where lower(u.email) = lower(operator_find_user.email)';

create function operator_list_users(after bigint, batch integer)
returns table (id bigint, email text, created_at_ms double precision, suspended_at_ms double precision,
  websites integer, monitors integer, providers integer, keys integer)
language sql stable security definer set search_path = pg_catalog, public, pg_temp
as 'select u.id, u.email, extract(epoch from u.created_at) * 1000, extract(epoch from u.suspended_at) * 1000,
           u.website_count, u.monitor_count, u.provider_count, u.key_count
      from users u where u.id > after order by u.id limit least(batch, 1000)';

-- An argument that is null selects all keys.
create function operator_list_keys(after bigint, batch integer, of_user bigint, of_id bigint, of_prefix text, of_hash bytea)
returns table (id bigint, user_id bigint, email text, name text, scopes text[], prefix text, created_by bigint,
  created_at_ms double precision, last_used_at_ms double precision, expires_at_ms double precision)
language sql stable security definer set search_path = pg_catalog, public, pg_temp
as 'select k.id, k.user_id, u.email, k.name, k.scopes, k.prefix, k.created_by, extract(epoch from k.created_at) * 1000,
           extract(epoch from k.last_used_at) * 1000, extract(epoch from k.expires_at) * 1000
      from api_keys k join users u on u.id = k.user_id
     where k.id > after and (of_user is null or k.user_id = of_user) and (of_id is null or k.id = of_id)
       and (of_prefix is null or k.prefix = of_prefix) and (of_hash is null or k.key_hash = of_hash)
     order by k.id limit least(batch, 1000)';

-- Returns whether anything has changed. Every process drops the keys and sessions of a suspended user from its cache.
create function operator_set_suspended(user_id bigint, suspended boolean)
returns boolean
language plpgsql volatile security definer set search_path = pg_catalog, public, pg_temp
as $$
begin
  update users set suspended_at = case when suspended then app_now() end
   where id = operator_set_suspended.user_id and (suspended_at is not null) <> suspended;
  if not found then
    return false;
  end if;
  if suspended then
    perform pg_notify('credential_revoked', encode(k.key_hash, 'hex')) from api_keys k where k.user_id = operator_set_suspended.user_id;
    perform pg_notify('credential_revoked', encode(s.token_hash, 'hex')) from sessions s where s.user_id = operator_set_suspended.user_id;
  end if;
  return true;
end
$$;

revoke all on function operator_find_user, operator_list_users, operator_list_keys, operator_set_suspended from public;

grant execute on function operator_find_user, operator_list_users, operator_list_keys, operator_set_suspended to sitekeeper_engine;

alter function operator_find_user owner to sitekeeper_auth;

alter function operator_list_users owner to sitekeeper_auth;

alter function operator_list_keys owner to sitekeeper_auth;

alter function operator_set_suspended owner to sitekeeper_auth;

revoke create on schema public from sitekeeper_auth;

revoke sitekeeper_auth from current_user;
