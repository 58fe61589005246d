import { spawn } from 'node:child_process';
import { mkdtemp, rm, stat } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { generateKey } from '../../src/access/api-key.ts';
import { listening, type Running, run } from '../support/process.ts';

let folder: string;
const running: Running[] = [];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'sitekeeper-start-'));
});
afterEach(async () => {
  for (const { child, ended } of running.splice(0)) {
    child.kill('SIGKILL');
    await ended;
  }
  await rm(folder, { recursive: true });
});

function start(settings: Record<string, string> = {}, args: string[] = []): Running {
  const started = run(folder, { PORT: '0', ...settings }, args);
  running.push(started);
  return started;
}

const keyIn = (text: string) => /stkp_[0-9A-Za-z]{36}/.exec(text)?.[0];
const get = (url: string, key: string) => fetch(url, { headers: { Authorization: `Bearer ${key}` } });

test('the first start prints a key and a curl line that works; the second keeps everything and prints none', async () => {
  const first = start();
  const url = await listening(first);
  expect((await fetch(`${url}/readyz`)).status).toBe(200);
  // The key was printed before that, in plain text.
  expect(first.printed()).not.toContain('\u001b');
  const key = keyIn(first.printed()) ?? '';
  // What curl would send; .ci/run pastes the line into a shell.
  const [, name = '', value = '', address = ''] = /curl -H "(\S+): ([^"]+)" (\S+)/.exec(first.printed()) ?? [];
  expect(await (await fetch(address, { headers: { [name]: value } })).json()).toMatchObject({ data: [] });
  const created = await fetch(`${url}/api/v1/websites`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${key}` },
    body: new URLSearchParams({ domain: 'kept.example' }),
  });
  expect(created.status).toBe(201);
  first.child.kill('SIGTERM');
  expect(await first.ended).toBe(0);

  const second = start();
  const again = await (await get(`${await listening(second)}/api/v1/websites`, key)).json();
  expect(again).toMatchObject({ data: [{ domain: 'kept.example' }] });
  expect(keyIn(second.printed())).toBeUndefined();
});

test('a killed process leaves no lock behind, and loses nothing that was answered', async () => {
  const key = generateKey();
  const first = start({ OWNER_API_KEY: key });
  const url = await listening(first);
  await fetch(`${url}/api/v1/websites`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${key}` },
    body: new URLSearchParams({ domain: 'kept.example' }),
  });
  first.child.kill('SIGKILL');
  await first.ended;
  const second = await listening(start());
  expect(await (await get(`${second}/api/v1/websites`, key)).json()).toMatchObject({ data: [{ domain: 'kept.example' }] });
});

test('a preset OWNER_API_KEY works and is not printed; the secret key is kept with mode 0600', async () => {
  const key = generateKey();
  const service = start({ OWNER_API_KEY: key, OWNER_EMAIL: 'me@example.com', OWNER_PASSWORD: 'correct horse' });
  const url = await listening(service);
  expect((await get(`${url}/api/monitors`, key)).status).toBe(200);
  expect(service.printed()).not.toContain(key);
  expect((await stat(join(folder, 'data/secret.key'))).mode & 0o777).toBe(0o600);
});

test('with a PUBLIC_URL the log says on which port it listens', async () => {
  const service = start({ PUBLIC_URL: 'https://sitekeeper.example' });
  await expect.poll(service.printed, { timeout: 20_000 }).toContain('for https://sitekeeper.example');
  const [, port = ''] = /Listening on port (\d+)/.exec(service.printed()) ?? [];
  expect((await fetch(`http://127.0.0.1:${port}/readyz`)).status).toBe(200);
});

test('a second process on the same data folder is refused in one line', async () => {
  await listening(start());
  const second = start();
  expect(await second.ended).toBe(1);
  expect(second.printed()).toMatch(/^Cannot start\. The data folder .* is in use by another process\.[^\n]*\n$/);
});

test('a port that is taken is said in one line, and nothing is made', async () => {
  const taken = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => taken.once('listening', resolve));
  try {
    const { port } = taken.address() as { port: number };
    const service = start({ PORT: String(port) });
    expect(await service.ended).toBe(1);
    expect(service.printed()).toMatch(new RegExp(`^Cannot start\\. Cannot listen on 127\\.0\\.0\\.1:${port}: it is taken[^\\n]*\\n$`));
    await expect(stat(join(folder, 'data'))).rejects.toThrow('ENOENT');
  } finally {
    taken.close();
  }
});

test.each([
  [{ PORT: 'http' }, 'PORT'],
  [{ LOG_LEVEL: 'loud' }, 'LOG_LEVEL'],
  [{ OWNER_API_KEY: 'stkp_secret' }, 'OWNER_API_KEY'],
  [{ DATABASE_URL: 'postgres://127.0.0.1/x' }, 'SECRET_KEY'],
])('a bad setting is said in one line without its value: %o', async (settings, name) => {
  const service = start(settings as Record<string, string>);
  expect(await service.ended).toBe(1);
  expect(service.printed()).toMatch(new RegExp(`^Bad setting\\. [^\\n]*${name}[^\\n]*\\n$`));
  expect(service.printed()).not.toContain('stkp_secret');
});

test('a database that cannot be reached is said in one line', async () => {
  const service = start({ DATABASE_URL: 'postgres://nobody:secret@127.0.0.1:1/x', SECRET_KEY: Buffer.alloc(32).toString('base64') });
  expect(await service.ended).toBe(1);
  expect(service.printed()).toMatch(/^Cannot start\. [^\n]*DATABASE_URL[^\n]*ECONNREFUSED[^\n]*\n$/);
  expect(service.printed()).not.toContain('secret@');
});

test('an unknown command is said in one line, and nothing is started', async () => {
  const service = start({}, ['frob']);
  expect(await service.ended).toBe(1);
  expect(service.printed()).toMatch(/^error: unknown command "frob"[^\n]*\n$/);
});

test('a data folder that cannot be one is said in one line that names the setting', async () => {
  const service = start({ DATA_DIR: '/dev/null' });
  expect(await service.ended).toBe(1);
  expect(service.printed()).toMatch(/^Cannot start\. DATA_DIR [^\n]*\n$/);
});

test('a service started by npm stops when npm is stopped', async () => {
  const npm = spawn('npm', ['start'], {
    cwd: join(import.meta.dirname, '../..'),
    env: { ...process.env, PORT: '0', DATA_DIR: folder },
    stdio: 'pipe',
  });
  let printed = '';
  npm.stdout.on('data', (data) => {
    printed += data;
  });
  const closed = new Promise((resolve) => npm.stdout.on('close', resolve));
  while (!printed.includes('Listening on')) await new Promise((resolve) => setTimeout(resolve, 50));
  npm.kill('SIGTERM');
  await closed; // by the last process that holds it, the service
  expect(printed).toContain('then stopping');
});

test('--help lists the commands, and an unknown one is refused', async () => {
  const help = run(folder, {}, ['--help']);
  expect(await help.ended).toBe(0);
  expect(help.printed()).toMatch(/serve[\s\S]*migrate[\s\S]*key/);
  const unknown = run(folder, {}, ['dance']);
  expect(await unknown.ended).not.toBe(0);
});

test('key generate prints a key that OWNER_API_KEY takes', async () => {
  const generate = run(folder, {}, ['key', 'generate']);
  await generate.ended;
  const key = generate.printed().trim();
  expect((await get(`${await listening(start({ OWNER_API_KEY: key }))}/api/monitors`, key)).status).toBe(200);
});
