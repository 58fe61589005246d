import { constants } from 'node:fs';
import { copyFile, mkdir, readdir, writeFile } from 'node:fs/promises';
import { join, relative, sep } from 'node:path';
import { OperatorError } from '../errors.ts';
import type { SuperuserQuery } from './restricted-session.ts';

interface BackupOptions {
  /** The files of the running database. */
  dataDir: string;
  /** A directory that does not exist yet. */
  target: string;
  /** Stops the backup. */
  signal: AbortSignal;
}

/** PostgreSQL creates the contents of these directories when it starts. The WAL is copied at the end. */
const emptyDirectories = new Set([
  'pg_wal',
  'pg_dynshmem',
  'pg_notify',
  'pg_replslot',
  'pg_serial',
  'pg_snapshots',
  'pg_stat_tmp',
  'pg_subtrans',
]);
const slot = 'sitekeeper_backup';

/** Drops what a backup leaves if its process is killed. Otherwise the WAL would be kept, and grow, for ever. */
export const dropUnfinishedBackup = `select pg_drop_replication_slot(slot_name) from pg_replication_slots where slot_name = '${slot}'`;

/**
 * Copies the files of the embedded database while requests go on, as pg_basebackup does: between pg_backup_start and
 * pg_backup_stop PostgreSQL logs whole pages, so that replaying the WAL repairs pages that were copied half-written. The result
 * contains everything that was committed before it ends.
 */
export async function copyRunningCluster(query: SuperuserQuery, { dataDir, target, signal }: BackupOptions): Promise<void> {
  // The slot keeps checkpoints from deleting the WAL that the copy needs. It is not temporary: PostgreSQL drops temporary slots of a
  // session when any statement fails, such as that of a request that violates a constraint.
  await query(`select pg_create_physical_replication_slot('${slot}', true)`).catch((error: { code?: string }) => {
    throw error.code === '42710' ? new OperatorError('Another backup is running. Wait until it has finished.') : error;
  });
  try {
    await query(`select pg_backup_start('sitekeeper backup', true)`);
    const copied = await Promise.allSettled([copyFiles(dataDir, target, signal)]);
    const [end] = await query<{ label: string; last: string }>(
      'select labelfile as label, pg_walfile_name(lsn) as last from pg_backup_stop(false)',
    );
    for (const result of copied) if (result.status === 'rejected') throw result.reason;
    const { label = '', last = '' } = end ?? {};
    await writeFile(join(target, 'backup_label'), label, { mode: 0o600 });
    const [, first = ''] = /\(file ([0-9A-F]{24})\)/.exec(label) ?? [];
    for (const name of await readdir(join(dataDir, 'pg_wal'))) {
      if (/^[0-9A-F]{24}$/.test(name) && name >= first && name <= last)
        await clone(join(dataDir, 'pg_wal', name), join(target, 'pg_wal', name));
    }
  } finally {
    await query(`select pg_drop_replication_slot('${slot}')`);
  }
}

/** Copies many files per turn of the event loop, which requests keep busy. */
const batchSize = 128;

async function copyFiles(dataDir: string, target: string, signal: AbortSignal): Promise<void> {
  await mkdir(target, { mode: 0o700 });
  const files: string[] = [];
  for (const entry of await readdir(dataDir, { recursive: true, withFileTypes: true })) {
    const path = relative(dataDir, join(entry.parentPath, entry.name));
    const [top = ''] = path.split(sep);
    if (path !== top && emptyDirectories.has(top)) continue;
    if (entry.isDirectory()) await mkdir(join(target, path), { recursive: true, mode: 0o700 });
    else if (path !== 'postmaster.pid') files.push(path);
  }
  for (let start = 0; start < files.length; start += batchSize) {
    signal.throwIfAborted();
    await Promise.all(files.slice(start, start + batchSize).map((path) => clone(join(dataDir, path), join(target, path))));
  }
}

/** Copies a file, without copying its contents if the file system can share them. A file may have been deleted since it was listed. */
async function clone(from: string, to: string): Promise<void> {
  try {
    await copyFile(from, to, constants.COPYFILE_FICLONE);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
}
