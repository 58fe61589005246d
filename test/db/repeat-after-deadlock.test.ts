import { expect, test } from 'vitest';
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

const deadlock = new RetryLaterError('unavailable', 'deadlock', 1);

test('work that fails temporarily is tried five times', async () => {
  const recovers = failing(4, deadlock);
  expect([await repeatAfterDeadlock(recovers.work), recovers.calls()]).toEqual(['done', 5]);
  const fails = failing(5, deadlock);
  await expect(repeatAfterDeadlock(fails.work)).rejects.toBe(deadlock);
  expect(fails.calls()).toBe(5);
});

test('any other error is not repeated', async () => {
  const fails = failing(1, new Error('broken'));
  await expect(repeatAfterDeadlock(fails.work)).rejects.toThrow('broken');
  expect(fails.calls()).toBe(1);
});
