import type { PGlite } from '@electric-sql/pglite';

/**
 * A server that panics, as it does when its log cannot be written, is started again; the embedded one would spin for ever
 * at the next call. So none is made any more. Returns whether that has happened.
 */
export function watchForPanic(pglite: PGlite, onPanic: (error: Error) => void): () => boolean {
  const execute = pglite.execProtocolStream.bind(pglite);
  const transact = pglite.transaction.bind(pglite);
  let hasPanicked = false;
  pglite.execProtocolStream = async (...given) => {
    if (hasPanicked) throw gaveUp();
    try {
      return await execute(...given);
    } catch (error) {
      if ((error as { severity?: string }).severity !== 'PANIC') throw error;
      hasPanicked = true;
      onPanic(error as Error);
      throw gaveUp(error);
    }
  };
  // The query builder leaves a transaction that cannot begin to be an unhandled rejection, which would end the process in
  // the middle of its last words.
  pglite.transaction = (work) => (hasPanicked ? new Promise(() => {}) : transact(work));
  return () => hasPanicked;
}

function gaveUp(cause?: unknown): Error {
  return new Error('Connection terminated: the embedded database has given up', { cause });
}
