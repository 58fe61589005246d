import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { gunzipSync } from 'node:zlib';

const { resolve } = createRequire(import.meta.url);
const archive = join(dirname(resolve('@electric-sql/pglite-prepopulatedfs')), 'prepopulatedfs.tgz');
/** The archive contains 40 MB. With less room than that, zlib would need twice the memory to join its chunks. */
const chunkSize = 64 * 1024 * 1024;
const blockSize = 512;

/**
 * Unpacks a prepared cluster, which saves the seconds that initdb takes. PGlite can unpack it too, but holds several copies of all
 * files while it does, which makes the process 100 MB larger for good.
 */
export function unpackFreshCluster(folder: string): void {
  const tar = gunzipSync(readFileSync(archive), { chunkSize });
  mkdirSync(folder, { mode: 0o700 });
  for (let at = 0; tar[at]; ) {
    const { name, size, isFolder } = readHeader(tar.subarray(at, at + blockSize));
    const start = at + blockSize;
    if (isFolder) mkdirSync(join(folder, name), { recursive: true, mode: 0o700 });
    else writeFileSync(join(folder, name), tar.subarray(start, start + size), { mode: 0o600 });
    at = start + Math.ceil(size / blockSize) * blockSize;
  }
}

/** Reads the fields of a header in the ustar format. */
function readHeader(block: Buffer) {
  const text = (start: number, end: number) => block.toString('latin1', start, end).replace(/\0.*$/s, '');
  return { name: text(0, 100), size: Number.parseInt(text(124, 136), 8), isFolder: text(156, 157) === '5' };
}
