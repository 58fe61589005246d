// The lint rules guard the structure of src/. Each case breaks one of them in a copy of the project, and lint must report it.
import { execFile } from 'node:child_process';
import { appendFileSync, cpSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';

const root = join(import.meta.dirname, '../..');

interface Violation {
  title: string;
  /** The file that `code` is added to. */
  file: string;
  code: string;
  rule: string;
  /** The file that the rule names, if that is another one. */
  reportedFor?: string;
}

const violations: Violation[] = [
  { title: 'http/ imports db/', file: 'src/http/cors.ts', code: `import '../db/statement.ts';`, rule: 'http-imports' },
  {
    title: 'http/ imports a type of db/',
    file: 'src/http/body.ts',
    code: `export type { Statement } from '../db/statement.ts';`,
    rule: 'http-imports',
  },
  {
    title: 'a feature imports another',
    file: 'src/websites/domain.ts',
    code: `import '../accounts/users.ts';`,
    rule: 'features-are-independent',
  },
  {
    title: 'a handler imports code of http/',
    file: 'src/accounts/keys.ts',
    code: `import '../http/etags.ts';`,
    rule: 'handlers-know-no-http',
  },
  {
    title: 'a feature imports the app',
    file: 'src/websites/website.rules.ts',
    code: `import '../app.ts';`,
    rule: 'features-import-nothing-above',
  },
  {
    title: 'a command loads HTTP code indirectly',
    file: 'src/runtime/open-database.ts',
    code: `import '../http/paging.ts';`,
    rule: 'small-commands-load-no-koa',
    reportedFor: 'src/cli/migrate.ts',
  },
  { title: 'a feature loads Koa', file: 'src/accounts/users.ts', code: `import 'koa';`, rule: 'koa-stays-in-http' },
  {
    title: 'a feature starts a process',
    file: 'src/monitoring/checks/http.ts',
    code: `import 'node:child_process';`,
    rule: 'only-net-opens-connections',
  },
  {
    title: 'a feature resolves names',
    file: 'src/websites/line-lists.ts',
    code: `import 'node:dns/promises';`,
    rule: 'only-net-opens-connections',
  },
  {
    title: 'a channel sends mail itself',
    file: 'src/monitoring/channels/email.ts',
    code: `import 'nodemailer';`,
    rule: 'only-net-imports-network-clients',
  },
  {
    title: 'a feature connects to PostgreSQL',
    file: 'src/websites/website.list.ts',
    code: `import 'pg';`,
    rule: 'clients-of-the-operators-servers',
  },
  {
    title: 'a view reads the database',
    file: 'src/websites/website.view.ts',
    code: `import '../db/statement.ts';`,
    rule: 'views-do-no-io',
  },
  { title: 'the data layer knows a feature', file: 'src/db/panic.ts', code: `import '../websites/domain.ts';`, rule: 'db-imports' },
  {
    title: 'a feature opens a TCP connection',
    file: 'src/websites/website.settings.ts',
    code: `export { connect } from 'node:net';`,
    rule: 'noRestrictedImports',
  },
  {
    title: 'a feature uses the global fetch',
    file: 'src/accounts/owner.ts',
    code: 'export const load = () => fetch("");',
    rule: 'noRestrictedGlobals',
  },
  {
    title: 'a feature reads the environment',
    file: 'src/auth/session.ts',
    code: 'export const home = process.env.HOME;',
    rule: 'noProcessEnv',
  },
];

let folder: string;
let reported: string[];

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'sitekeeper-lint-'));
  for (const name of ['src', 'package.json', 'tsconfig.json', '.dependency-cruiser.cjs'])
    cpSync(join(root, name), join(folder, name), { recursive: true });
  for (const name of ['node_modules', 'generated']) symlinkSync(join(root, name), join(folder, name));
  const biome = await import(join(root, 'biome.json'), { with: { type: 'json' } });
  // The copy is not a git repository.
  writeFileSync(join(folder, 'biome.json'), JSON.stringify({ ...biome.default, vcs: { enabled: false } }));
  for (const { file, code } of violations) appendFileSync(join(folder, file), `\n${code}\n`);
  const [imports, names] = await Promise.all([
    run('depcruise', ['src', '--output-type', 'err']),
    run('biome', ['lint', 'src', '--max-diagnostics=none', '--reporter=github']),
  ]);
  reported = [...imports, ...names];
}, 120_000);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test.each(violations)('lint rejects that $title', ({ file, rule, reportedFor }) => {
  expect(reported.filter((line) => line.includes(reportedFor ?? file) && line.includes(rule))).not.toEqual([]);
});

/** Returns the lines of output. Both programs exit with an error, because there are violations. */
function run(program: string, args: string[]): Promise<string[]> {
  return new Promise((resolve) => {
    const path = join(root, 'node_modules/.bin', program);
    execFile(path, args, { cwd: folder, maxBuffer: 16 * 1024 * 1024 }, (_error, stdout, stderr) =>
      resolve(`${stdout}\n${stderr}`.split('\n')),
    );
  });
}
