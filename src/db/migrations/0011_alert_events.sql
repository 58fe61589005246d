-- unused since 0.1.0
-- No version has been released before this one. An alert contains what has happened instead of a text, so that each channel has a
-- message of its own. Alerts are also the log of deliveries, and providers show whether messages arrive.

-- Row-level security is forced, so the owner of the tables sees their rows only while it is not.
alter table alerts no force row level security;

alter table incidents no force row level security;

alter table monitors no force row level security;

-- Makes the ids of messages unique: the ids of alerts begin at 1 in each database. The service inserts the only row.
create table installation (
  id uuid primary key default gen_random_uuid()
);

create unique index installation_one_row on installation ((true));

grant select, insert on installation to sitekeeper_engine;

-- The contract defines the events, so a new one needs no migration.
alter table alerts drop constraint alerts_kind_check;

drop policy only_cancel on alerts;

alter table alerts drop constraint alerts_status_check;

alter table alerts add column payload jsonb;

update alerts set
  kind = 'monitor.' || alerts.kind,
  status = case status when 'pending' then 'queued' else status end,
  payload = jsonb_build_object(
    'type', 'monitor.' || alerts.kind,
    'timestamp', to_char(alerts.created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
    'data', jsonb_build_object(
      'monitor', (
        select jsonb_build_object(
          'id', m.id, 'friendly_name', m.friendly_name, 'url', m.url, 'type', m.type, 'interval', m.interval_seconds,
          'timeout_seconds', m.timeout_seconds, 'confirmations', m.confirmations, 'is_active', m.is_active, 'status', m.status,
          'tags', m.tags, 'website_id', m.website_id, 'maintenance_until', null,
          'tls_expires_at', to_char(m.tls_expires_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
          'last_checked_at', to_char(m.last_checked_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
          'last_response_time_ms', m.last_response_time_ms, 'last_error', m.last_error,
          'created_at', to_char(m.created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
          'updated_at', to_char(m.updated_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'))
          from monitors as m where m.id = coalesce(alerts.monitor_id, (select monitor_id from incidents where id = alerts.incident_id))),
      'incident', (
        select jsonb_build_object(
          'id', i.id, 'monitor_id', i.monitor_id, 'status', case when i.resolved_at is null then 'open' else 'resolved' end,
          'started_at', to_char(i.started_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
          'resolved_at', to_char(i.resolved_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
          'duration_seconds', round(extract(epoch from i.resolved_at - i.started_at)),
          'cause', i.cause, 'status_code', i.status_code)
          from incidents as i where i.id = alerts.incident_id)));

alter table alerts force row level security;

alter table incidents force row level security;

alter table monitors force row level security;

alter table alerts
  drop column subject,
  drop column body,
  alter column payload set not null,
  alter column status set default 'queued',
  add constraint alerts_status_check check (status in ('queued', 'sent', 'failed', 'suppressed')),
-- A test and a notice to the user are about neither an incident nor a monitor.
  drop constraint alerts_subject_check,
  add constraint alerts_subject_check check (num_nonnulls(incident_id, monitor_id) <= 1),
-- Numbers the reminders of an incident.
  add column sequence integer not null default 0,
  drop constraint alerts_user_id_incident_id_provider_id_kind_key,
  add constraint alerts_once unique (user_id, incident_id, provider_id, kind, sequence),
-- When it was queued last. It is sent again if the user asks for that.
  add column queued_at timestamptz(3) not null default app_now();

drop index alerts_due;

drop index alerts_due_by_provider;

create index alerts_due on alerts (next_attempt_at) where status = 'queued';

create index alerts_due_by_provider on alerts (user_id, provider_id, next_attempt_at) where status = 'queued';

-- The log of a provider's deliveries, newest first.
create index alerts_by_provider on alerts (user_id, provider_id, id desc);

create policy only_cancel on alerts as restrictive for update to sitekeeper_app
  using (status = 'queued') with check (status = 'suppressed');

-- The last response before a failure.
alter table monitors
  add column last_good_at timestamptz(3),
  add column last_good_ms integer;

grant update (last_good_at, last_good_ms) on monitors to sitekeeper_engine;
