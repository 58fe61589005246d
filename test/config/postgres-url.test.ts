import { describe, expect, test } from 'vitest';
import { findUrlError, loginOf, requiresWritable, splitHosts, withLogin } from '../../src/config/postgres-url.ts';

const several = 'one:5432,two:5433/sitekeeper?target_session_attrs=read-write';

test.each([
  ['postgres://app:secret@db/sitekeeper', 'app'],
  ['postgres://app@db/sitekeeper', 'app'],
  ['postgres://db/sitekeeper', ''],
  ['postgres://my%20app%40work:secret@db/sitekeeper', 'my app@work'],
  [`postgres://app:a,b@${several}`, 'app'],
  ['postgres://app@db/sitekeeper?user=other', 'other'],
  ['postgres://app@db/sitekeeper?user=', ''],
])('the login in %s is "%s"', (url, login) => expect(loginOf(url)).toBe(login));

test.each([
  ['postgres://owner:secret@db/sitekeeper', 'postgres://app:…@db/sitekeeper'],
  ['postgres://owner@db:5433/sitekeeper', 'postgres://app:…@db:5433/sitekeeper'],
  ['postgresql://db/sitekeeper', 'postgresql://app:…@db/sitekeeper'],
  ['postgres://owner:sec@ret@db/sitekeeper', 'postgres://app:…@db/sitekeeper'],
  ['postgres:///sitekeeper?host=/run/postgresql', 'postgres://app:…@/sitekeeper?host=/run/postgresql'],
  ['postgres://db/sitekeeper?options=-c%20x=a@b', 'postgres://app:…@db/sitekeeper?options=-c%20x=a@b'],
  [`postgres://owner:secret@${several}`, `postgres://app:…@${several}`],
  ['postgres://db/sitekeeper?application_name=a://b@c', 'postgres://app:…@db/sitekeeper?application_name=a://b@c'],
  ['postgres://db/sitekeeper?options=a?b', 'postgres://app:…@db/sitekeeper?options=a?b'],
  ['postgres://db/sitekeeper?sslmode=require&application_name=x', 'postgres://app:…@db/sitekeeper?sslmode=require&application_name=x'],
])('in %s, nothing but the login is replaced', (url, replaced) => expect(withLogin(url, 'app:…')).toBe(replaced));

test('a login with the characters of a replacement pattern is taken literally', () => {
  expect(withLogin('postgres://owner@db/sitekeeper', '$1$&')).toBe('postgres://$1$&@db/sitekeeper');
});

test.each([
  ['postgres://db/sitekeeper?user=owner', 'postgres://app@db/sitekeeper'],
  ['postgres://db/sitekeeper?password=hidden', 'postgres://app@db/sitekeeper'],
  ['postgres://db/sitekeeper?us%65r=owner', 'postgres://app@db/sitekeeper'],
  ['postgres://owner@db/sitekeeper?user=a&sslmode=require&password=b', 'postgres://app@db/sitekeeper?sslmode=require'],
  ['postgres://db/sitekeeper?', 'postgres://app@db/sitekeeper'],
  ['postgres://db/sitekeeper?sslmode=require&&', 'postgres://app@db/sitekeeper?sslmode=require'],
  ['postgres://db/sitekeeper?username=x', 'postgres://app@db/sitekeeper?username=x'],
])('in %s, a login in the parameters is replaced', (url, replaced) => expect(withLogin(url, 'app')).toBe(replaced));

test('a URL without a scheme has no place for a login, so it is not changed', () => {
  expect(withLogin('db/sitekeeper', 'app')).toBe('db/sitekeeper');
  expect(withLogin('db/postgres://x', 'app')).toBe('db/postgres://x');
});

test.each([
  ['postgres://db/sitekeeper', ['postgres://db/sitekeeper']],
  ['postgres://me:a,b@one:5432,[::1]:5433/x?y=1,2#z', ['postgres://me:a,b@one:5432/x?y=1,2#z', 'postgres://me:a,b@[::1]:5433/x?y=1,2#z']],
  ['postgres://one,two', ['postgres://one', 'postgres://two']],
  ['postgres://one,two?x=a,b', ['postgres://one?x=a,b', 'postgres://two?x=a,b']],
  ['postgres://one,two/x?y=a\nb', ['postgres://one/x?y=a\nb', 'postgres://two/x?y=a\nb']],
  ['postgres:///sitekeeper?host=/run/postgresql', ['postgres:///sitekeeper?host=/run/postgresql']],
  ['one,two', ['one,two']],
  ['one/postgres://two,three', ['one/postgres://two,three']],
])('%j has one URL for each host', (url, urls) => expect(splitHosts(url)).toEqual(urls));

test.each([
  ['postgres://one,two/sitekeeper?target_session_attrs=read-write', true],
  ['postgres://one,two/sitekeeper?sslmode=require&target_session_attrs=primary', true],
  ['postgres://one/sitekeeper?target_session_attrs=any', false],
  ['postgres://one/sitekeeper', false],
  ['not a URL', false],
])('whether %s requires a server that accepts writes: %s', (url, required) => expect(requiresWritable(url)).toBe(required));

describe('a URL of a database', () => {
  test.each([
    'postgres://db/sitekeeper',
    'postgresql://me:p%40ss@db:5432/x',
    'postgres://db/sitekeeper?target_session_attrs=any',
    'postgres://db/sitekeeper?target_session_attrs=primary',
    'postgres:///sitekeeper?host=/run/postgresql',
    'postgres://one,two:5433/sitekeeper?target_session_attrs=read-write',
    'postgres://one,two/sitekeeper?target_session_attrs=primary',
  ])('is accepted: %s', (url) => expect(findUrlError(url)).toBeUndefined());

  const notPostgres = 'must be a postgres:// URL';
  const noDatabase = 'must end with the name of a database, such as /sitekeeper';
  const unknownAttributes = 'must have a target_session_attrs of read-write, primary or any';
  const emptyHost = 'must have a host before and after each comma';
  const severalHosts = 'must end with ?target_session_attrs=read-write if it has several hosts, because the service writes';

  test.each([
    ['', notPostgres],
    ['db/sitekeeper', notPostgres],
    ['http://db/sitekeeper', notPostgres],
    ['xpostgres://db/sitekeeper', notPostgres],
    ['postgresqlx://db/sitekeeper', notPostgres],
    ['postgres://one,two:70000/sitekeeper?target_session_attrs=read-write', notPostgres],
    ['postgres://db', noDatabase],
    ['postgres://db/', noDatabase],
    ['postgres://db/?sslmode=require', noDatabase],
    ['postgres://one,two/?target_session_attrs=read-write', noDatabase],
    ['postgres://db/sitekeeper?target_session_attrs=standby', unknownAttributes],
    ['postgres://db/sitekeeper?target_session_attrs=', unknownAttributes],
    ['postgres://one,/sitekeeper?target_session_attrs=read-write', emptyHost],
    ['postgres://,two/sitekeeper?target_session_attrs=read-write', emptyHost],
    ['postgres://one,two/sitekeeper', severalHosts],
    ['postgres://one,two/sitekeeper?target_session_attrs=any', severalHosts],
  ])('is rejected: %s %s', (url, message) => expect(findUrlError(url)).toBe(message));
});
