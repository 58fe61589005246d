-- What a search compares. Computing it for each row of a list would block the embedded database, and so the process.
alter table monitors
  add column searched_name text not null generated always as (lower(friendly_name)) stored,
  add column searched_url text generated always as (lower(url)) stored,
-- What a claim of the monitor reads, in bytes. Their sum is limited.
  add column claimed_bytes integer not null
    generated always as (octet_length(settings::text) + coalesce(octet_length(url), 0)) stored;
