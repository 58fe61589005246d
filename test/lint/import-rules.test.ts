// The lint rules guard the structure of src/. Each case breaks one of them in a copy of the project, and lint must report it.
import { execFile } from 'node:child_process';
import { appendFileSync, cpSync, existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
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
  {
    title: 'two files import each other',
    file: 'src/limits/limiters.ts',
    code: `import './failure-limit.ts';`,
    rule: 'no-cycles',
    reportedFor: 'src/limits/', // One of the two.
  },
  { title: 'errors.ts imports anything', file: 'src/errors.ts', code: `import './net/hosts-file.ts';`, rule: 'errors-imports' },
  { title: 'net/ imports config/', file: 'src/net/hosts-file.ts', code: `import '../config/config.ts';`, rule: 'net-imports' },
  { title: 'net/ imports the log', file: 'src/net/hosts-file.ts', code: `import '../telemetry/log.ts';`, rule: 'net-imports' },
  { title: 'db/ imports the log', file: 'src/db/panic.ts', code: `import '../telemetry/log.ts';`, rule: 'db-imports' },
  { title: 'config/ imports limits/', file: 'src/config/config.ts', code: `import '../limits/limiters.ts';`, rule: 'config-imports' },
  { title: 'telemetry/ imports db/', file: 'src/telemetry/log.ts', code: `import '../db/panic.ts';`, rule: 'telemetry-imports' },
  { title: 'limits/ imports auth/', file: 'src/limits/limiters.ts', code: `import '../auth/caller.ts';`, rule: 'limits-imports' },
  { title: 'auth/ imports http/', file: 'src/auth/caller.ts', code: `import '../http/paging.ts';`, rule: 'auth-imports' },
  { title: 'the app imports runtime/', file: 'src/app.ts', code: `import './runtime/shutdown.ts';`, rule: 'app-imports' },
  { title: 'a command imports the app', file: 'src/cli/serve.ts', code: `import '../app.ts';`, rule: 'only-runtime-imports-the-app' },
  {
    title: 'a feature imports runtime/',
    file: 'src/docs/router.ts',
    code: `import '../runtime/shutdown.ts';`,
    rule: 'only-cli-imports-runtime',
  },
  { title: 'runtime/ imports a command', file: 'src/runtime/mock.ts', code: `import '../cli/user.ts';`, rule: 'nothing-imports-the-cli' },
  {
    title: 'an operator command imports net/',
    file: 'src/commands/keys.ts',
    code: `import '../net/hosts-file.ts';`,
    rule: 'commands-imports',
  },
  {
    title: 'a feature imports an operator command',
    file: 'src/accounts/keys.ts',
    code: `import '../commands/request.ts';`,
    rule: 'features-import-nothing-above',
  },
  {
    title: 'auth/ imports an operator command',
    file: 'src/auth/scopes.ts',
    code: `import '../commands/request.ts';`,
    rule: 'only-cli-and-runtime-import-commands',
  },
  { title: 'src/ imports a test', file: 'src/runtime/worker.ts', code: `import '../../test/stub.ts';`, rule: 'no-tests-in-src' },
  {
    title: 'src/ imports a package that only developers have',
    file: 'src/mock/prefer.ts',
    code: `import 'vitest';`,
    rule: 'no-dev-packages-in-src',
  },
  {
    title: 'the service imports Prism indirectly',
    file: 'src/docs/html.ts',
    code: `import '@stoplight/prism-http';`,
    rule: 'service-runs-without-prism',
    reportedFor: 'src/runtime/serve.ts',
  },
  { title: 'nothing imports a file', file: 'src/unused.ts', code: 'export const unused = 1;', rule: 'no-orphans' },
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
  ...['user', 'key', 'migrate', 'backup', 'secrets'].map((command) => ({
    title: `the command ${command} loads HTTP code indirectly`,
    file: 'src/runtime/open-database.ts',
    code: `import '../http/paging.ts';`,
    rule: 'small-commands-load-no-koa',
    reportedFor: `src/cli/${command}.ts`,
  })),
  {
    title: 'the command move loads HTTP code indirectly',
    file: 'src/db/move/catalog.ts',
    code: `import '../../http/paging.ts';`,
    rule: 'small-commands-load-no-koa',
    reportedFor: 'src/cli/move.ts',
  },
  { title: 'a feature loads Koa', file: 'src/accounts/users.ts', code: `import 'koa';`, rule: 'koa-stays-in-http' },
  {
    title: 'a feature starts a process',
    file: 'src/monitoring/checks/http.ts',
    code: `import 'node:child_process';`,
    rule: 'only-net-opens-connections',
  },
  {
    title: 'a page reads the database',
    file: 'src/pages/confirm-recipient.ts',
    code: `import '../db/rows.ts';`,
    rule: 'pages-imports',
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
  { title: 'the data layer reads settings', file: 'src/db/panic.ts', code: `import '../config/config.ts';`, rule: 'db-imports' },
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
    title: 'a feature opens a WebSocket',
    file: 'src/websites/websites.handlers.ts',
    code: 'export const socket = () => new WebSocket("");',
    rule: 'noRestrictedGlobals',
  },
  {
    title: 'a feature opens an EventSource',
    file: 'src/monitoring/monitoring.handlers.ts',
    code: 'export const events = () => new EventSource("");',
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
  mkdirSync(join(folder, 'test'));
  writeFileSync(join(folder, 'test/stub.ts'), 'export const stub = 1;\n');
  for (const { file, code } of violations) appendFileSync(join(folder, file), `\n${code}\n`);
  const [imports, names] = await Promise.all([
    run('depcruise', ['src', '--output-type', 'err']),
    run('biome', ['lint', 'src', '--max-diagnostics=none', '--reporter=github']),
  ]);
  reported = [...imports, ...names];
}, 120_000);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test.each(violations)('lint rejects that $title', ({ file, rule, reportedFor }) => {
  // A warning would let lint pass.
  const errors = reported.filter((line) => /^\s*error |^::error /.test(line));
  expect(errors.filter((line) => line.includes(reportedFor ?? file) && line.includes(rule))).not.toEqual([]);
});

test('lint accepts type declarations, which nothing imports', () => {
  expect(existsSync(join(folder, 'src/db/webassembly.d.ts'))).toBe(true);
  expect(reported.filter((line) => line.includes('.d.ts'))).toEqual([]);
});

test('every import rule is broken by a case', () => {
  const { forbidden } = createRequire(import.meta.url)(join(root, '.dependency-cruiser.cjs')) as { forbidden: { name: string }[] };
  expect(forbidden.map(({ name }) => name).filter((name) => !violations.some(({ rule }) => rule === name))).toEqual([]);
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
