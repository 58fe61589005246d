-- PostgreSQL lets everyone execute a new function. Only the roles that need a function keep that right. A trigger needs none.
revoke execute on function current_user_id, enforce_website_quota, notify_credential_revoked, maintain_website_count, schedule_monitor
  from public;

grant execute on function current_user_id, enforce_website_quota to sitekeeper_app;

-- Sets the user that this transaction works for. The service calls it instead of set_config, which the embedded database does
-- not let it execute: set_config could also change the session's user there.
create function set_user_id(id text) returns text
language sql volatile
return set_config('app.user_id', id, true);

revoke execute on function set_user_id from public;

grant execute on function set_user_id to sitekeeper_app;
