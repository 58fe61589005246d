-- Fair shares: check slots and alert slots are shared among users, and a user's checks at once on one host are limited.

-- The host in the URL of a monitor, as it is written there, in lower case and without a trailing dot. A target without a scheme
-- is a host.
create function target_host(url text) returns text
language sql immutable parallel safe
return rtrim(lower(coalesce(
  substring(url from '^[A-Za-z][A-Za-z0-9+.-]*:[/\\]+(?:[^/\\?#]*@)?(\[[^]]*\]|[^/\\?#:]*)'), url)), '.');

alter table monitors add column target_host text not null default '';

-- Row-level security is forced, so the owner of the table sees its rows only while it is not.
alter table monitors no force row level security;

update monitors set target_host = target_host(url);

alter table monitors force row level security;

create or replace function schedule_monitor() returns trigger
language plpgsql
as $$
begin
  new.next_check_at := case when new.is_active then now() + random() * interval '3 seconds' end;
  new.claim_token := null;
  new.target_host := target_host(new.url);
  return new;
end
$$;

-- Finds the users who have due monitors, and the due monitors of each, without reading those of others.
create index monitors_due_by_user on monitors (user_id, next_check_at) where next_check_at is not null;

-- The same for pending alerts and their providers.
create index alerts_due_by_provider on alerts (user_id, provider_id, next_attempt_at) where status = 'pending';
