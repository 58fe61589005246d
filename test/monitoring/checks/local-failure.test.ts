import { expect, test } from 'vitest';
import { classifyFailure, LocalFailure } from '../../../src/monitoring/checks/local-failure.ts';
import { NetworkError } from '../../../src/net/network-error.ts';

test('a local error is a local failure', () => {
  const result = classifyFailure(new NetworkError('local', 'no route to the network', { cause: 'ENETUNREACH' }));
  expect(result).toBeInstanceOf(LocalFailure);
  expect(result).toMatchObject({ message: 'no route to the network', cause: 'ENETUNREACH' });
});

test('an error of the target is a failure of the monitor', () => {
  expect(classifyFailure(new NetworkError('refused', 'connection refused'))).toEqual({
    up: false,
    cause: 'connection refused',
    statusCode: null,
  });
});

test('an address that is not allowed is a failure of the monitor, with the same cause for every address', () => {
  expect(classifyFailure(new NetworkError('address_not_allowed', '127.0.0.1 is not allowed'))).toEqual({
    up: false,
    cause: 'address_not_allowed',
    statusCode: null,
  });
});

test('an error that does not come from the network is thrown again', () => {
  const bug = new TypeError('x is not a function');
  expect(() => classifyFailure(bug)).toThrow(bug);
});
