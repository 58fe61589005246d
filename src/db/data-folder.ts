import { randomBytes } from 'node:crypto';
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';

/** A data folder that another process uses: two on one folder would lose each other's data without a word. */
export class FolderInUse extends Error {}

/**
 * Takes the folder for this process until the returned function is called or the process ends, however it ends. The
 * lock is the operating system's, reached through an SQLite file because Node itself offers none; unlike a file with a
 * process id in it, it cannot be left behind.
 */
export function lockFolder(folder: string): () => void {
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
  } catch (error) {
    throw new Error(`DATA_DIR must be a folder that can be written to: ${(error as Error).message}.`);
  }
  const lock = new DatabaseSync(join(folder, 'lock'), { timeout: 0 });
  try {
    lock.exec('begin exclusive');
  } catch (error) {
    lock.close();
    if ((error as { errcode?: number }).errcode === 5) {
      throw new FolderInUse(`The data folder ${folder} is in use by another process. Stop that one, or set DATA_DIR to another folder.`);
    }
    throw error;
  }
  return () => lock.close();
}

/** The key that encrypts secrets, made at the first start and kept beside the data. */
export function keptSecretKey(folder: string): Buffer {
  const file = join(folder, 'secret.key');
  try {
    writeFileSync(file, `${randomBytes(32).toString('base64')}\n`, { mode: 0o600, flag: 'wx' });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
  chmodSync(file, 0o600);
  return Buffer.from(readFileSync(file, 'utf8').trim(), 'base64');
}
