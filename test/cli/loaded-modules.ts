// Each command loads only the code that it needs, because loading everything takes longer than a small command runs.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type CommandResult, runCommand } from './run-command.ts';

export const httpCode = /\/node_modules\/(koa|@koa|koa-body|openapi-backend)\/|\/src\/(http\/|app\.ts)/;
export const databaseCode = /\/node_modules\/(@mikro-orm|@electric-sql|pg)\/|\/src\/db\//;

/** Runs a command, and returns the URLs of all modules that it loaded. The list is written to a file in the folder. */
export async function runAndListModules(folder: string, args: string[], input = ''): Promise<CommandResult & { modules: string[] }> {
  const list = join(folder, 'loaded-modules');
  const hook = `
    import { appendFileSync, writeFileSync } from 'node:fs';
    import { registerHooks } from 'node:module';
    writeFileSync(${JSON.stringify(list)}, '');
    registerHooks({ load(url, context, next) {
      appendFileSync(${JSON.stringify(list)}, url + '\\n');
      return next(url, context);
    } });
  `;
  const settings = { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(hook)}` };
  const result = await runCommand(folder, args, { input, settings });
  return { ...result, modules: (await readFile(list, 'utf8')).trim().split('\n') };
}
