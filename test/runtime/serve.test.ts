import { spawn } from 'node:child_process';
import { mkdtemp, rm, stat } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { collectOutput, waitUntilListening, type RunningProcess, run } from '../support/process.ts';

const folders: string[] = [];
const running: RunningProcess[] = [];

async function newFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'sitekeeper-start-'));
  folders.push(folder);
  return folder;
}

function start(folder: string, settings: Record<string, string> = {}, args: string[] = []): RunningProcess {
  const started = run(folder, { PORT: '0', ...settings }, args);
  running.push(started);
  return started;
}

async function cleanUp() {
  for (const { child, ended } of running.splice(0)) {
    child.kill('SIGKILL');
    await ended;
  }
  for (const folder of folders.splice(0)) await rm(folder, { recursive: true });
}

const keyIn = (text: string) => /stkp_[0-9A-Za-z]{36}/.exec(text)?.[0];
const get = (url: string, key: string) => fetch(url, { headers: { Authorization: `Bearer ${key}` } });

// Each of these starts goes on with what the one before left behind.
describe('three starts on one data folder', () => {
  let folder: string;
  let service: RunningProcess;
  let url: string;
  let key: string;
  const websites = async () => (await get(`${url}/api/v1/websites`, key)).json();

  beforeAll(async () => {
    folder = await newFolder();
    service = start(folder);
    url = await waitUntilListening(service);
    key = keyIn(service.printed()) ?? '';
  });
  afterAll(cleanUp);

  test('the first prints a key and a curl line that works, in plain text', async () => {
    expect((await fetch(`${url}/readyz`)).status).toBe(200);
    expect(service.printed()).not.toContain('\u001b');
    // What curl would send; .ci/run pastes the line into a shell as soon as readyz says 200.
    const [, name = '', value = '', address = ''] = /curl -H "(\S+): ([^"]+)" (\S+)/.exec(service.printed()) ?? [];
    expect(await (await fetch(address, { headers: { [name]: value } })).json()).toMatchObject({ data: [] });
  });

  test('meanwhile a second process is refused in one line, and so is an operator', async () => {
    for (const args of [[], ['user', 'delete', 'ada@example.com']]) {
      const second = start(folder, {}, args);
      expect(await second.ended).toBe(1);
      expect(second.printed()).toMatch(/^Cannot start\. The data folder .* is in use by another process\.[^\n]*\n$/);
    }
  });

  test('killed, it leaves no lock behind and loses nothing that was answered; the next prints no key', async () => {
    const created = await fetch(`${url}/api/v1/websites`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${key}` },
      body: new URLSearchParams({ domain: 'kept.example' }),
    });
    expect(created.status).toBe(201);
    service.child.kill('SIGKILL');
    await service.ended;
    service = start(folder, { PUBLIC_URL: 'https://sitekeeper.example' });
    await expect.poll(service.printed, { timeout: 45_000 }).toContain('Listening on port');
    url = `http://127.0.0.1:${/Listening on port (\d+)/.exec(service.printed())?.[1]}`;
    expect(await websites()).toMatchObject({ data: [{ domain: 'kept.example' }] });
    expect(keyIn(service.printed())).toBeUndefined();
  });

  test('with a PUBLIC_URL the log says that too, beside the port', () => {
    expect(service.printed()).toContain('for https://sitekeeper.example');
  });

  test('told to stop, it ends with 0; one started by npm keeps everything, and stops when npm is stopped', async () => {
    service.child.kill('SIGTERM');
    expect(await service.ended).toBe(0);
    const npm = collectOutput(
      spawn('npm', ['start'], {
        cwd: join(import.meta.dirname, '../..'),
        env: { ...process.env, PORT: '0', DATA_DIR: join(folder, 'data') },
      }),
    );
    running.push(npm);
    url = await waitUntilListening(npm);
    expect(await websites()).toMatchObject({ data: [{ domain: 'kept.example' }] });
    npm.child.kill('SIGTERM');
    await npm.ended;
    expect(npm.printed()).toContain('then stopping');
  });
});

describe('other starts', () => {
  let folder: string;
  beforeEach(async () => {
    folder = await newFolder();
  });
  afterEach(cleanUp);

  test('a preset OWNER_API_KEY, such as key generate prints, works and is not printed; the secret key is kept with mode 0600', async () => {
    const generate = run(folder, {}, ['key', 'generate']);
    await generate.ended;
    const key = generate.printed().trim();
    const service = start(folder, { OWNER_API_KEY: key, OWNER_EMAIL: 'me@example.com', OWNER_PASSWORD: 'correct horse' });
    const url = await waitUntilListening(service);
    expect((await get(`${url}/api/monitors`, key)).status).toBe(200);
    expect(service.printed()).not.toContain(key);
    expect((await stat(join(folder, 'data/secret.key'))).mode & 0o777).toBe(0o600);
  });

  test('a port that is taken is said in one line, and nothing is made', async () => {
    const taken = createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => taken.once('listening', resolve));
    try {
      const { port } = taken.address() as { port: number };
      const service = start(folder, { PORT: String(port) });
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
    const service = start(folder, settings as Record<string, string>);
    expect(await service.ended).toBe(1);
    expect(service.printed()).toMatch(new RegExp(`^Bad setting\\. [^\\n]*${name}[^\\n]*\\n$`));
    expect(service.printed()).not.toContain('stkp_secret');
  });

  test('a database that cannot be reached is said in one line', async () => {
    const service = start(folder, {
      DATABASE_URL: 'postgres://nobody:secret@127.0.0.1:1/x',
      SECRET_KEY: Buffer.alloc(32).toString('base64'),
    });
    expect(await service.ended).toBe(1);
    expect(service.printed()).toMatch(/^Cannot start\. [^\n]*DATABASE_URL[^\n]*ECONNREFUSED[^\n]*\n$/);
    expect(service.printed()).not.toContain('secret@');
  });

  test('an unknown command is said in one line, and nothing is started', async () => {
    const service = start(folder, {}, ['frob']);
    expect(await service.ended).toBe(1);
    expect(service.printed()).toMatch(/^error: unknown command "frob"[^\n]*\n$/);
  });

  test('a data folder that cannot be one is said in one line that names the setting', async () => {
    const service = start(folder, { DATA_DIR: '/dev/null' });
    expect(await service.ended).toBe(1);
    expect(service.printed()).toMatch(/^Cannot start\. DATA_DIR [^\n]*\n$/);
  });

  test('--help lists the commands', async () => {
    const help = run(folder, {}, ['--help']);
    expect(await help.ended).toBe(0);
    expect(help.printed()).toMatch(/serve[\s\S]*migrate[\s\S]*key/);
  });
});
