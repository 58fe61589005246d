// What an operator reads when the service or a command cannot start: which setting is wrong, why, and what to do.
import { spawn } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ownCheckout, runCommand } from '../cli/run-command.ts';
import { databaseUrl, serviceUrl } from '../support/database-url.ts';
import { collectOutput, inheritedVariables } from '../support/process.ts';

let folder: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'sitekeeper-start-'));
});
afterAll(() => rmSync(folder, { recursive: true }));

test('several invalid settings are listed one per line, in words and without their values', async () => {
  const settings = { PORT: 'http', OWNER_EMAIL: `hidden${'x'.repeat(300)}`, SMTP_URL: 'postgres:', METRICS_TOKEN: 'hidden' };
  expect(await runCommand(folder, ['serve'], { settings })).toEqual({
    code: 1,
    printed: `Invalid configuration:
PORT: must be a whole number from 0 to 65535
OWNER_EMAIL: must have at most 254 characters
SMTP_URL: must be an smtp:// or smtps:// URL
METRICS_TOKEN: must have 16 to 256 printable ASCII characters and no spaces
`,
  });
});

test('settings that do not fit together are all listed', async () => {
  const settings = { DATABASE_URL: 'postgres://127.0.0.1/x', METRICS_HOST: '0.0.0.0' };
  const { code, printed } = await runCommand(folder, ['user', 'list'], { settings });
  expect([code, printed]).toEqual([
    1,
    expect.stringMatching(/^Invalid configuration:\nSECRET_KEY: is required with DATABASE_URL\. .*\nMETRICS_HOST: must be .*\n$/),
  ]);
});

test.each([
  [['serve', '--wrong'], "error: unknown option '--wrong'\n"],
  [['serve', '--workers', '0'], 'error: --workers: must be a whole number from 1 to 999, or max\n'],
  [['user', 'frob'], "error: unknown command 'frob'\n"],
  [['user', 'suspend'], "error: missing required argument 'email'\n"],
])('%j is rejected in one line', async (args, printed) => {
  expect(await runCommand(folder, args)).toEqual({ code: 1, printed });
});

test('an address that is not of this machine is rejected with the name of the setting', async () => {
  const { code, printed } = await runCommand(folder, ['serve'], { settings: { HOST: '192.0.2.1', PORT: '0' } });
  expect([code, printed]).toEqual([
    1,
    expect.stringMatching(/^Cannot start\. Cannot listen on port \d+ of 192\.0\.2\.1: .* HOST must be an address of this machine\.\n$/),
  ]);
});

test.each([[['backup', 'copy']], [['user', 'list']], [['key', 'list']], [['secrets', 'status']]])(
  '%j rejects a directory without a database, and creates none',
  async (args) => {
    const missing = join(folder, 'missing');
    const printed = `There is no embedded database in ${missing}. Set DATA_DIR to its directory, or DATABASE_URL if the service uses PostgreSQL.\n`;
    expect(await runCommand(folder, args, { settings: { DATA_DIR: missing } })).toEqual({ code: 1, printed });
    expect([existsSync(missing), existsSync(join(folder, 'copy'))]).toEqual([false, false]);
  },
);

test('a command of another user than that of the service is rejected with the name of the setting', async () => {
  const closed = join(folder, 'closed');
  mkdirSync(closed);
  chmodSync(closed, 0);
  // Without capabilities, root is not exempt from the mode.
  const prefix = process.getuid?.() === 0 ? ['setpriv', '--bounding-set=-all'] : ['env'];
  const [program = '', ...args] = [...prefix, process.execPath, join(ownCheckout, 'src/cli/bin.mjs'), 'user', 'list'];
  const { ended, printed } = collectOutput(spawn(program, args, { cwd: folder, env: { ...inheritedVariables(), DATA_DIR: closed } }));
  expect([await ended, printed()]).toEqual([
    1,
    `DATA_DIR is ${closed}, which you may not access. Run the command as the user of the service, or as root while the service is running.\n`,
  ]);
});

test('a move to a server that is unreachable is rejected with the name of the option', async () => {
  const { code, printed } = await runCommand(folder, ['move', '--to', 'postgres://owner@127.0.0.1:1/x']);
  expect([code, printed]).toEqual([1, expect.stringMatching(/^The database in --to is unreachable: .*ECONNREFUSED.* Check the host/)]);
});

const server = process.env.TEST_DATABASE_URL ?? '';

describe.runIf(server)('on PostgreSQL', () => {
  const login = serviceUrl(databaseUrl(server || 'postgres://x', 'postgres'));
  const withUrl = (change: (url: URL) => void) => {
    const url = new URL(login);
    change(url);
    return url.href;
  };

  test.each([
    [
      'an unknown login',
      withUrl((url) => (url.username = 'nobody')),
      /^PostgreSQL rejects the login in DATABASE_URL: .*"nobody".* Check the user/,
    ],
    [
      'an unknown database',
      withUrl((url) => (url.pathname = '/missing')),
      /^PostgreSQL has no such database: .*"missing".* Correct the name/,
    ],
    ['a closed port', withUrl((url) => (url.port = '1')), /^The database in DATABASE_URL is unreachable: .*ECONNREFUSED.* Check the host/],
    ['an unknown host', withUrl((url) => (url.hostname = 'x.invalid')), /^The database in DATABASE_URL is unreachable: .*x\.invalid/],
    ['a server without TLS', `${login}?sslmode=verify-full`, /^The server in DATABASE_URL does not offer TLS\. Enable it/],
    [
      'a missing CA',
      `${login}?sslmode=verify-full&sslrootcert=/missing.pem`,
      /^A file that DATABASE_URL names cannot be read: .*missing\.pem/,
    ],
    [
      'a stray %',
      login.replace('://', '://a%zz:b@').replace('@sitekeeper_login', ''),
      /^The user name or password in DATABASE_URL contains a %/,
    ],
  ])('%s is explained, with the setting to change', async (_, url, message) => {
    const settings = { DATABASE_URL: url, SECRET_KEY: Buffer.alloc(32, 1).toString('base64'), PORT: '0' };
    const [command, serve] = await Promise.all([
      runCommand(folder, ['user', 'list'], { settings }),
      runCommand(folder, ['serve'], { settings }),
    ]);
    expect(command).toEqual({ code: 1, printed: expect.stringMatching(message) });
    expect(serve).toEqual({ code: 1, printed: `Cannot start. ${command.printed}` });
    expect(command.printed.trim()).not.toContain('\n');
  });

  test('a server that accepts no more connections is explained', async () => {
    const name = `sitekeeper_full_${process.pid}`;
    const admin = new pg.Client({ connectionString: server });
    await admin.connect();
    await admin.query(`create database ${name} connection limit 0`);
    try {
      const settings = { DATABASE_URL: serviceUrl(databaseUrl(server, name)), SECRET_KEY: Buffer.alloc(32, 1).toString('base64') };
      expect(await runCommand(folder, ['user', 'list'], { settings })).toEqual({
        code: 1,
        printed: expect.stringMatching(/^PostgreSQL accepts no more connections for DATABASE_URL: too many connections .*\n$/),
      });
    } finally {
      await admin.query(`drop database ${name}`);
      await admin.end();
    }
  });

  test('a login of the service that does not exist is named before anything is migrated', async () => {
    const name = `sitekeeper_unmigrated_${process.pid}`;
    const admin = new pg.Client({ connectionString: server });
    await admin.connect();
    await admin.query(`create database ${name}`);
    try {
      const owner = databaseUrl(server, name);
      const settings = { DATABASE_URL: owner.replace(/\/\/.*@/, '//nobody@'), MIGRATE_DATABASE_URL: owner };
      expect(await runCommand(folder, ['migrate'], { settings })).toEqual({
        code: 1,
        printed:
          'PostgreSQL has no role "nobody", the login in DATABASE_URL. Correct its user name, or create it with deploy/create-database.sql.\n',
      });
      expect((await runCommand(folder, ['migrate', '--plan'], { settings })).printed).toContain('0001_baseline');
    } finally {
      await admin.query(`drop database ${name}`);
      await admin.end();
    }
  });

  test('the owner login that is wrong is named as MIGRATE_DATABASE_URL', async () => {
    const settings = {
      DATABASE_URL: login,
      MIGRATE_DATABASE_URL: databaseUrl(server, 'missing'),
      SECRET_KEY: Buffer.alloc(32, 1).toString('base64'),
    };
    for (const args of [['migrate'], ['migrate', '--plan']]) {
      const { code, printed } = await runCommand(folder, args, { settings });
      expect([code, printed]).toEqual([1, expect.stringMatching(/^PostgreSQL has no such database: .* MIGRATE_DATABASE_URL/)]);
    }
  });
});
