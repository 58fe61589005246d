-- The key of a website begins with the user, as the policy does. With a key on the id alone the planner may walk through
-- the newer rows of all other users to find the newest ones of this user.
alter table websites drop constraint websites_pkey;

alter table websites drop constraint websites_user_id_id_key;

alter table websites add primary key (user_id, id);

-- Few rows are favorites, and dashboards ask for just these.
create index websites_favorites on websites (user_id, id) where favorite;

-- How many websites a user has, so that neither the quota nor the list counts 100,000 rows. Whoever adds or deletes one
-- holds the user's row until the end of the transaction, so that the number is exact.
alter table users add column website_count integer not null default 0;

-- The owner, too, sees only what the policies show, and to the owner they show nothing.
alter table users no force row level security;

alter table websites no force row level security;

update users set website_count = (select count(*) from websites where websites.user_id = users.id);

alter table users force row level security;

alter table websites force row level security;

grant update (website_count) on users to sitekeeper_app;

create function count_websites() returns trigger
language plpgsql
as $$
begin
  update users
     set website_count = website_count + changes.rows * case tg_op when 'INSERT' then 1 else -1 end
    from (select user_id, count(*) as rows from changed group by user_id) as changes
   where users.id = changes.user_id;
  return null;
end
$$;

create trigger websites_added after insert on websites
referencing new table as changed for each statement execute function count_websites();

create trigger websites_deleted after delete on websites
referencing old table as changed for each statement execute function count_websites();
