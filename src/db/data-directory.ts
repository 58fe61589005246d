import { accessSync, chmodSync, constants, existsSync, mkdirSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { DirectoryError, explainDirectoryError } from './directory-error.ts';

/** Another process uses the data directory. Two processes in one directory would corrupt the database. */
export class DirectoryInUse extends Error {}

/**
 * Locks the directory for this process until the returned function is called or the process ends, however it ends. The lock
 * belongs to the operating system, so unlike a PID file it cannot be left behind by a crash. Node has no API for such locks;
 * SQLite takes one when a transaction begins.
 */
export function lockDirectory(directory: string): () => void {
  try {
    createDirectory(directory);
    // Linux reports a file as not executable, which would be misleading.
    if (!statSync(directory).isDirectory()) throw Object.assign(new Error(`${directory} is a file`), { code: 'ENOTDIR' });
    accessSync(directory, constants.W_OK | constants.X_OK);
    makePrivate(directory);
    return lockFile(join(directory, 'lock'), directory);
  } catch (error) {
    throw explainDirectoryError(directory, error) ?? error;
  }
}

function lockFile(file: string, directory: string): () => void {
  let lock: DatabaseSync | undefined;
  try {
    lock = new DatabaseSync(file, { timeout: 0 });
    lock.exec('begin exclusive');
  } catch (error) {
    lock?.close();
    const { errcode } = error as { errcode?: number };
    if (errcode === 5) {
      throw new DirectoryInUse(
        `The data directory ${directory} is in use by another process. Stop that process, or set DATA_DIR to another directory.`,
      );
    }
    if (errcode === 14 || errcode === 26) {
      throw new DirectoryError(directory, 'contains a file "lock" that cannot be used', 'Delete it: it contains no data.', {
        cause: error,
      });
    }
    throw error;
  }
  return () => lock.close();
}

/** Creates a directory and its parents. Node's own recursive mkdir never returns if a file system such as /proc rejects it. */
function createDirectory(directory: string): void {
  if (existsSync(directory)) return;
  createDirectory(dirname(directory));
  try {
    mkdirSync(directory, { mode: 0o700 });
  } catch (error) {
    // Another process that starts at the same time may have created it. A link to nothing exists as well, but is no directory.
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST' || !existsSync(directory)) throw error;
  }
}

/**
 * Removes the access of other users to a directory that existed before. They could read the WAL of the database, or replace its
 * files. Nothing below needs a change, because nobody gets there.
 */
function makePrivate(directory: string): void {
  if (!process.getuid) return; // Windows has other rights.
  const { uid, mode } = statSync(directory);
  if (uid !== process.getuid()) {
    throw new DirectoryError(
      directory,
      `belongs to another user (${uid})`,
      `Start the service as that user, or set DATA_DIR to a new directory, such as ${join(directory, 'sitekeeper')}.`,
    );
  }
  if ((mode & 0o077) === 0) return;
  chmodSync(directory, 0o700);
  if ((statSync(directory).mode & 0o077) === 0) return;
  throw new DirectoryError(
    directory,
    'is open to other users on a file system that ignores chmod',
    'Set DATA_DIR to a directory on another file system, in a container to a named volume.',
  );
}
