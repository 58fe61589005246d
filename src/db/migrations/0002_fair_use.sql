-- The domain as people write it, if that differs from its ASCII form. A search for a part of an international name needs it.
alter table websites add column domain_unicode text;

-- For counting the responses that are stored for a user.
create index idempotent_responses_by_user on idempotent_responses (user_id, created_at);

-- For finding expired keys.
create index api_keys_expires_at on api_keys (expires_at) where expires_at is not null;

create policy auth_delete on api_keys for delete to sitekeeper_auth using (true);

grant delete on api_keys to sitekeeper_auth;

-- Deletes at most this many expired rows of each kind, and returns how many it has deleted. Small batches hold locks only
-- briefly.
create function auth_delete_expired(batch integer)
returns bigint
language sql volatile security definer set search_path = pg_catalog, public, pg_temp
as $$
  with responses as (
    delete from idempotent_responses where ctid = any (array(
      select ctid from idempotent_responses where created_at < now() - interval '24 hours' limit batch)) returning 1
  ), expired_sessions as (
    delete from sessions where id = any (array(
      select id from sessions where last_used_at < now() - interval '7 days' or created_at < now() - interval '30 days' limit batch))
    returning 1
  ), expired_keys as (
    delete from api_keys where id = any (array(
      select id from api_keys where expires_at < now() order by expires_at limit batch)) returning 1
  )
  select (select count(*) from responses) + (select count(*) from expired_sessions) + (select count(*) from expired_keys)
$$;

revoke all on function auth_delete_expired(integer) from public;

grant execute on function auth_delete_expired(integer) to sitekeeper_app;

grant sitekeeper_auth to current_user;

grant create on schema public to sitekeeper_auth;

alter function auth_delete_expired(integer) owner to sitekeeper_auth;

revoke create on schema public from sitekeeper_auth;

revoke sitekeeper_auth from current_user;
