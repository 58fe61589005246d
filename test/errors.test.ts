import { describe, expect, test } from 'vitest';
import {
  AlreadyCreated,
  InvalidRequest,
  NotFound,
  ProblemError,
  RetryLaterError,
  UnknownPath,
  type ValidationError,
} from '../src/errors.ts';

const error = (pointer: string): ValidationError => ({ in: 'body', pointer, code: 'required', message: 'is required' });
const errors = (count: number) => Array.from({ length: count }, (_, index) => error(`/f${index}`));

test('a problem has no stack, and later errors have one', () => {
  expect(new ProblemError('not_found', 'Gone.').stack).toBe('Error: Gone.');
  expect(new Error('x').stack).toContain('errors.test');
});

test('NotFound puts the name of a resource in quotes, and not its id', () => {
  expect(new NotFound('Monitor', 5)).toMatchObject({ code: 'not_found', message: 'Monitor 5 was not found.' });
  expect(new NotFound('Website', 'a.example').message).toBe('Website "a.example" was not found.');
});

test('UnknownPath points to the API reference', () => {
  expect(new UnknownPath()).toMatchObject({
    code: 'not_found',
    message: 'No such endpoint. Check the path against the API reference.',
  });
});

test('RetryLaterError says when to retry', () => {
  const cause = new Error('full');
  const problem = new RetryLaterError('unavailable', 'Overloaded.', 2, { cause });
  expect(problem).toMatchObject({ code: 'unavailable', message: 'Overloaded.', retryAfterSeconds: 2, cause });
});

test('AlreadyCreated names the resource, and says what to do', () => {
  const start = 'An earlier request with this Idempotency-Key created API key 5, ';
  expect(new AlreadyCreated({ name: 'API key', id: 5 }, { containsSecret: true })).toMatchObject({
    code: 'already_created',
    id: 5,
    message: `${start}which cannot be shown again. If you did not save it, delete it and create another.`,
  });
  expect(new AlreadyCreated({ name: 'API key', id: 5 }, { containsSecret: false }).message).toBe(
    `${start}but its response was too large to store. Read the resource instead.`,
  );
  expect(new AlreadyCreated({ name: 'API key', id: 5, canBeRead: true }, { containsSecret: true }).message).toBe(
    `${start}but its response contains a secret, and was not stored. Read the resource instead.`,
  );
});

describe('InvalidRequest', () => {
  test.each([
    ['the body', { in: 'body', pointer: '' }, 'the body is wrong'],
    ['a field', { in: 'body', pointer: '/name' }, '/name is wrong'],
    ['a line of a field', { in: 'body', pointer: '/exclude_ips', line: 3 }, '/exclude_ips, line 3, is wrong'],
    ['a header', { in: 'header', name: 'If-Match' }, 'the header "If-Match" is wrong'],
    ['a query parameter', { in: 'query', name: 'page' }, 'the query parameter "page" is wrong'],
    ['a path parameter', { in: 'path', name: 'id' }, 'the path parameter "id" is wrong'],
  ] as const)('says where the error is: %s', (_, location, text) => {
    const invalid = new InvalidRequest([{ ...location, code: 'c', message: 'is wrong' }]);
    expect(invalid).toMatchObject({ code: 'validation_failed', message: `The request has 1 validation error: ${text}.` });
  });

  const listed = '/f0 is required; /f1 is required; /f2 is required; /f3 is required; /f4 is required';

  test.each([
    [5, `The request has 5 validation errors: ${listed}.`],
    [6, `The request has 6 validation errors: ${listed}; and 1 more.`],
    [100, `The request has 100 validation errors: ${listed}; and 95 more.`],
    [101, `The request has more than 100 validation errors, of which the first 100 are listed: ${listed}; and more.`],
  ])('summarizes %i errors', (count, message) => {
    expect(new InvalidRequest(errors(count))).toMatchObject({ message, errors: errors(Math.min(count, 100)) });
  });

  test('for a reused key, says that a new one is needed', () => {
    expect(new InvalidRequest([], 'idempotency_key_reused')).toMatchObject({
      code: 'idempotency_key_reused',
      message: 'This Idempotency-Key was already used with a different request. Use a new key.',
      errors: [],
    });
  });
});
