import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { NetworkError } from '../../src/net/network-error.ts';
import { findPing, type Ping, Pinger } from '../../src/net/ping.ts';
import { startTestClock } from '../support/test-clock.ts';

const fping = await findPing(['fping']);

test('findPing returns undefined if none of the programs can ping', async () => {
  expect(await findPing([])).toBeUndefined();
  expect(await findPing(['no-such-program'])).toBeUndefined();
});

test.runIf(fping)('fping pings 500 addresses with one process', async () => {
  const addresses = Array.from({ length: 500 }, (_, index) => `127.0.${1 + Math.floor(index / 250)}.${1 + (index % 250)}`);
  expect((await fping?.(addresses, 3))?.size).toBe(500);
});

// The addresses belong to several users, and the message is shown to each of them.
test.each([
  ['fping', 'echo "$@" >&2; exit 4'],
  ['fping', 'kill -9 $$'],
  ['ping', 'echo "$@" >&2; exit 2'],
  ['ping', 'kill -9 $$'],
] as const)('the message of a failed %s (%s) contains no address', async (program, script) => {
  const folder = await mkdtemp(join(tmpdir(), 'sitekeeper-ping-'));
  const { PATH } = process.env;
  onTestFinished(async () => {
    process.env.PATH = PATH;
    await rm(folder, { recursive: true });
  });
  // It works the first time, when it is tried on loopback.
  const working = { fping: 'echo "127.0.0.1 : 0.1" >&2', ping: 'echo "rtt min/avg/max/mdev = 0.1/0.1/0.1/0.0 ms"' };
  const text = `#!/bin/sh\ncase "$*" in *127.0.0.1*) ${working[program]}; exit 0;; esac\n${script}\n`;
  await writeFile(join(folder, program), text, { mode: 0o755 });
  process.env.PATH = `${folder}:${PATH}`;
  const ping = await findPing([program]);
  if (!ping) throw new Error('The program does not work.');
  const pinger = new Pinger(async () => ping);
  const results = await Promise.all(['192.0.2.1', '192.0.2.2'].map((address) => pinger.ping(address).catch((error: unknown) => error)));
  for (const result of results) {
    expect(result).toBeInstanceOf(NetworkError);
    expect(result).toMatchObject({ kind: 'not_sent', message: expect.not.stringMatching(/192\.0\.2|kill/) });
  }
});

test.each(['fping', 'ping'])('%s gets no argument of a caller that is not an IP address', async (program) => {
  const folder = await mkdtemp(join(tmpdir(), 'sitekeeper-ping-'));
  const { PATH } = process.env;
  onTestFinished(async () => {
    process.env.PATH = PATH;
    await rm(folder, { recursive: true });
  });
  // Both forms of output, so that it passes for either program.
  const script = `#!/bin/sh\nprintf '%s\\n' "$@" >>${folder}/arguments\necho "127.0.0.1 : 0.1" >&2\necho "= 0.1/"\n`;
  await writeFile(join(folder, program), script, { mode: 0o755 });
  process.env.PATH = `${folder}:${PATH}`;
  const ping = await findPing([program]);
  await ping?.(['-f', 'host.example', '192.0.2.1', '2001:db8::1', '192.0.2.1 -f'], 1);
  const given = (await readFile(join(folder, 'arguments'), 'utf8')).split('\n');
  expect(given).toEqual(expect.arrayContaining(['192.0.2.1', '2001:db8::1']));
  for (const other of ['-f', 'host.example', '192.0.2.1 -f']) expect(given).not.toContain(other);
});

test('the program gets no setting of the service, because some are secrets', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'sitekeeper-ping-'));
  const { PATH } = process.env;
  onTestFinished(async () => {
    process.env.PATH = PATH;
    delete process.env.SECRET_KEY;
    await rm(folder, { recursive: true });
  });
  await writeFile(join(folder, 'fping'), `#!/bin/sh\nenv >${folder}/environment\n`, { mode: 0o755 });
  process.env.PATH = `${folder}:${PATH}`;
  process.env.SECRET_KEY = 'hidden';
  await findPing(['fping']);
  const names = (await readFile(join(folder, 'environment'), 'utf8')).split('\n').map((line) => line.replace(/=.*/, ''));
  // The shell that runs this program adds some of its own.
  expect(names.filter((name) => !['', '_', 'PWD', 'OLDPWD', 'SHLVL'].includes(name))).toEqual(['PATH']);
});

describe('Pinger', () => {
  test('pings the addresses of concurrent calls together, and each address once', async () => {
    const calls: string[][] = [];
    const ping: Ping = async (addresses) => {
      calls.push(addresses);
      return new Map([['192.0.2.1', 7]]);
    };
    const pinger = new Pinger(async () => ping);
    const responses = await Promise.all(['192.0.2.1', '192.0.2.2', '192.0.2.1'].map((address) => pinger.ping(address)));
    expect(responses).toEqual([7, undefined, 7]);
    expect(calls).toEqual([['192.0.2.1', '192.0.2.2']]);
  });

  test('throws an error if this machine cannot ping', async () => {
    await expect(new Pinger(async () => undefined).ping('192.0.2.1')).rejects.toMatchObject({
      kind: 'not_sent',
      message: 'this service cannot ping: neither fping nor ping works here',
    });
  });

  test('uses another program if the first one is gone, and looks for one again as long as there is none', async () => {
    const clock = startTestClock();
    onTestFinished(() => clock.stop());
    const pings =
      (ms: number): Ping =>
      async (addresses) =>
        new Map(addresses.map((address) => [address, ms]));
    let [first, found]: [Ping, Ping | undefined] = [pings(1), undefined];
    const gone = async () => Promise.reject(new NetworkError('not_sent', 'fping failed on this machine'));
    const pinger = new Pinger(async () => found ?? undefined);
    const ping = () => pinger.ping('192.0.2.1').catch(({ message }) => message);
    expect(await ping()).toMatch('neither fping nor ping works here');
    found = (addresses, requests) => first(addresses, requests);
    expect(await ping()).toMatch('neither fping nor ping works here'); // It does not look for one every time.
    clock.advance(10_000);
    expect(await ping()).toBe(1);
    [first, found] = [gone, pings(2)];
    clock.advance(10_000);
    expect(await ping()).toBe(2);
  });
});
