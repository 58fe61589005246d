// The contents of a backup are tested in test/operations. Here the embedded database is replaced, because only the folders matter.
import { mkdir, mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { commands } from '../../src/commands/registry.ts';
import type { Database } from '../../src/db/database.ts';
import { readSecretKeys } from '../../src/db/secret-key-file.ts';

let root: string;
let dataDirectory: string;

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'sitekeeper-backup-'));
  dataDirectory = join(root, 'data');
  await mkdir(dataDirectory);
  readSecretKeys(dataDirectory);
});
afterEach(() => rm(root, { recursive: true }));

function backUp(folder: string, withKey = false, copy = async (target: string): Promise<void> => void (await mkdir(target))) {
  const database: Partial<Database> = { backup: copy };
  const context = { database: database as Database, secretKeys: [], config: { dataDirectory }, inService: true, progress: () => {} };
  return commands.backup({ ...context, signal: AbortSignal.timeout(60_000) }, { folder, withKey });
}

test('is a folder that only its owner can read, and contains the key only on request', async () => {
  const [plain, withKey] = [join(root, 'plain'), join(root, 'with-key')];
  expect(await backUp(plain)).toEqual({ folder: plain, contains_key: false });
  expect(await readdir(plain)).toEqual(['postgres']);
  expect((await stat(plain)).mode & 0o777).toBe(0o700);
  expect(await backUp(withKey, true)).toEqual({ folder: withKey, contains_key: true });
  expect(await readdir(withKey)).toEqual(['postgres', 'secret.key']);
});

test('is rejected in a folder that is not empty, or inside the database', async () => {
  await writeFile(join(root, 'file'), '');
  await expect(backUp(root)).rejects.toThrow(`The folder ${root} is not empty.`);
  await mkdir(join(dataDirectory, 'postgres'));
  await expect(backUp(join(dataDirectory, 'postgres', 'copy'))).rejects.toThrow('is inside the database');
});

test('leaves nothing behind if it fails', async () => {
  const fail = async (target: string) => {
    await mkdir(target);
    throw new Error('injected');
  };
  await expect(backUp(join(root, 'failed'), true, fail)).rejects.toThrow('injected');
  expect(await readdir(root)).toEqual(['data']);
});
