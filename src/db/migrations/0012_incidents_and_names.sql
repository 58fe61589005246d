-- When a user acknowledged the incident. It ends reminders.
alter table incidents add column acknowledged_at timestamptz(3);

-- The incidents of all monitors of a user, newest first. With resolved_at, those outside the window are skipped and counted without
-- reading the table.
create index incidents_newest on incidents (user_id, started_at desc, id desc) include (resolved_at);

-- A request can acknowledge an open incident and resolve it, as pausing its monitor does, and can change nothing else in incidents.
revoke update on incidents from sitekeeper_app;

grant update (resolved_at, acknowledged_at) on incidents to sitekeeper_app;

create policy only_open on incidents as restrictive for update to sitekeeper_app using (resolved_at is null) with check (true);

alter table providers add column name text;
