import { readFileSync, statSync } from 'node:fs';

/** Reads a file that a setting names. The message of an error is the reason, without the path. */
export function readRegularFile(path: string, maxBytes: number): Buffer {
  try {
    const file = statSync(path);
    // Reading a named pipe would wait for somebody who writes to it.
    if (!file.isFile()) throw new Error('it is not a regular file');
    if (file.size > maxBytes) throw new Error(`it has more than ${maxBytes} bytes`);
    return readFileSync(path);
  } catch (error) {
    throw new Error(reasonOf(error), { cause: error });
  }
}

/** Node's messages repeat the path: "EACCES: permission denied, open '/run/secrets/key'". */
function reasonOf(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).replace(/, \w+( '.*')?$/s, '');
}
