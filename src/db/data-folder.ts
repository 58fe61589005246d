import { randomBytes } from 'node:crypto';
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';

/** Another process uses the data folder. Two processes on one folder would silently lose each other's data. */
export class FolderInUse extends Error {}

/**
 * Locks the folder for this process until the returned function is called or the process ends, however it ends. The lock
 * belongs to the operating system, so a crash cannot leave it behind as a PID file would be. Node has no API for such
 * locks; SQLite takes one when a transaction begins.
 */
export function lockFolder(folder: string): () => void {
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
  } catch (error) {
    throw new Error(`DATA_DIR must be a writable folder: ${(error as Error).message}.`);
  }
  const lock = new DatabaseSync(join(folder, 'lock'), { timeout: 0 });
  try {
    lock.exec('begin exclusive');
  } catch (error) {
    lock.close();
    if ((error as { errcode?: number }).errcode === 5) {
      throw new FolderInUse(
        `The data folder ${folder} is in use by another process. Stop that process, or set DATA_DIR to another folder.`,
      );
    }
    throw error;
  }
  return () => lock.close();
}

/** Returns the key that encrypts secrets. The first start creates it next to the data. */
export function storedSecretKey(folder: string): Buffer {
  const file = join(folder, 'secret.key');
  try {
    writeFileSync(file, `${randomBytes(32).toString('base64')}\n`, { mode: 0o600, flag: 'wx' });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
  chmodSync(file, 0o600);
  return Buffer.from(readFileSync(file, 'utf8').trim(), 'base64');
}
