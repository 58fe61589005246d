// The service is started in data directories that it cannot use: each time it exits with one line that names setting and folder.
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { collectOutput, inheritedVariables, run } from '../support/process.ts';

const command = join(import.meta.dirname, '../../src/cli/bin.mjs');
/** A mount in a name space of its own needs no root, but some containers forbid it. */
const canMount = spawnSync('unshare', ['--map-root-user', '--mount', 'true']).status === 0;
const fullDisk = 'which is on a full disk. Free some space, or set DATA_DIR to another directory.\n';

let folder: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'sitekeeper-directory-'));
});
afterAll(() => rmSync(folder, { recursive: true }));

test.each(['/proc/x', '/dev/null/x', 'file', 'file/x'])('%s', async (name) => {
  writeFileSync(join(folder, 'file'), '');
  const directory = name.startsWith('/') ? name : join(folder, name);
  const { ended, printed } = run(folder, { PORT: '0', DATA_DIR: directory }, ['serve']);
  expect([await ended, printed()]).toEqual([1, expect.stringMatching(/^Cannot start\. DATA_DIR is [^\n]+\. [^\n]+\.\n$/)]);
  expect(printed()).toContain(`DATA_DIR is ${directory}, which `);
});

/** Runs shell commands with a small file system in the folder "disk". `$start` migrates the database there and exits. */
async function onSmallDisk(options: string, script: string): Promise<string> {
  execFileSync('mkdir', ['-p', join(folder, 'disk')]);
  const mount = `mount -t tmpfs -o ${options} tmpfs disk`;
  const child = spawn(
    'unshare',
    ['--map-root-user', '--mount', 'sh', '-c', `${mount} && start="${process.execPath} ${command} migrate" && ${script}`],
    {
      cwd: folder,
      env: { ...inheritedVariables(), DATA_DIR: join(folder, 'disk/data'), LOG_LEVEL: 'warn' },
    },
  );
  const { ended, printed } = collectOutput(child);
  await ended;
  return printed();
}

test.runIf(canMount).each(['size=4k', 'size=64k', 'size=20m'])('a disk that is full at the first start (%s)', async (size) => {
  expect(await onSmallDisk(size, '$start; echo "exit $?"')).toBe(`DATA_DIR is ${folder}/disk/data, ${fullDisk}exit 1\n`);
});

test.runIf(canMount)('a disk that is full at a later start, until it has space again', async () => {
  const printed = await onSmallDisk('size=100m', '$start; cat /dev/zero > disk/fill 2>&-; $start; rm disk/fill; $start; echo "exit $?"');
  expect(printed).toBe(`DATA_DIR is ${folder}/disk/data, ${fullDisk}exit 0\n`);
});

test.runIf(canMount)('a read-only file system', async () => {
  expect(await onSmallDisk('ro', '$start; echo "exit $?"')).toBe(
    `DATA_DIR is ${folder}/disk/data, which is on a read-only file system. Mount the file system writable, or set DATA_DIR to another directory.\nexit 1\n`,
  );
});
