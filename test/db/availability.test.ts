import { expect, test } from 'vitest';
import { convertTemporaryError } from '../../src/db/availability.ts';
import { DatabaseOutage, RetryLaterError } from '../../src/errors.ts';

const withCode = (code: string) => Object.assign(new Error('injected'), { code });

test.each(['ECONNREFUSED', 'ECONNRESET', '08006', '57P01', '53300', '25006'])('%s is an outage, which is observed', (code) => {
  const reasons: string[] = [];
  const observer = { failed: (reason: string) => reasons.push(reason), succeeded() {} };
  expect(convertTemporaryError(new Error('wrapped', { cause: withCode(code) }), observer)).toBeInstanceOf(DatabaseOutage);
  expect(reasons).toEqual(['injected']);
});

test.each(['40P01', '53100', '57014', '25P03'])('%s is temporary, and no outage', (code) => {
  const converted = convertTemporaryError(withCode(code));
  expect(converted).toBeInstanceOf(RetryLaterError);
  expect(converted).not.toBeInstanceOf(DatabaseOutage);
});

test.each(['23505', '42501', 'SK001'])('%s is not temporary', (code) => {
  const error = withCode(code);
  expect(convertTemporaryError(error)).toBe(error);
});
