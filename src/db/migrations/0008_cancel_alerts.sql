-- Pausing a monitor or changing its target cancels the alerts that have not been sent. A request can do nothing else with alerts.
grant update (status, last_error, done_at) on alerts to sitekeeper_app;

create policy only_cancel on alerts as restrictive for update to sitekeeper_app
  using (status = 'pending') with check (status = 'failed');
