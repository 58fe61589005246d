import { randomBytes } from 'node:crypto';
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';

/** Another process uses the data directory. Two processes in one directory would corrupt the database. */
export class DirectoryInUse extends Error {}

/**
 * Locks the directory for this process until the returned function is called or the process ends, however it ends. The lock
 * belongs to the operating system, so unlike a PID file it cannot be left behind by a crash. Node has no API for such locks;
 * SQLite takes one when a transaction begins.
 */
export function lockDirectory(directory: string): () => void {
  try {
    mkdirSync(directory, { recursive: true, mode: 0o700 });
  } catch (error) {
    throw new Error(`DATA_DIR must be a writable directory: ${(error as Error).message}.`);
  }
  const lock = new DatabaseSync(join(directory, 'lock'), { timeout: 0 });
  try {
    lock.exec('begin exclusive');
  } catch (error) {
    lock.close();
    if ((error as { errcode?: number }).errcode === 5) {
      throw new DirectoryInUse(
        `The data directory ${directory} is in use by another process. Stop that process, or set DATA_DIR to another directory.`,
      );
    }
    throw error;
  }
  return () => lock.close();
}

/** Returns the key that encrypts secrets. The first start creates it next to the data. */
export function readOrCreateSecretKey(directory: string): Buffer {
  const file = join(directory, 'secret.key');
  try {
    writeFileSync(file, `${randomBytes(32).toString('base64')}\n`, { mode: 0o600, flag: 'wx' });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
  chmodSync(file, 0o600);
  return Buffer.from(readFileSync(file, 'utf8').trim(), 'base64');
}
