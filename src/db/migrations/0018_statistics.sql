-- unused since 0.1.0
-- The history of checks: every check for two days, the statistics of hours for 35 days, and those of days for 400 days. No version has
-- been released before this one, and none has shown what check_hours contains.
drop table check_hours;

-- The checks of a monitor in an hour, encoded by the service, which appends to them. Of those that exceed the size of a row, only the
-- number is stored.
create table check_logs (
  hour timestamptz(0) not null,
  monitor_id bigint not null,
  user_id bigint not null,
  slot smallint not null,
  checks bytea not null,
  last_failure text,
  more_successes integer not null default 0,
  more_failures integer not null default 0,
  primary key (hour, monitor_id, user_id, slot)
) partition by list (slot);

-- The statistics of each hour of a day, and of each day of a month, encoded by the service. The row of a user with the monitor 0 has the
-- sums of all monitors of the user.
create table hour_statistics (
  user_id bigint not null,
  monitor_id bigint not null,
  day date not null,
  slot smallint not null,
  hours bytea not null,
  primary key (user_id, monitor_id, day, slot)
) partition by list (slot);

create table day_statistics (
  user_id bigint not null,
  monitor_id bigint not null,
  month date not null,
  slot smallint not null,
  days bytea not null,
  primary key (user_id, monitor_id, month, slot)
) partition by list (slot);

-- The partitions of a table form a ring: the slot of a row is the number of its day (check_logs), week (hour_statistics) or month
-- (day_statistics), modulo the number of slots. The slot whose rows have all expired is truncated before its turn comes again. So the
-- service needs no right to create or drop tables. Rows grow in place while their hour or day lasts: free space in their page saves a
-- new entry in the index.
do $$
declare
  ring record;
  part text;
begin
  for ring in
    select * from (values ('check_logs', 4, 30), ('hour_statistics', 7, 60), ('day_statistics', 16, 80)) as rings (name, slots, fill)
  loop
    execute format('alter table %I enable row level security', ring.name);
    execute format('alter table %I force row level security', ring.name);
    execute format('create policy own_rows on %I for select to sitekeeper_app using (user_id = current_user_id())', ring.name);
    execute format('create policy engine on %I to sitekeeper_engine using (true)', ring.name);
    execute format('grant select on %I to sitekeeper_app', ring.name);
    execute format('grant select, insert, update, delete on %I to sitekeeper_engine', ring.name);
    for slot in 0 .. ring.slots - 1 loop
      part := ring.name || '_' || slot;
      execute format('create table %I partition of %I for values in (%s) with (fillfactor = %s)', part, ring.name, slot, ring.fill);
      execute format('alter table %I enable row level security', part);
      execute format('alter table %I force row level security', part);
      execute format('create policy own_rows on %I for select to sitekeeper_app using (user_id = current_user_id())', part);
      execute format('create policy engine on %I to sitekeeper_engine using (true)', part);
      execute format('grant select, truncate on %I to sitekeeper_engine', part);
    end loop;
  end loop;
end
$$;

-- How far hours were rolled up: all before `hour`, and of that hour the monitors up to `monitor_id`. The service inserts the only row.
create table roll_up_progress (
  hour timestamptz(0) primary key default date_trunc('hour', app_now(), 'UTC'),
  monitor_id bigint not null default 0
);

create unique index roll_up_progress_one_row on roll_up_progress ((true));

grant select on roll_up_progress to sitekeeper_app;

grant select, insert, update on roll_up_progress to sitekeeper_engine;

-- Since when a monitor is observed, and until when that is certain; and the periods before, because of a pause, a maintenance or a time
-- in which it could not be checked.
alter table monitors
  add column observed_since timestamptz(3),
  add column observed_until timestamptz(3),
  add column observed_before tstzmultirange,
-- From this hour on, statistics must be rolled up again, because they have changed since.
  add column restate_from timestamptz(0);

grant update (observed_since, observed_until, observed_before, restate_from) on monitors to sitekeeper_engine;

-- The history of a deleted monitor is deleted later, in portions: it has no foreign key, which would delete it at once. The row with the
-- monitor 0 stands for the sums of a deleted user.
create table deleted_monitors (
  user_id bigint not null,
  monitor_id bigint not null,
  primary key (user_id, monitor_id)
);

alter table deleted_monitors enable row level security;

alter table deleted_monitors force row level security;

create policy own_rows on deleted_monitors to sitekeeper_app using (user_id = current_user_id());

create policy engine on deleted_monitors to sitekeeper_engine using (true);

grant select, insert on deleted_monitors to sitekeeper_app;

grant select, delete on deleted_monitors to sitekeeper_engine;

create function remember_deleted_monitors() returns trigger
language plpgsql
as $$
begin
  insert into deleted_monitors (user_id, monitor_id) select user_id, id from deleted on conflict do nothing;
  return null;
end
$$;

create function remember_deleted_users() returns trigger
language plpgsql
as $$
begin
  insert into deleted_monitors (user_id, monitor_id) select id, 0 from deleted on conflict do nothing;
  return null;
end
$$;

revoke execute on function remember_deleted_monitors, remember_deleted_users from public;

create trigger history_kept after delete on monitors
referencing old table as deleted for each statement execute function remember_deleted_monitors();

create trigger history_kept after delete on users
referencing old table as deleted for each statement execute function remember_deleted_users();

-- Finds the incidents of a user that were resolved lately, however many there are.
create index incidents_resolved on incidents (user_id, resolved_at) where resolved_at is not null;
