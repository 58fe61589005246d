import type { PGlite } from '@electric-sql/pglite';

const diskFull = '53100';

/**
 * Stops using PGlite after a PANIC, which PostgreSQL raises when it cannot write its WAL. A server would be restarted, but
 * PGlite would spin forever at the next call, so no further call is made. Returns whether a panic has happened. Errors about a
 * full disk name the folder as well: PostgreSQL names only the file in it.
 */
export function watchForPanic(pglite: PGlite, folder: string, onPanic: (error: Error) => void): () => boolean {
  const execute = pglite.execProtocolStream.bind(pglite);
  const runTransaction = pglite.transaction.bind(pglite);
  let hasPanicked = false;
  pglite.execProtocolStream = async (...given) => {
    if (hasPanicked) throw crashed();
    try {
      return await execute(...given);
    } catch (error) {
      if (error instanceof Error && 'code' in error && error.code === diskFull) error.message += ` (DATA_DIR is ${folder})`;
      if ((error as { severity?: string }).severity !== 'PANIC') throw error;
      hasPanicked = true;
      onPanic(error as Error);
      throw crashed(error);
    }
  };
  // The query builder turns a transaction that cannot begin into an unhandled rejection, which would end the process before
  // the pending requests get their responses. A promise that never settles avoids that.
  pglite.transaction = (work) => (hasPanicked ? new Promise(() => {}) : runTransaction(work));
  return () => hasPanicked;
}

function crashed(cause?: unknown): Error {
  return new Error('Connection terminated: the embedded database has crashed', { cause });
}
