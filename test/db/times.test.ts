import { expect, test } from 'vitest';
import { timeError } from '../../src/db/times.ts';

test.each([
  '0001-01-01T00:00:00Z',
  '0001-01-01T01:00:00+01:00',
  '1969-12-31T23:59:59.999Z',
  '2096-02-29T12:00:00Z',
  '9999-12-31T23:59:59.999Z',
  '9999-12-31T18:59:59-05:00',
])('%s is a time', (text) => {
  expect(timeError(new Date(text))).toBeUndefined();
});

test.each([
  ['the year 0', '0000-12-31T23:59:59.999Z'],
  ['the year 0 in UTC', '0001-01-01T00:00:00+00:01'],
  ['the year 10000 in UTC', '9999-12-31T23:59:59-00:01'],
  ['the year 10000', '+010000-01-01T00:00:00Z'],
  ['a negative year', '-000001-01-01T00:00:00Z'],
  ['a leap second', '2016-12-31T23:59:60Z'],
  ['a month that does not exist', '2099-13-01T00:00:00Z'],
  ['no time', 'tomorrow'],
])('%s is an error', (_, text) => {
  expect(timeError(new Date(text))).toEqual({
    code: 'invalid_time',
    message: 'must be a date and time, such as 2099-12-31T00:00:00Z, before the year 10000',
  });
});
