import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type RunningProcess, run, waitUntilListening } from '../support/process.ts';
import { databaseCode, httpCode, runAndListModules } from './loaded-modules.ts';
import { runOnTerminal } from './on-terminal.ts';
import { runCommand } from './run-command.ts';

const email = 'ada@example.com';
let folder: string;
let added: Awaited<ReturnType<typeof runAndListModules>>;
let service: RunningProcess;
let url: string;

// The first command opens the embedded database itself. The others are executed by the running service, which is much faster.
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'sitekeeper-user-'));
  added = await runAndListModules(folder, ['user', 'add', email], 'first password\n');
  service = run(folder, { PORT: '0', LOG_LEVEL: 'trace' });
  url = await waitUntilListening(service);
}, 120_000);
afterAll(async () => {
  service.child.kill('SIGKILL');
  await service.ended;
  await rm(folder, { recursive: true });
});

test('user add adds a user, and loads no HTTP code', () => {
  expect([added.code, added.printed]).toEqual([0, 'Added user 1 (ada@example.com).\n']);
  expect(added.modules.some((url) => databaseCode.test(url))).toBe(true);
  expect(added.modules.filter((url) => httpCode.test(url))).toEqual([]);
});

test('user add rejects an address that is taken', async () => {
  expect(await runCommand(folder, ['user', 'add', email], { input: 'first password\n' })).toEqual({
    code: 1,
    printed: 'A user with the address ada@example.com already exists.\n',
  });
}, 120_000);

test('user password replaces the password, key create prints a key, and the log of the service contains no secret', async () => {
  expect(await runCommand(folder, ['user', 'password', 'ADA@example.com'], { input: 'second password\n' })).toEqual({
    code: 0,
    printed: 'Set the password of ADA@example.com and ended every session.\n',
  });
  const scopes = ['--scopes', 'websites:read,websites:write'];
  const created = await runCommand(folder, ['key', 'create', '--user', email, '--name', 'CI', ...scopes]);
  const key = created.printed.trim();
  expect([created.code, key]).toEqual([0, expect.stringMatching(/^stkp_[0-9A-Za-z]{36}$/)]);

  const secrets = [
    key,
    'first password',
    'second password',
    'mistyped password',
    'website password',
    'stkp_mistyped',
    'secret-idempotency',
  ];
  const authorization = { Authorization: `Bearer ${key}` };
  expect((await signIn('first password')).status).toBe(401);
  const cookie = (await signIn('second password')).headers.get('Set-Cookie')?.split(';')[0] ?? '';
  expect(cookie).toContain('sitekeeper_session=');
  expect((await fetch(`${url}/api/session`, { headers: { Cookie: cookie } })).status).toBe(200);
  await signIn('mistyped password');
  const form = new URLSearchParams({ domain: 'ada.example', privacy: '2', password: 'website password' });
  expect((await fetch(`${url}/api/v1/websites`, { method: 'POST', headers: authorization, body: form })).status).toBe(201);
  expect((await fetch(`${url}/api/monitors?token=${key}`, { headers: authorization })).status).toBe(403);
  const response = await fetch(`${url}/api/keys`, {
    method: 'POST',
    headers: { Cookie: cookie, 'Content-Type': 'application/json', 'Idempotency-Key': 'secret-idempotency' },
    body: JSON.stringify({ name: 'Second', scopes: ['monitors:read'] }),
  });
  const secondKey = ((await response.json()) as { data: { key: string } }).data.key;
  secrets.push(secondKey, cookie.split('=')[1] ?? '');
  await fetch(`${url}/api/keys`, { headers: { Authorization: 'Bearer stkp_mistyped', 'X-Request-Id': 'the-last-request' } });
  await expect.poll(service.printed).toContain('the-last-request');
  const log = service.printed();
  expect(secrets).toHaveLength(9);
  for (const secret of secrets) expect([secret, secret.length > 8, log.includes(secret)]).toEqual([secret, true, false]);
  expect(log).toContain('"operation":"createWebsite"');
}, 120_000);

test.each([
  ['add', 'eve@example.com', 'Password for eve@example.com: ', 'Canceled. No password was set.'],
  ['delete', email, 'Type the address to confirm: ', 'Canceled. Nothing was deleted.'],
])(
  'user %s on a terminal is canceled with Ctrl+C, in a line of its own',
  async (command, address, question, canceled) => {
    const { code, lines } = await runOnTerminal(folder, ['user', command, address], [[question, 'some text\x03']]);
    expect([code, lines]).toEqual([1, expect.arrayContaining([canceled])]);
  },
  120_000,
);

test.each(['password', 'delete'])(
  'user %s on a terminal rejects an unknown address before it asks anything',
  async (command) => {
    expect(await runOnTerminal(folder, ['user', command, 'nobody@example.com'])).toEqual({
      code: 1,
      lines: ['There is no user with the address nobody@example.com.'],
    });
  },
  120_000,
);

test('a password that is typed on a terminal must be typed twice', async () => {
  const type = (second: string) =>
    runOnTerminal(
      folder,
      ['user', 'password', email],
      [
        [`Password for ${email}: `, 'typed password\r'],
        ['The same password again: ', `${second}\r`],
      ],
    );
  const [differing, equal] = [await type('typed pasword'), await type('typed password')];
  expect([differing.code, differing.lines.at(-1)]).toEqual([1, 'The passwords differ. No password was set.']);
  expect([equal.code, equal.lines.at(-1)]).toEqual([0, 'Set the password of ada@example.com and ended every session.']);
  expect([...differing.lines, ...equal.lines].join()).not.toContain('typed pas');
}, 120_000);

test('user delete deletes a user, and rejects an unknown address', async () => {
  await runCommand(folder, ['user', 'add', 'bob@example.com'], { input: 'first password\n' });
  expect(await runCommand(folder, ['user', 'delete', 'bob@example.com', '--yes'])).toEqual({
    code: 0,
    printed: expect.stringMatching(/^Deleted user \d+ \(bob@example\.com\) and all of their data\.\n$/),
  });
  expect(await runCommand(folder, ['user', 'delete', 'bob@example.com', '--yes'])).toEqual({
    code: 1,
    printed: 'There is no user with the address bob@example.com.\n',
  });
}, 120_000);

test.each([
  [['user', 'add', 'nonsense'], 'x'.repeat(10), 'error: "nonsense" is not an e-mail address\n'],
  [['user', 'add', 'root@localhost'], 'a password\n', 'error: "root@localhost" is not an e-mail address\n'],
  [['user', 'add', 'b@example.com'], 'short\n', 'error: the password must have 8 to 128 characters\n'],
])('%j is rejected in one line', async (args, input, printed) => {
  expect(await runCommand(folder, args, { input })).toEqual({ code: 1, printed });
});

const signIn = (password: string) =>
  fetch(`${url}/api/session`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ email, password }),
  });
