import { statfsSync } from 'node:fs';

/** The folder in DATA_DIR cannot be used. The message names both, and says what to do. */
export class DirectoryError extends Error {
  constructor(directory: string, reason: string, advice: string, options?: ErrorOptions) {
    super(`DATA_DIR is ${directory}, which ${reason}. ${advice}`, options);
  }
}

const another = 'set DATA_DIR to another directory';

/** What to say about the error codes of the operating system. */
const explanations: Record<string, [reason: string, advice: string]> = {
  EACCES: ['is not writable for the user that runs the service', `Give that user write access, or ${another}.`],
  EROFS: ['is on a read-only file system', `Mount the file system writable, or ${another}.`],
  ENOSPC: ['is on a full disk', `Free some space, or ${another}.`],
  EIO: ['is on a disk that fails', `Check the disk, or ${another}.`],
  ENOTDIR: ['is not a directory, or is below something that is not', 'Set DATA_DIR to a directory.'],
  ENOENT: ['does not exist and cannot be created', 'Set DATA_DIR to a directory that can be created.'],
  EEXIST: ['is a symbolic link that points to nothing, or is below one', 'Create the directory that it points to, or remove the link.'],
};

const sameAs: Record<string, string> = { EPERM: 'EACCES', EDQUOT: 'ENOSPC', ELOOP: 'EEXIST' };

/** The error codes of SQLite (SQLITE_FULL, …) and of Emscripten, which is between PGlite and the file system. */
const sqliteCodes: Record<number, string> = { 3: 'EACCES', 8: 'EACCES', 10: 'EIO', 13: 'ENOSPC', 14: 'EACCES', 23: 'EACCES' };
const emscriptenCodes: Record<number, string> = {
  2: 'EACCES',
  19: 'EDQUOT',
  29: 'EIO',
  44: 'ENOENT',
  51: 'ENOSPC',
  54: 'ENOTDIR',
  63: 'EPERM',
  69: 'EROFS',
};

/** PostgreSQL needs this much for the next segment of its WAL. */
const minFreeBytes = 16 * 1024 * 1024;

/** Explains an error of the file system below a directory. Returns undefined if it is another error. */
export function explainDirectoryError(directory: string, error: unknown): DirectoryError | undefined {
  const code = codeOf(error);
  const [reason, advice] = explanations[sameAs[code] ?? code] ?? [];
  if (reason && advice) return new DirectoryError(directory, reason, advice, { cause: error });
  if (!/^E[A-Z]+$/.test(code)) return undefined;
  return new DirectoryError(directory, `cannot be used: ${(error as Error).message}`, 'Set DATA_DIR to another directory.', {
    cause: error,
  });
}

/** Explains why the database in a directory cannot be opened. PostgreSQL does not report every full disk as such. */
export function explainOpenError(directory: string, error: unknown): Error {
  if (error instanceof DirectoryError) return error;
  const { bavail, bsize } = statfsSync(directory);
  const explained = explainDirectoryError(directory, bavail * bsize < minFreeBytes ? { code: 'ENOSPC' } : error);
  if (explained) return explained;
  const why = error instanceof Error ? error.message : JSON.stringify(error);
  const advice = 'If the files are damaged, or a copy of a running database, restore a backup.';
  return new DirectoryError(directory, `contains a database that cannot be opened: ${why}`, advice, { cause: error });
}

function codeOf(error: unknown): string {
  const { code = '', errno, errcode, name } = error as { code?: string; errno?: number; errcode?: number; name?: string };
  if (name === 'ErrnoError') return emscriptenCodes[errno ?? 0] ?? '';
  return code === 'ERR_SQLITE_ERROR' ? (sqliteCodes[(errcode ?? 0) & 0xff] ?? '') : code;
}
