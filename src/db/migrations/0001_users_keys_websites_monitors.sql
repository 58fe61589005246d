-- One statement a paragraph: the runner splits at blank lines.

-- sitekeeper_app serves requests: no table is its own, and it sees only the rows of the user set in app.user_id.
-- sitekeeper_engine runs checks and alerts. sitekeeper_door owns the few functions that look something up before the
-- user is known. None can log in; the service's login is made a member. Roles belong to the whole server, so another
-- database on it may have made them already.
do $$
declare
  name text;
begin
  foreach name in array array['sitekeeper_app', 'sitekeeper_engine', 'sitekeeper_door'] loop
    if not exists (select from pg_roles where rolname = name) then
      begin
        execute format('create role %I nologin noinherit', name);
      exception when duplicate_object or unique_violation then
        null; -- made by another database's migration in the meantime
      end;
    end if;
  end loop;
end
$$;

grant usage on schema public to sitekeeper_app, sitekeeper_engine, sitekeeper_door;

create table users (
  id bigint generated always as identity primary key,
  email text not null,
  password_hash text,
  created_at timestamptz(3) not null default now()
);

create unique index users_email_key on users (lower(email));

create table api_keys (
  id bigint generated always as identity primary key,
  user_id bigint not null references users (id) on delete cascade,
  made_by bigint,
  name text not null,
  scopes text[] not null,
  prefix text not null,
  key_hash bytea not null unique,
  created_at timestamptz(3) not null default now(),
  last_used_at timestamptz(3),
  expires_at timestamptz(3),
  unique (user_id, id),
  foreign key (user_id, made_by) references api_keys (user_id, id) on delete cascade
);

create table websites (
  id bigint generated always as identity primary key,
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
  constraint websites_domain_key unique (user_id, domain),
  unique (user_id, id),
  check (privacy <> 2 or password_hash is not null)
);

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
  unique (user_id, id)
);

-- After a transaction the setting is '', not null.
create function current_user_id() returns bigint
language sql stable parallel safe
return nullif(current_setting('app.user_id', true), '')::bigint;

alter table users enable row level security;

alter table users force row level security;

alter table api_keys enable row level security;

alter table api_keys force row level security;

alter table websites enable row level security;

alter table websites force row level security;

alter table monitors enable row level security;

alter table monitors force row level security;

create policy own_rows on users to sitekeeper_app using (id = current_user_id());

create policy own_rows on api_keys to sitekeeper_app using (user_id = current_user_id());

create policy own_rows on websites to sitekeeper_app using (user_id = current_user_id());

create policy own_rows on monitors to sitekeeper_app using (user_id = current_user_id());

grant select on users to sitekeeper_app;

grant select, insert, update, delete on api_keys, websites, monitors to sitekeeper_app;

-- The door: what must be found before the user is known. Each function answers one question about one value.
create policy door on api_keys for select to sitekeeper_door using (true);

create policy door_reads on users for select to sitekeeper_door using (true);

create policy door_adds on users for insert to sitekeeper_door with check (true);

grant select on api_keys to sitekeeper_door;

grant select, insert on users to sitekeeper_door;

create function door_find_api_key(hash bytea)
returns table (id bigint, user_id bigint, scopes text[], expires_at_ms double precision, last_used_at_ms double precision)
language sql stable security definer set search_path = public
as 'select k.id, k.user_id, k.scopes, extract(epoch from k.expires_at) * 1000, extract(epoch from k.last_used_at) * 1000
    from api_keys k where k.key_hash = hash';

-- Null where the address is taken.
create function door_create_user(email text, password_hash text)
returns bigint
language sql volatile security definer set search_path = public
as 'insert into users (email, password_hash) values (door_create_user.email, door_create_user.password_hash)
    on conflict do nothing returning id';

-- The owner account of the first start: made only where there is no user at all, once, however many processes start.
create function door_create_first_user(email text, password_hash text)
returns bigint
language plpgsql volatile security definer set search_path = public
as $$
begin
  perform pg_advisory_xact_lock(hashtext('sitekeeper first user'));
  if exists (select from users) then
    return null;
  end if;
  return door_create_user(email, password_hash);
end
$$;

revoke all on function door_find_api_key, door_create_user, door_create_first_user from public;

grant execute on function door_find_api_key, door_create_user, door_create_first_user to sitekeeper_app;

-- Handing a function over takes membership and the right to create, for as long as it lasts.
grant sitekeeper_door to current_user;

grant create on schema public to sitekeeper_door;

alter function door_find_api_key owner to sitekeeper_door;

alter function door_create_user owner to sitekeeper_door;

alter function door_create_first_user owner to sitekeeper_door;

revoke create on schema public from sitekeeper_door;

revoke sitekeeper_door from current_user;
