import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync, statSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { compileCacheDirectory } from '../../src/config/compile-cache.mjs';

let home: string;
let folder: string;

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'sitekeeper-home-'));
  folder = join(home, '.cache/sitekeeper/compiled');
  vi.stubEnv('HOME', home);
  vi.stubEnv('XDG_CACHE_HOME', undefined);
  vi.stubEnv('NODE_COMPILE_CACHE', undefined);
});
afterEach(() => {
  vi.restoreAllMocks();
  vi.unstubAllEnvs();
  rmSync(home, { recursive: true });
});

test('is a private folder in the cache of the user', () => {
  expect(compileCacheDirectory()).toBe(folder);
  expect(statSync(folder).mode & 0o777).toBe(0o700);
  vi.stubEnv('XDG_CACHE_HOME', join(home, 'xdg'));
  expect(compileCacheDirectory()).toBe(join(home, 'xdg/sitekeeper/compiled'));
  // A relative one would depend on the working directory.
  vi.stubEnv('XDG_CACHE_HOME', 'xdg');
  expect(compileCacheDirectory()).toBe(folder);
});

test('is closed to other users if it was open', () => {
  mkdirSync(folder, { recursive: true });
  for (const opened of [folder, join(folder, '..')]) chmodSync(opened, 0o777);
  expect(compileCacheDirectory()).toBe(folder);
  for (const closed of [folder, join(folder, '..')]) expect(statSync(closed).mode & 0o777).toBe(0o700);
});

test('is not used if it belongs to another user or is a symbolic link', () => {
  mkdirSync(join(home, 'elsewhere'), { mode: 0o700 });
  mkdirSync(join(folder, '..'), { recursive: true, mode: 0o700 });
  symlinkSync(join(home, 'elsewhere'), folder);
  expect(compileCacheDirectory()).toBeUndefined();
  rmSync(folder);
  vi.spyOn(process, 'getuid').mockReturnValue((process.getuid?.() ?? 0) + 1);
  expect(compileCacheDirectory()).toBeUndefined();
});

test('is not used if it cannot be created', () => {
  vi.stubEnv('HOME', '/dev/null');
  expect(compileCacheDirectory()).toBeUndefined();
});

test('is left to NODE_COMPILE_CACHE', () => {
  vi.stubEnv('NODE_COMPILE_CACHE', '/anywhere');
  expect(compileCacheDirectory()).toBeUndefined();
  expect(existsSync(folder)).toBe(false);
});
