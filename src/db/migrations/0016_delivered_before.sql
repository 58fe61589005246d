-- When an alert was delivered for the first time. A user can have it sent again, and then its status says only what became of that.
alter table alerts add column first_sent_at timestamptz(3);

grant update (first_sent_at) on alerts to sitekeeper_engine;

-- Old alerts are deleted by their age.
create index alerts_done on alerts (done_at) where status <> 'queued';

-- Reminders are shared among users.
create index incidents_to_remind_by_user on incidents (user_id, remind_at)
  where remind_at is not null and resolved_at is null and acknowledged_at is null;

-- A request can also end what a receiver keeps open: the monitor is paused or deleted. The event must be of the kind of the alert.
drop policy only_tests_and_links on alerts;

create policy only_tests_links_and_ends on alerts as restrictive for insert to sitekeeper_app
  with check ((payload ->> 'type' = kind) is true
    and (kind = 'test' and status in ('sent', 'failed') or kind in ('recipient.confirmation', 'monitor.recovered', 'monitor.tls_renewed') and status = 'queued'));
