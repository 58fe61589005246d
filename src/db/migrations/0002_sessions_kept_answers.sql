create table sessions (
  id bigint generated always as identity primary key,
  user_id bigint not null references users (id) on delete cascade,
  token_hash bytea not null unique,
  created_at timestamptz(3) not null default now(),
  last_used_at timestamptz(3) not null default now(),
  unique (user_id, id)
);

-- The answers to requests that carried an Idempotency-Key, kept for 24 hours.
create table kept_answers (
  user_id bigint not null references users (id) on delete cascade,
  operation text not null,
  idempotency_key text not null,
  request_hash bytea not null,
  answer json not null,
  created_at timestamptz(3) not null default now(),
  primary key (user_id, operation, idempotency_key)
);

create index kept_answers_created_at on kept_answers (created_at);

create index sessions_last_used_at on sessions (last_used_at);

create index api_keys_made_by on api_keys (user_id, made_by);

alter table sessions enable row level security;

alter table sessions force row level security;

alter table kept_answers enable row level security;

alter table kept_answers force row level security;

create policy own_rows on sessions to sitekeeper_app using (user_id = current_user_id());

create policy own_rows on kept_answers to sitekeeper_app using (user_id = current_user_id());

grant select, insert, update, delete on sessions, kept_answers to sitekeeper_app;

-- A user's own row: the password may change, and the whole account may go.
grant update (password_hash), delete on users to sitekeeper_app;

create policy door_reads on sessions for select to sitekeeper_door using (true);

create policy door_cleans on sessions for delete to sitekeeper_door using (true);

create policy door_reads on kept_answers for select to sitekeeper_door using (true);

create policy door_cleans on kept_answers for delete to sitekeeper_door using (true);

grant select, delete on sessions, kept_answers to sitekeeper_door;

create function door_find_session(hash bytea)
returns table (id bigint, user_id bigint, created_at_ms double precision, last_used_at_ms double precision)
language sql stable security definer set search_path = public
as 'select s.id, s.user_id, extract(epoch from s.created_at) * 1000, extract(epoch from s.last_used_at) * 1000
    from sessions s where s.token_hash = hash';

create function door_find_user(email text)
returns table (id bigint, password_hash text)
language sql stable security definer set search_path = public
as 'select u.id, u.password_hash from users u where lower(u.email) = lower(door_find_user.email)';

-- What nobody can use any more, of every user.
create function door_forget_expired()
returns void
language sql volatile security definer set search_path = public
as 'delete from kept_answers where created_at < now() - interval ''24 hours'';
    delete from sessions where last_used_at < now() - interval ''7 days'' or created_at < now() - interval ''30 days''';

revoke all on function door_find_session, door_find_user, door_forget_expired from public;

grant execute on function door_find_session, door_find_user, door_forget_expired to sitekeeper_app;

grant sitekeeper_door to current_user;

grant create on schema public to sitekeeper_door;

alter function door_find_session owner to sitekeeper_door;

alter function door_find_user owner to sitekeeper_door;

alter function door_forget_expired owner to sitekeeper_door;

revoke create on schema public from sitekeeper_door;

revoke sitekeeper_door from current_user;

-- Every process forgets a key or session as soon as it is gone, whoever deleted it and by whatever cascade.
create function tell_access_ended() returns trigger
language plpgsql
as $$
begin
  perform pg_notify('access_ended', substr(to_jsonb(old) ->> tg_argv[0], 3));
  return null;
end
$$;

create trigger access_ended after delete on api_keys for each row execute function tell_access_ended('key_hash');

create trigger access_ended after delete on sessions for each row execute function tell_access_ended('token_hash');
