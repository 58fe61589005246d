import { expect, test } from 'vitest';
import { toNetworkError } from '../../src/net/network-error.ts';

const errorWith = (code: string) => Object.assign(new Error(code), { code });

test.each(['ENETUNREACH', 'EMFILE', 'ENFILE', 'ENETDOWN', 'EADDRNOTAVAIL', 'EAI_AGAIN'])('%s is a local error', (code) =>
  expect(toNetworkError(errorWith(code))).toMatchObject({ kind: 'local' }),
);

test('if several addresses were tried, prefers the error of a target to a local one', () => {
  const [noRoute, refused] = [errorWith('ENETUNREACH'), errorWith('ECONNREFUSED')];
  expect(toNetworkError(new AggregateError([noRoute, refused]))).toMatchObject({ kind: 'refused' });
  expect(toNetworkError(new AggregateError([noRoute]))).toMatchObject({ kind: 'local' });
});

test('returns an error that does not come from the network unchanged', () => {
  const bug = new TypeError('x is not a function');
  expect(toNetworkError(bug)).toBe(bug);
});
