import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
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
      `The data directory ${data} belongs to another user (${own}). Start the service as that user, or set DATA_DIR to a new directory, such as ${data}/sitekeeper.`,
    ),
  );
});

test.each(['/proc/x/y', '/proc/self/fd/y', '/dev/null', '/dev/null/data'])('rejects %s in one line', (directory) => {
  expect(() => lockDirectory(directory)).toThrow(/^DATA_DIR must be a writable directory: [^\n]+\.$/);
});

test('rejects a dangling symbolic link and a file', () => {
  symlinkSync(join(folder, 'missing'), data);
  expect(() => lockDirectory(data)).toThrow(/^DATA_DIR must be a writable directory: /);
  writeFileSync(join(folder, 'file'), '');
  expect(() => lockDirectory(join(folder, 'file'))).toThrow(/^DATA_DIR must be a writable directory: /);
  expect(readFileSync(join(folder, 'file'), 'utf8')).toBe('');
});
