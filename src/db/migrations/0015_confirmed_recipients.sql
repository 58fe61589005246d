-- A mail that nobody has asked for must not be more than one. Until the recipient has confirmed the address, only the link is sent.
alter table providers add column recipient_unconfirmed boolean not null default false;

-- A request also queues the message with the link.
drop policy only_tests on alerts;

create policy only_tests_and_links on alerts as restrictive for insert to sitekeeper_app
  with check (kind = 'test' and status in ('sent', 'failed') or kind = 'recipient.confirmation' and status = 'queued');
