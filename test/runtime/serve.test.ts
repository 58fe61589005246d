import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtemp, rm, stat } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { collectOutput, type RunningProcess, run, waitUntilListening } from '../support/process.ts';

const folders: string[] = [];
const processes: RunningProcess[] = [];

async function newFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'sitekeeper-start-'));
  folders.push(folder);
  return folder;
}

function start(folder: string, settings: Record<string, string> = {}, args: string[] = []): RunningProcess {
  const started = run(folder, { PORT: '0', ...settings }, args);
  processes.push(started);
  return started;
}

async function cleanUp() {
  for (const { child, ended } of processes.splice(0)) {
    child.kill('SIGKILL');
    await ended;
  }
  for (const folder of folders.splice(0)) await rm(folder, { recursive: true });
}

/** Kills a process and its descendants: after SIGKILL, npm cannot stop the service that it started. */
function killGroup({ pid }: ChildProcess) {
  try {
    if (pid !== undefined) process.kill(-pid, 'SIGKILL');
  } catch {} // The group has exited.
}

const findKey = (text: string) => /stkp_[0-9A-Za-z]{36}/.exec(text)?.[0];
const get = (url: string, key: string) => fetch(url, { headers: { Authorization: `Bearer ${key}` } });

// Each start continues with the data of the one before.
describe('three starts on one data directory', { shuffle: false }, () => {
  let folder: string;
  let service: RunningProcess;
  let url: string;
  let key: string;
  const listWebsites = async () => (await get(`${url}/api/v1/websites`, key)).json();

  beforeAll(async () => {
    folder = await newFolder();
    service = start(folder);
    url = await waitUntilListening(service);
    key = findKey(service.printed()) ?? '';
  });
  afterAll(cleanUp);

  test('the first start prints a key and a curl command that works, as plain text', async () => {
    expect((await fetch(`${url}/readyz`)).status).toBe(200);
    expect(service.printed()).not.toContain('\u001b');
    // This sends what curl would send. .ci/run runs the printed command itself.
    const [, name = '', value = '', address = ''] = /curl -H "(\S+): ([^"]+)" (\S+)/.exec(service.printed()) ?? [];
    expect(await (await fetch(address, { headers: { [name]: value } })).json()).toMatchObject({ data: [] });
  });

  test('a second process on the same directory fails with one line', async () => {
    const second = start(folder, {});
    expect(await second.ended).toBe(1);
    expect(second.printed()).toBe(
      `Cannot start. The data directory ${join(folder, 'data')} is in use by another process. Stop that process, or set DATA_DIR to another directory.\n`,
    );
  });

  test('after SIGKILL, the second start finds no lock and all data, and prints no key', async () => {
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
    expect(await listWebsites()).toMatchObject({ data: [{ domain: 'kept.example' }] });
    expect(findKey(service.printed())).toBeUndefined();
  });

  test('with PUBLIC_URL, the log names the port and the URL', () => {
    expect(service.printed()).toContain('for https://sitekeeper.example');
  });

  test('SIGTERM makes it exit with 0; a start by npm keeps the data, and stops when npm is stopped', async () => {
    service.child.kill('SIGTERM');
    expect(await service.ended).toBe(0);
    const npm = collectOutput(
      spawn('npm', ['start'], {
        cwd: join(import.meta.dirname, '../..'),
        env: { ...process.env, PORT: '0', DATA_DIR: join(folder, 'data') },
        detached: true,
      }),
    );
    try {
      url = await waitUntilListening(npm);
      expect(await listWebsites()).toMatchObject({ data: [{ domain: 'kept.example' }] });
      npm.child.kill('SIGTERM');
      await npm.ended;
    } finally {
      killGroup(npm.child);
    }
    expect(npm.printed()).toContain('finishing in-flight requests, then shutting down');
  });
});

describe('a start', () => {
  let folder: string;
  beforeEach(async () => {
    folder = await newFolder();
  });
  afterEach(cleanUp);

  test('with OWNER_API_KEY, that key works and is not printed; the secret key is stored with mode 0600', async () => {
    const generate = run(folder, {}, ['key', 'generate']);
    await generate.ended;
    const key = generate.printed().trim();
    const service = start(folder, { OWNER_API_KEY: key, OWNER_EMAIL: 'me@example.com', OWNER_PASSWORD: 'correct horse' });
    const url = await waitUntilListening(service);
    expect((await get(`${url}/api/monitors`, key)).status).toBe(200);
    expect(service.printed()).not.toContain(key);
    expect((await stat(join(folder, 'data/secret.key'))).mode & 0o777).toBe(0o600);
  });

  test('that is stopped as soon as it listens finishes in-flight requests, and exits with 0', async () => {
    const service = start(folder);
    await new Promise<void>((resolve) => {
      service.child.stdout?.on('data', () => service.printed().includes('Listening on') && resolve());
    });
    service.child.kill('SIGTERM');
    expect(await service.ended).toBe(0);
    expect(service.printed()).toContain('SIGTERM: finishing in-flight requests, then shutting down');
  });

  test('on a used port fails with one line and creates nothing', async () => {
    const occupant = createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => occupant.once('listening', resolve));
    try {
      const { port } = occupant.address() as { port: number };
      const service = start(folder, { PORT: String(port) });
      expect(await service.ended).toBe(1);
      expect(service.printed()).toBe(
        `Cannot start. Port ${port} on 127.0.0.1 is already in use. Stop the other process, or set HOST or PORT to another value.\n`,
      );
      await expect(stat(join(folder, 'data'))).rejects.toThrow('ENOENT');
    } finally {
      occupant.close();
    }
  });

  test.each([
    [{ PORT: 'http' }, 'PORT'],
    [{ LOG_LEVEL: 'loud' }, 'LOG_LEVEL'],
    [{ OWNER_API_KEY: 'stkp_secret' }, 'OWNER_API_KEY'],
    [{ DATABASE_URL: 'postgres://127.0.0.1/x' }, 'SECRET_KEY'],
  ])('with an invalid setting fails with one line that does not contain its value: %o', async (settings, name) => {
    const service = start(folder, settings as Record<string, string>);
    expect(await service.ended).toBe(1);
    expect(service.printed()).toMatch(new RegExp(`^Invalid configuration\\. ${name}: [^\\n]+\\n$`));
    expect(service.printed()).not.toContain('stkp_secret');
  });

  test('with an unreachable database fails with one line', async () => {
    const service = start(folder, {
      DATABASE_URL: 'postgres://nobody:secret@127.0.0.1:1/x',
      SECRET_KEY: Buffer.alloc(32).toString('base64'),
    });
    expect(await service.ended).toBe(1);
    expect(service.printed()).toMatch(/^Cannot start\. The database in DATABASE_URL is unreachable: [^\n]*ECONNREFUSED[^\n]*\n$/);
    expect(service.printed()).not.toContain('secret@');
  });

  test('on a data directory that cannot be created fails with one line that names the setting', async () => {
    const service = start(folder, { DATA_DIR: '/dev/null' });
    expect(await service.ended).toBe(1);
    expect(service.printed()).toMatch(/^Cannot start\. DATA_DIR is [^\n]*\n$/);
  });
});
