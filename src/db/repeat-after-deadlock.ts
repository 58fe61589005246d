import { DatabaseOutage, RetryLaterError } from '../errors.ts';

const maxAttempts = 5;

/** Repeats work on many rows. Other requests, and the engine, can cause a deadlock with it. */
export async function repeatAfterDeadlock<T>(work: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof RetryLaterError) || error instanceof DatabaseOutage || attempt === maxAttempts) throw error;
    }
  }
}
