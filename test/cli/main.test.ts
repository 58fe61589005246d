import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { databaseCode, httpCode, runAndListModules } from './loaded-modules.ts';
import { runCommand } from './run-command.ts';

let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'sitekeeper-cli-'));
});
afterAll(() => rm(folder, { recursive: true }));

test.each([
  [['--help'], /serve[\s\S]*worker[\s\S]*migrate[\s\S]*backup[\s\S]*move[\s\S]*mock[\s\S]*user[\s\S]*key/],
  [['user', '--help'], /add[\s\S]*password[\s\S]*delete/],
  [['key', '--help'], /generate[\s\S]*create/],
  [['secrets', '--help'], /status[\s\S]*rotate/],
  [['key', 'create', '--help'], /--user[\s\S]*--name[\s\S]*--scopes[\s\S]*--expires/],
])('%j prints the commands or options', async (args, text) => {
  const { code, printed } = await runCommand(folder, args);
  expect(code).toBe(0);
  expect(printed).toMatch(text);
});

test('an unknown command is rejected in one line', async () => {
  expect(await runCommand(folder, ['frob'])).toEqual({
    code: 1,
    printed: 'error: unknown command "frob". Run "sitekeeper --help" for a list of commands.\n',
  });
});

test.each([
  ['--help', ['--help']],
  ['key generate', ['key', 'generate']],
])('%s loads neither HTTP nor database code', async (_, args) => {
  const { code, modules } = await runAndListModules(folder, args);
  expect([code, modules.some((url) => url.endsWith('/src/cli/main.ts'))]).toEqual([0, true]);
  expect(modules.filter((url) => httpCode.test(url) || databaseCode.test(url))).toEqual([]);
});
