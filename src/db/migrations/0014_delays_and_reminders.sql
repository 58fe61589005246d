-- A provider can be told of an outage after a delay, and be reminded of it.
alter table notifications
  add column delay_seconds integer not null default 0,
  add column remind_every_seconds integer;

-- When the next reminder of an open incident may be due. Null if no provider gets reminders of it.
alter table incidents add column remind_at timestamptz(3);

create index incidents_to_remind on incidents (remind_at)
  where remind_at is not null and resolved_at is null and acknowledged_at is null;

grant update (delay_seconds, remind_every_seconds) on notifications to sitekeeper_app;

grant update (remind_at) on incidents to sitekeeper_engine, sitekeeper_app;
