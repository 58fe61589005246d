-- When a user had an alert sent again.
alter table alerts add column repeated_at timestamptz(3);

-- An alert that is sent again was delivered before.
grant update (first_sent_at, repeated_at) on alerts to sitekeeper_app;
