import { isConflict } from './availability.ts';

const maxAttempts = 5;

/**
 * Repeats work on many rows. Other requests, and the engine, can cause a deadlock with it. Nothing else is repeated: a statement that
 * timed out would only keep its connection busy for longer.
 */
export async function repeatAfterDeadlock<T>(work: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work();
    } catch (error) {
      if (!isConflict(error) || attempt === maxAttempts) throw error;
    }
  }
}
