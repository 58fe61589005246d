import { copyFile, mkdtemp, readdir, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, join, sep } from 'node:path';
import { readStoredKeys, secretKeyFile } from '../db/secret-key-file.ts';
import { OperatorError } from '../errors.ts';
import type { Command } from './command.ts';

interface BackupInput {
  /** An absolute path, because the service has another working directory. */
  folder: string;
  withKey: boolean;
}

interface BackupOutput {
  folder: string;
  contains_key: boolean;
}

/** Copies the embedded database, and the key, to a new folder that can be used as DATA_DIR. */
export const backupCommand: Command<BackupInput, BackupOutput> = async ({ database, config, signal }, { folder, withKey }) => {
  if (!database.backup) throw new OperatorError('Only the embedded database can be backed up by this command.');
  const containsKey = withKey && readStoredKeys(config.dataDirectory).length > 0;
  let temporary: string | undefined;
  try {
    if ((await listIfExists(folder)).length > 0) throw new OperatorError(`The folder ${folder} is not empty. Name a new one.`);
    if (await isMountPoint(folder)) throw new OperatorError(`${folder} is a mount point. Name a new folder inside it.`);
    if (isInside(folder, join(config.dataDirectory, 'postgres')))
      throw new OperatorError(`${folder} is inside the database. Name a folder in another place.`);
    temporary = await mkdtemp(`${folder}.unfinished-`); // Only its owner can read it.
    await database.backup(join(temporary, 'postgres'), signal);
    if (containsKey) await copyFile(secretKeyFile(config.dataDirectory), join(temporary, basename(secretKeyFile(''))));
    await rename(temporary, folder);
    return { folder, contains_key: containsKey };
  } catch (error) {
    if (temporary) await rm(temporary, { recursive: true, force: true });
    const { code, message } = error as NodeJS.ErrnoException;
    if (code?.startsWith('E')) throw new OperatorError(`The backup cannot be written to ${folder}: ${message}.`, { cause: error });
    throw error;
  }
};

function isInside(folder: string, other: string): boolean {
  return `${folder}${sep}`.startsWith(`${other}${sep}`);
}

/** The backup is written next to the folder and then renamed, which cannot replace a mount point. */
async function isMountPoint(folder: string): Promise<boolean> {
  const found = await stat(folder).catch(() => undefined);
  return found !== undefined && found.dev !== (await stat(dirname(folder))).dev;
}

async function listIfExists(folder: string): Promise<string[]> {
  return readdir(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return [];
    throw error;
  });
}
