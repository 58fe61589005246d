import { expect, test } from 'vitest';
import { loginOf, withLogin } from '../../src/config/postgres-url.ts';

const several = 'one:5432,two:5433/sitekeeper?target_session_attrs=read-write';

test.each([
  ['postgres://app:secret@db/sitekeeper', 'app'],
  ['postgres://app@db/sitekeeper', 'app'],
  ['postgres://db/sitekeeper', ''],
  ['postgres://my%20app%40work:secret@db/sitekeeper', 'my app@work'],
  [`postgres://app:a,b@${several}`, 'app'],
])('the login in %s is "%s"', (url, login) => expect(loginOf(url)).toBe(login));

test.each([
  ['postgres://owner:secret@db/sitekeeper', 'postgres://app:…@db/sitekeeper'],
  ['postgres://owner@db:5433/sitekeeper', 'postgres://app:…@db:5433/sitekeeper'],
  ['postgresql://db/sitekeeper', 'postgresql://app:…@db/sitekeeper'],
  ['postgres://owner:sec@ret@db/sitekeeper', 'postgres://app:…@db/sitekeeper'],
  ['postgres:///sitekeeper?host=/run/postgresql', 'postgres://app:…@/sitekeeper?host=/run/postgresql'],
  ['postgres://db/sitekeeper?options=-c%20x=a@b', 'postgres://app:…@db/sitekeeper?options=-c%20x=a@b'],
  [`postgres://owner:secret@${several}`, `postgres://app:…@${several}`],
])('in %s, nothing but the login is replaced', (url, replaced) => expect(withLogin(url, 'app:…')).toBe(replaced));

test('a login with the characters of a replacement pattern is taken literally', () => {
  expect(withLogin('postgres://owner@db/sitekeeper', '$1$&')).toBe('postgres://$1$&@db/sitekeeper');
});
