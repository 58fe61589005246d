import { randomBytes } from 'node:crypto';
import { chmodSync, closeSync, existsSync, fsyncSync, openSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { explainDirectoryError } from './directory-error.ts';

// The file next to the embedded database that contains the keys that encrypt secrets: one per line, the newest first.

/** Returns the keys. The first start creates one. */
export function readSecretKeys(directory: string): Buffer[] {
  const file = secretKeyFile(directory);
  try {
    writeFileSync(file, toLines([randomBytes(32)]), { mode: 0o600, flag: 'wx' });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw explainDirectoryError(directory, error) ?? error;
  }
  chmodSync(file, 0o600);
  return readStoredKeys(directory);
}

/** Returns the keys in the file, or none if there is no file. */
export function readStoredKeys(directory: string): Buffer[] {
  const file = secretKeyFile(directory);
  if (!existsSync(file)) return [];
  return readFileSync(file, 'utf8')
    .trim()
    .split(/\s+/)
    .map((key) => Buffer.from(key, 'base64'));
}

/** Puts a new key before the others. Returns all of them. */
export function addSecretKey(directory: string): Buffer[] {
  const keys = [randomBytes(32), ...readSecretKeys(directory)];
  replaceFile(directory, keys);
  return keys;
}

/** Removes every key but the newest. */
export function removeOldSecretKeys(directory: string): void {
  replaceFile(directory, readSecretKeys(directory).slice(0, 1));
}

/** Replaces the file as a whole, on the disk as well: without its key a secret is lost. */
function replaceFile(directory: string, keys: Buffer[]) {
  const file = secretKeyFile(directory);
  const temporary = `${file}.new`;
  const descriptor = openSync(temporary, 'w', 0o600);
  writeFileSync(descriptor, toLines(keys));
  fsyncSync(descriptor);
  closeSync(descriptor);
  renameSync(temporary, file);
}

export function secretKeyFile(directory: string): string {
  return join(directory, 'secret.key');
}

function toLines(keys: Buffer[]): string {
  return keys.map((key) => `${key.toString('base64')}\n`).join('');
}
