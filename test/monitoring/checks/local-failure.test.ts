import { expect, test } from 'vitest';
import { classifyFailure, LocalFailure } from '../../../src/monitoring/checks/local-failure.ts';
import { NetworkError } from '../../../src/net/network-error.ts';

test('a local error is a local failure', () => {
  const result = classifyFailure(new NetworkError('local', 'too many open files locally', { cause: 'EMFILE' }));
  expect(result).toBeInstanceOf(LocalFailure);
  expect(result).toMatchObject({ message: 'too many open files locally', cause: 'EMFILE' });
});

test('an error of the target is a failure of the monitor', () => {
  expect(classifyFailure(new NetworkError('refused', 'connection refused'))).toEqual({
    up: false,
    cause: 'connection refused',
    statusCode: null,
  });
});

test.each([
  ['dns', false, 'none'],
  ['unreachable', false, 'none'],
  ['unreachable', true, 'earlier'],
  ['timeout', false, 'earlier'],
  ['timeout', true, 'earlier'],
  ['address_not_allowed', false, 'not_asked'],
  ['address_not_allowed', true, 'earlier'],
  ['not_sent', false, 'not_asked'],
] as const)('the reply before an error of the kind %s (after a response: %s) is %s', (kind, hasReplied, reply) => {
  const error = new NetworkError(kind, 'message');
  expect(classifyFailure(error, hasReplied)).toEqual({ up: false, cause: 'message', statusCode: null, reply });
});

test('an error that does not come from the network is thrown again', () => {
  const bug = new TypeError('x is not a function');
  expect(() => classifyFailure(bug)).toThrow(bug);
});
