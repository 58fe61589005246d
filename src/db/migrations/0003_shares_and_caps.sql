-- Fair shares: check slots and delivery slots are shared among users, and a user's checks at once on one host are limited. Caps:
-- the messages of a user and of a provider are counted.

-- The host in the URL of a monitor, as it is written there, in lower case and without a trailing dot. A target without a scheme
-- is a host.
create function target_host(url text) returns text
language sql immutable parallel safe
return rtrim(lower(coalesce(
  substring(url from '^[A-Za-z][A-Za-z0-9+.-]*:[/\\]+(?:[^/\\?#]*@)?(\[[^]]*\]|[^/\\?#:]*)'), url)), '.');

revoke execute on function target_host from public;

grant execute on function target_host to sitekeeper_app;

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

-- Messages sent per period: 'sms' per user and day, 'provider 17' per provider and hour. There is no reference to the provider,
-- because deleting and creating it again must not start a new count.
create table message_counts (
  user_id bigint not null references users (id) on delete cascade,
  counter text not null,
  period_start timestamptz(0) not null,
  messages integer not null,
  primary key (user_id, counter, period_start)
);

create index message_counts_by_period on message_counts (period_start);

alter table message_counts enable row level security;

alter table message_counts force row level security;

create policy own_rows on message_counts to sitekeeper_app using (user_id = current_user_id());

create policy engine on message_counts to sitekeeper_engine using (true);

grant select, insert, update on message_counts to sitekeeper_app;

grant select, insert, update, delete on message_counts to sitekeeper_engine;

-- When the alert was counted. A retry is not counted again.
alter table alerts add column counted_at timestamptz(3);

grant update (counted_at) on alerts to sitekeeper_engine;
