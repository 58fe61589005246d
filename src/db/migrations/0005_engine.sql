-- What the engine keeps about a monitor between checks. A claim token is handed out with each check and must come back
-- with its result; whoever changes the target takes it away, so that a late result is not recorded.
alter table monitors
  add column failures smallint not null default 0,
  add column first_failed_at timestamptz(3),
  add column first_cause text,
  add column first_status_code integer,
  add column claim_token bigint;

create index monitors_due on monitors (next_check_at) where next_check_at is not null;

create sequence claim_tokens;

-- A monitor that is made, resumed or changed is checked within 5 seconds, not all of them in the same moment; a paused one
-- is not. What a check under way finds out no longer counts.
create function schedule_monitor() returns trigger
language plpgsql
as $$
begin
  new.next_check_at := case when new.is_active then now() + random() * interval '3 seconds' end;
  new.claim_token := null;
  return new;
end
$$;

create trigger schedule_monitor before insert or update of url, type, interval_seconds, is_active on monitors
for each row execute function schedule_monitor();

-- Alerts to be sent, kept until they are: one per incident, provider and kind.
create table alerts (
  id bigint generated always as identity primary key,
  user_id bigint not null,
  incident_id bigint not null,
  provider_id bigint not null,
  kind text not null check (kind in ('down', 'recovered')),
  subject text not null,
  body text not null,
  status text not null default 'pending' check (status in ('pending', 'sent', 'failed')),
  attempts integer not null default 0,
  next_attempt_at timestamptz(3) not null default now(),
  lease_token bigint,
  last_error text,
  created_at timestamptz(3) not null default now(),
  done_at timestamptz(3),
  foreign key (user_id, incident_id) references incidents (user_id, id) on delete cascade,
  foreign key (user_id, provider_id) references providers (user_id, id) on delete cascade,
  unique (user_id, incident_id, provider_id, kind)
);

create index alerts_due on alerts (next_attempt_at) where status = 'pending';

-- Checks by the hour: enough for statistics, and small.
create table check_hours (
  user_id bigint not null,
  monitor_id bigint not null,
  hour timestamptz(0) not null,
  checks integer not null,
  failures integer not null,
  total_ms bigint not null,
  min_ms integer,
  max_ms integer,
  primary key (user_id, monitor_id, hour),
  foreign key (user_id, monitor_id) references monitors (user_id, id) on delete cascade
);

create index check_hours_by_hour on check_hours (hour);

alter table alerts enable row level security;

alter table alerts force row level security;

alter table check_hours enable row level security;

alter table check_hours force row level security;

create policy own_rows on alerts to sitekeeper_app using (user_id = current_user_id());

create policy own_rows on check_hours to sitekeeper_app using (user_id = current_user_id());

grant select on alerts, check_hours to sitekeeper_app;

-- The engine works for all users, and may do no more than checking and alerting takes.
create policy engine on monitors to sitekeeper_engine using (true);

create policy engine on incidents to sitekeeper_engine using (true);

create policy engine on notifications for select to sitekeeper_engine using (true);

create policy engine on providers for select to sitekeeper_engine using (true);

create policy engine on alerts to sitekeeper_engine using (true);

create policy engine on check_hours to sitekeeper_engine using (true);

grant select, update (status, last_checked_at, last_response_time_ms, last_error, next_check_at, failures, first_failed_at,
  first_cause, first_status_code, claim_token, state_version) on monitors to sitekeeper_engine;

grant select, insert, update (resolved_at), delete on incidents to sitekeeper_engine;

grant select on notifications, providers to sitekeeper_engine;

grant select, insert, delete, update (status, attempts, next_attempt_at, lease_token, last_error, done_at) on alerts to sitekeeper_engine;

grant select, insert, update, delete on check_hours to sitekeeper_engine;

grant usage on sequence claim_tokens to sitekeeper_engine;
