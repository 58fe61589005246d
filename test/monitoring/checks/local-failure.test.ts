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

test.each(['dns', 'unreachable', 'address_not_allowed'] as const)('with an error of the kind %s, there was no reply', (kind) => {
  expect(classifyFailure(new NetworkError(kind, 'message'))).toEqual({ up: false, cause: 'message', statusCode: null, noReply: true });
});

test('an error that does not come from the network is thrown again', () => {
  const bug = new TypeError('x is not a function');
  expect(() => classifyFailure(bug)).toThrow(bug);
});
