import { spawn } from 'node:child_process';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { follow, listening, run } from '../support/process.ts';

let folder: string;
const start = join(import.meta.dirname, '../../src/cli/bin.mjs');

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'sitekeeper-operate-'));
});
afterAll(() => rm(folder, { recursive: true }));

/** A command of an operator, with what is typed into it. */
async function operate(args: string[], typed = ''): Promise<{ code: number | string; printed: string }> {
  const { PATH, HOME } = process.env;
  const child = spawn(process.execPath, [start, ...args], { cwd: folder, env: { PATH, HOME } });
  child.stdin.end(typed);
  const { ended, printed } = follow(child);
  return { code: await ended, printed: printed() };
}

/** What it has printed when it has ended. */
async function whileServing(work: (url: string) => Promise<void>): Promise<string> {
  const service = run(folder, { PORT: '0', LOG_LEVEL: 'trace' });
  try {
    await work(await listening(service));
  } finally {
    service.child.kill('SIGTERM');
    await service.ended;
  }
  return service.printed();
}

const signIn = (url: string, email: string, password: string) =>
  fetch(`${url}/api/session`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ email, password }),
  });

test('migrate --plan on an empty folder names every migration and leaves the folder empty; after migrate there is none', async () => {
  const { code, printed } = await operate(['migrate', '--plan']);
  expect([code, printed]).toEqual([0, expect.stringMatching(/^These would run, in one transaction:\n {2}0001_\w+\n {2}0002_/)]);
  expect(await readdir(folder)).toEqual([]);
  expect((await operate(['migrate'])).code).toBe(0);
  expect(await operate(['migrate', '--plan'])).toEqual({ code: 0, printed: 'Nothing to run: the database is up to date.\n' });
});

test('an operator adds a user and a key, sets a password and deletes the user; nothing secret is in the log', async () => {
  expect(await operate(['user', 'add', 'ada@example.com'], 'first password\n')).toEqual({
    code: 0,
    printed: 'User 1 (ada@example.com) was added.\n',
  });
  expect((await operate(['user', 'password', 'ADA@example.com'], 'second password\n')).code).toBe(0);
  const created = await operate(['key', 'create', '--user', 'ada@example.com', '--name', 'CI', '--scopes', 'websites:read,websites:write']);
  const key = created.printed.trim();
  expect(key).toMatch(/^stkp_[0-9A-Za-z]{36}$/);

  const secrets = [
    key,
    'first password',
    'second password',
    'mistyped password',
    'website password',
    'stkp_mistyped',
    'secret-idempotency',
  ];
  const log = await whileServing(async (url) => {
    const authorization = { Authorization: `Bearer ${key}` };
    expect((await signIn(url, 'ada@example.com', 'first password')).status).toBe(401);
    const cookie = (await signIn(url, 'ada@example.com', 'second password')).headers.get('Set-Cookie')?.split(';')[0] ?? '';
    expect(cookie).toContain('sitekeeper_session=');
    expect((await fetch(`${url}/api/session`, { headers: { Cookie: cookie } })).status).toBe(200);
    await signIn(url, 'ada@example.com', 'mistyped password');
    const form = new URLSearchParams({ domain: 'ada.example', privacy: '2', password: 'website password' });
    expect((await fetch(`${url}/api/v1/websites`, { method: 'POST', headers: authorization, body: form })).status).toBe(201);
    expect((await fetch(`${url}/api/monitors?token=${key}`, { headers: authorization })).status).toBe(403);
    const made = await fetch(`${url}/api/keys`, {
      method: 'POST',
      headers: { Cookie: cookie, 'Content-Type': 'application/json', 'Idempotency-Key': 'secret-idempotency' },
      body: JSON.stringify({ name: 'Second', scopes: ['monitors:read'] }),
    });
    const second = ((await made.json()) as { data: { key: string } }).data.key;
    await fetch(`${url}/api/keys`, { headers: { Authorization: 'Bearer stkp_mistyped' } });
    secrets.push(second, cookie.split('=')[1] ?? '');
  });
  expect(secrets).toHaveLength(9);
  for (const secret of secrets) expect([secret, log.includes(secret)]).toEqual([secret, false]);
  expect(log).toContain('"operation":"createWebsite"');

  expect((await operate(['user', 'delete', 'ada@example.com'])).printed).toBe('User 1 (ada@example.com) was deleted with all data.\n');
  expect(await operate(['user', 'delete', 'ada@example.com'])).toEqual({
    code: 1,
    printed: 'There is no account with the address ada@example.com.\n',
  });
}, 60_000);

test.each([
  [['user', 'add', 'nonsense'], 'x'.repeat(10), /^Bad setting\. "nonsense" is not an e-mail address\n$/],
  [['user', 'add', 'root@localhost'], 'a password\n', /^Bad setting\. "root@localhost" is not an e-mail address\n$/],
  [['user', 'add', 'b@example.com'], 'short\n', /^Bad setting\. the password must have 8 to 128 characters\n$/],
  [
    ['key', 'create', '--user', 'nobody@example.com', '--name', 'a', '--scopes', 'everything'],
    '',
    /^Bad setting\. --scopes: "everything" is unknown; there are monitors:read.*\n$/,
  ],
  [
    ['key', 'create', '--user', 'nobody@example.com', '--name', 'a', '--scopes', 'all', '--expires', '2020-01-01'],
    '',
    /^Bad setting\. --expires, a time such as .*, must be in the future\n$/,
  ],
  [
    ['key', 'create', '--user', 'nobody@example.com', '--name', 'a', '--scopes', 'all', '--expires', '+020000-01-01T00:00:00Z'],
    '',
    /^Bad setting\. --expires, .*, must be a time before the year 10000.*\n$/,
  ],
  [
    ['key', 'create', '--user', 'nobody@example.com', '--name', 'a\nb', '--scopes', 'all'],
    '',
    /^Bad setting\. --name: must have 1 to 100 characters, and no control characters\n$/,
  ],
  [['key', 'create'], '', /required option '--user <email>' not specified/],
])('%j is refused in one line', async (args, typed, line) => {
  const { code, printed } = await operate(args, typed);
  expect(code).toBe(1);
  expect(printed).toMatch(line);
});

test.each([
  [['user', '--help'], /add[\s\S]*password[\s\S]*delete/],
  [['key', 'create', '--help'], /--user[\s\S]*--name[\s\S]*--scopes[\s\S]*--expires/],
])('%j explains itself', async (args, text) => {
  const { code, printed } = await operate(args);
  expect(code).toBe(0);
  expect(printed).toMatch(text);
});
