-- Alerts are the log of deliveries: users can have one sent again, and tests are in it. Providers show whether messages arrive, and
-- wait if their receiver asks for it.

-- What the last attempt failed with. Null after a success.
alter table providers
  add column last_delivery_error text,
-- Since when every attempt has failed, how many there were, and when the user was told.
  add column failing_since timestamptz(3),
  add column failed_attempts integer not null default 0,
  add column failing_told_at timestamptz(3),
-- Until then no message is sent.
  add column next_message_at timestamptz(3),
-- The messages since the first one of the last half minute. Many messages become one.
  add column burst_started_at timestamptz(3),
  add column burst_messages integer not null default 0;

create index providers_failing on providers (failing_since) where failing_since is not null and failing_told_at is null;

create index providers_waiting on providers (next_message_at) where next_message_at is not null;

create policy engine_update on providers for update to sitekeeper_engine using (true);

grant update (last_delivery_error, failing_since, failed_attempts, failing_told_at, next_message_at, burst_started_at, burst_messages)
  on providers to sitekeeper_engine;

-- A request can cancel an alert, or have it sent again. It cannot change what an alert says, or claim that one was sent.
drop policy only_cancel on alerts;

create policy only_cancel_or_repeat on alerts as restrictive for update to sitekeeper_app
  using (true) with check (status in ('queued', 'suppressed'));

grant update (next_attempt_at, attempts, queued_at, lease_token, counted_at) on alerts to sitekeeper_app;

grant update (queued_at) on alerts to sitekeeper_engine;

-- A request sends a test itself, and logs the outcome.
create policy only_tests on alerts as restrictive for insert to sitekeeper_app
  with check (kind = 'test' and status in ('sent', 'failed'));

grant insert on alerts to sitekeeper_app;
