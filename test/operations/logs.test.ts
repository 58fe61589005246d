// The log as an operator reads it: in a file, on a terminal, and in the journal of systemd.
import { spawn } from 'node:child_process';
import { fstatSync, openSync, readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import packageJson from '../../package.json' with { type: 'json' };
import { generateKey } from '../../src/auth/api-key.ts';
import { createDatabase, ownerUrlOf, urlOf } from '../support/database.ts';
import { collectOutput, inheritedVariables, run, waitUntilListening } from '../support/process.ts';

const program = join(import.meta.dirname, '../../src/cli/bin.mjs');
let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'sitekeeper-logs-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const { version } = packageJson;

test('every line of a service carries the version, the role and the process id', async () => {
  const service = run(folder, { PORT: '0' });
  await fetch(`${await waitUntilListening(service)}/healthz`);
  service.child.kill('SIGINT');
  expect(await service.ended).toBe(0);
  const lines = service
    .printed()
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line));
  expect(lines.map(({ msg }) => msg)).toContain('request');
  for (const line of lines) expect(line).toMatchObject({ version, role: 'serve', pid: service.child.pid });
});

test.runIf(process.env.TEST_DATABASE_URL)('the lines of migrate, worker and a cluster carry their roles', async () => {
  const database = await createDatabase();
  const settings = { DATABASE_URL: urlOf(database), SECRET_KEY: Buffer.alloc(32, 1).toString('base64'), PORT: '0' };
  const rolesOf = (printed: string) => new Set([...printed.matchAll(/"role":"(\w+)"/g)].map(([, role]) => role));
  try {
    const migrate = run(folder, { ...settings, MIGRATE_DATABASE_URL: ownerUrlOf(database) }, ['migrate']);
    expect(await migrate.ended).toBe(0);
    expect(rolesOf(migrate.printed())).toEqual(new Set(['migrate']));
    for (const [args, roles] of [
      [['worker'], ['worker']],
      [
        ['serve', '--workers', '2'],
        ['primary', 'serve'],
      ],
    ] as const) {
      const running = run(folder, settings, [...args]);
      await vi.waitFor(() => expect(rolesOf(running.printed())).toEqual(new Set(roles)), { timeout: 60_000 });
      running.child.kill('SIGKILL');
      await running.ended;
    }
  } finally {
    await database.close();
  }
});

test('on a terminal, a request is one line with method, path, status and duration', async () => {
  // "script" runs a command on a terminal of its own.
  const command = `exec '${process.execPath}' '${program}'`;
  const env = { ...inheritedVariables(), PORT: '0', DATA_DIR: join(folder, 'terminal'), SHELL: '/bin/sh' };
  const service = collectOutput(spawn('script', ['-qefc', command, '/dev/null'], { cwd: folder, env, stdio: ['pipe', 'pipe', 'pipe'] }));
  const printed = () => stripVTControlCharacters(service.printed());
  const url = await waitUntilListening({ ...service, printed });
  await fetch(`${url}/healthz?query=hidden`);
  await fetch(`${url}/api/monitors`, { method: 'POST' });
  const lines = () =>
    printed()
      .split(/\r?\n/)
      .filter((line) => /GET|POST/.test(line));
  await vi.waitFor(() => expect(lines()).toHaveLength(2), { timeout: 20_000 });
  expect(lines()).toEqual([
    expect.stringMatching(/INFO.*: GET \/healthz 200 [\d.]+ ms$/),
    expect.stringMatching(/INFO.*: POST \/api\/monitors 401 unauthenticated [\d.]+ ms$/),
  ]);
  expect(printed()).not.toMatch(/request_id|"version"|hidden/);
  service.child.stdin?.write('\x03'); // Ctrl+C.
  await service.ended;
});

test('lines have a priority if standard output is the journal, and otherwise not; both without keys', async () => {
  const key = generateKey();
  const script = `
    import { createLog } from ${JSON.stringify(join(import.meta.dirname, '../../src/telemetry/log.ts'))};
    const log = createLog({ logLevel: 'trace' }, 'serve');
    for (const level of ['trace', 'debug', 'info', 'warn', 'error', 'fatal']) log[level]({ path: '/${key}' }, level);
  `;
  const logTo = async (file: string, journal?: string) => {
    const descriptor = openSync(join(folder, file), 'w');
    const { dev, ino } = fstatSync(descriptor);
    const env = { ...inheritedVariables(), JOURNAL_STREAM: journal ?? `${dev}:${ino}` };
    const args = ['--no-warnings', '--input-type=module', '-e', script];
    expect(await collectOutput(spawn(process.execPath, args, { env, stdio: ['ignore', descriptor, 'inherit'] })).ended).toBe(0);
    const text = readFileSync(join(folder, file), 'utf8');
    expect(text).not.toContain(key);
    return text.trim().split('\n');
  };
  const lines = await logTo('journal');
  expect(lines.map((line) => line.slice(0, 3))).toEqual(['<7>', '<7>', '<6>', '<4>', '<3>', '<2>']);
  expect(lines.map((line) => JSON.parse(line.slice(3)).msg)).toEqual(['trace', 'debug', 'info', 'warn', 'error', 'fatal']);
  // The variable is inherited by every process of the unit, also by those whose output goes elsewhere.
  for (const line of await logTo('elsewhere', '8:12345')) expect(JSON.parse(line)).toMatchObject({ role: 'serve' });
});
