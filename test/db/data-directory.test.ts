import { chmodSync, mkdirSync, mkdtempSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { lockDirectory } from '../../src/db/data-directory.ts';

let folder: string;
let data: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'sitekeeper-directory-'));
  data = join(folder, 'data');
});
afterEach(() => {
  vi.restoreAllMocks();
  rmSync(folder, { recursive: true });
});

const modeOf = (path: string) => statSync(path).mode & 0o777;

test('creates the directory and its parents for the own user only', () => {
  lockDirectory(join(data, 'nested'))();
  expect([modeOf(data), modeOf(join(data, 'nested'))]).toEqual([0o700, 0o700]);
});

test.each([0o755, 0o777, 0o750, 0o1777])('closes an own directory with mode %o to other users', (mode) => {
  mkdirSync(data);
  chmodSync(data, mode);
  lockDirectory(data)();
  expect(modeOf(data)).toBe(0o700);
});

test('closes the directory that a symbolic link points to', () => {
  const target = join(folder, 'target');
  mkdirSync(target);
  chmodSync(target, 0o755);
  symlinkSync(target, data);
  lockDirectory(data)();
  expect(modeOf(target)).toBe(0o700);
});

test('rejects a directory of another user in one line', () => {
  mkdirSync(data, { mode: 0o700 });
  const own = process.getuid?.() ?? 0;
  vi.spyOn(process, 'getuid').mockReturnValue(own + 1);
  expect(() => lockDirectory(data)).toThrow(
    new Error(
      `DATA_DIR is ${data}, which belongs to another user (${own}). Start the service as that user, or set DATA_DIR to a new directory, such as ${data}/sitekeeper.`,
    ),
  );
});

test.each(['/proc/x/y', '/proc/self/fd/y', '/dev/null', '/dev/null/data'])('rejects %s in one line', (directory) => {
  const start = `DATA_DIR is ${directory}, which `;
  expect(() => lockDirectory(directory)).toThrow(expect.objectContaining({ message: expect.stringMatching(/^[^\n]+\. [^\n]+\.$/) }));
  expect(() => lockDirectory(directory)).toThrow(expect.objectContaining({ message: expect.stringContaining(start) }));
});

const cases: [name: string, prepare: () => string, reason: string][] = [
  ['a symbolic link to nothing', () => link('dangling', 'missing'), 'is a symbolic link that points to nothing, or is below one'],
  [
    'a directory below such a link',
    () => join(link('dangling', 'missing'), 'x'),
    'is a symbolic link that points to nothing, or is below one',
  ],
  ['a link to itself', () => link('loop', 'loop'), 'is a symbolic link that points to nothing, or is below one'],
  ['a file', () => createFile('file'), 'is not a directory, or is below something that is not'],
  ['a directory below a file', () => join(createFile('file'), 'x'), 'is not a directory, or is below something that is not'],
  ['a name that is too long', () => join(folder, 'x'.repeat(300)), 'cannot be used: ENAMETOOLONG'],
  ['a directory with a damaged lock', () => dirname(createFile('lock')), 'contains a file "lock" that cannot be used'],
];

test.each(cases)('rejects %s in one line', (_, prepare, reason) => {
  const directory = prepare();
  expect(() => lockDirectory(directory)).toThrow(
    expect.objectContaining({ message: expect.stringContaining(`DATA_DIR is ${directory}, which ${reason}`) }),
  );
});

function link(name: string, target: string): string {
  symlinkSync(join(folder, target), join(folder, name));
  return join(folder, name);
}

function createFile(name: string): string {
  writeFileSync(join(folder, name), 'neither a directory nor a database');
  return join(folder, name);
}
