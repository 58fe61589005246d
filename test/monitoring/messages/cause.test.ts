import { expect, test } from 'vitest';
import { causeInWords, shortCause } from '../../../src/monitoring/messages/cause.ts';

test.each([
  ['HTTP 503', '503 Service Unavailable, expected 2xx'],
  ['HTTP 200, expected 301 or 302', '200 OK, expected 301 or 302'],
  ['HTTP 799', 'HTTP 799, expected 2xx'],
  ['connection refused', 'connection refused'],
  ['the body does not contain "HTTP 503"', 'the body does not contain "HTTP 503"'],
])('%s in words is: %s', (cause, words) => {
  expect(causeInWords(cause)).toBe(words);
});

test.each([
  ['HTTP 503', '503 Service Unavailable'],
  ['HTTP 511', '511 Network Authentication Required'],
  ['HTTP 200, expected 301 or 302', '200 OK, expected 301 or 302'],
  ['HTTP 503, expected 200, 301, 302, 404 or 410', '503 Service Unavailable'],
  ['the body does not contain "Welcome back to the shop"', 'an expected text is missing'],
  ['the first MiB of the body does not contain "x"', 'an expected text is missing'],
  ['the body contains "Fatal error"', 'an unwanted text was found'],
  ['the body is compressed, although that was not asked for, and cannot be searched', 'the body is compressed'],
  ['the body was sent in pieces that are too small, and was not read to its end', 'the body was not read to its end'],
  ['the body is longer than 128 KiB, and is not parsed as JSON', 'the JSON document is too long'],
  ['the JSON value at /checks/0/state is not "up"', 'a JSON value is not as expected'],
  ['the JSON document does not exist', 'the JSON is not as expected'],
  ['DNS lookup failed: the DNS server reported an error', 'DNS lookup failed'],
  ['connection closed before the response was complete', 'the response was not complete'],
  ['connection not permitted by a firewall', 'connection blocked by a firewall'],
  ['TLS certificate signed by an unknown authority', 'TLS certificate not trusted'],
  ['TLS certificate expired on 2026-11-15', 'TLS certificate expired'],
  ['timed out after 10 s while reading the body', 'timed out after 10 s'],
  ['address not allowed: it is private, local or reserved', 'address not allowed'],
  ['no heartbeat for 25 h', 'no heartbeat for 25 h'],
  ['a cause of a later version, which is very long and has commas', 'a cause of a later version'],
  ['a cause of a later version that has no punctuation at all', 'a cause of a later version that ha..'],
])('%s is shortened to: %s', (cause, short) => {
  expect(shortCause(cause)).toBe(short);
  expect(shortCause(cause).length).toBeLessThanOrEqual(36);
});
