import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { runCommand } from './run-command.ts';

let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'sitekeeper-cli-'));
});
afterAll(() => rm(folder, { recursive: true }));

test.each([
  [['--help'], /serve[\s\S]*worker[\s\S]*migrate[\s\S]*mock[\s\S]*user[\s\S]*key/],
  [['user', '--help'], /add[\s\S]*password[\s\S]*delete/],
  [['key', '--help'], /generate[\s\S]*create/],
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

// Each command loads only its own code, because loading all of it takes longer than a small command.

const httpCode = /\/node_modules\/(koa|@koa|koa-body|openapi-backend)\/|\/src\/(http\/|app\.ts)/;
const databaseCode = /\/node_modules\/(@mikro-orm|@electric-sql|pg)\/|\/src\/db\//;

test.each([
  ['--help', ['--help']],
  ['key generate', ['key', 'generate']],
])('%s loads neither HTTP nor database code', async (_, args) => {
  const { code, urls } = await runAndListModules(args);
  expect([code, urls.some((url) => url.endsWith('/src/cli/main.ts'))]).toEqual([0, true]);
  expect(urls.filter((url) => httpCode.test(url) || databaseCode.test(url))).toEqual([]);
});

test('user add loads no HTTP code', async () => {
  const { code, urls } = await runAndListModules(['user', 'add', 'ada@example.com'], 'a good password\n');
  expect([code, urls.some((url) => databaseCode.test(url))]).toEqual([0, true]);
  expect(urls.filter((url) => httpCode.test(url))).toEqual([]);
});

/** Runs a command with a module hook that writes the URL of every loaded module to a file. */
async function runAndListModules(args: string[], input = ''): Promise<{ code: number | string; urls: string[] }> {
  const file = join(folder, `modules-${args.join('-')}`);
  const hook = `
    import { appendFileSync } from 'node:fs';
    import { registerHooks } from 'node:module';
    registerHooks({ load(url, context, next) {
      appendFileSync(${JSON.stringify(file)}, url + '\\n');
      return next(url, context);
    } });
  `;
  const NODE_OPTIONS = `--import=data:text/javascript,${encodeURIComponent(hook)}`;
  const { code } = await runCommand(folder, args, { input, settings: { NODE_OPTIONS } });
  return { code, urls: (await readFile(file, 'utf8')).trim().split('\n') };
}
