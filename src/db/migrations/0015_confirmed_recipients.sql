-- A mail that nobody has asked for must not be more than one. Until the recipient has confirmed the address, only the link is sent.
alter table providers add column recipient_unconfirmed boolean not null default false;

-- A request also queues the message with the link.
alter policy only_tests on alerts rename to only_tests_and_confirmations;

alter policy only_tests_and_confirmations on alerts
  with check (kind = 'test' and status in ('sent', 'failed') or kind = 'recipient.confirmation' and status = 'queued');
