import { expect, test } from 'vitest';
import { convertTemporaryError } from '../../src/db/availability.ts';
import { repeatAfterDeadlock } from '../../src/db/repeat-after-deadlock.ts';
import { RetryLaterError } from '../../src/errors.ts';

/** Returns work that fails so often, and how often it was called. */
function failing(times: number, error: Error) {
  let calls = 0;
  const work = async () => {
    if (++calls <= times) throw error;
    return 'done';
  };
  return { work, calls: () => calls };
}

const withCode = (code: string) => Object.assign(new Error('from the database'), { code });
const temporary = (code: string) => convertTemporaryError(withCode(code)) as Error;
const deadlock = temporary('40P01');

test('work that ends in a deadlock is tried five times', async () => {
  const recovers = failing(4, deadlock);
  expect([await repeatAfterDeadlock(recovers.work), recovers.calls()]).toEqual(['done', 5]);
  const fails = failing(5, deadlock);
  await expect(repeatAfterDeadlock(fails.work)).rejects.toBe(deadlock);
  expect(fails.calls()).toBe(5);
});

test('a deadlock is recognized before it is converted', async () => {
  const recovers = failing(1, withCode('40P01'));
  expect([await repeatAfterDeadlock(recovers.work), recovers.calls()]).toEqual(['done', 2]);
});

test.each([
  ['a statement that timed out', temporary('57014')],
  ['a full disk', temporary('53100')],
  ['a lost connection', temporary('08006')],
  ['too many requests at once', new RetryLaterError('unavailable', 'Too many requests at once.', 2)],
  ['an internal error', new Error('broken')],
])('%s is not repeated', async (_, error) => {
  const fails = failing(1, error);
  await expect(repeatAfterDeadlock(fails.work)).rejects.toBe(error);
  expect(fails.calls()).toBe(1);
});
