import { describe, expect, onTestFinished, test } from 'vitest';
import { LocalFailure } from '../../../src/monitoring/checks/local-failure.ts';
import { tcpCheck } from '../../../src/monitoring/checks/tcp/tcp.check.ts';
import { parseRanges } from '../../../src/net/addresses.ts';
import type { Net } from '../../../src/net/resolve.ts';
import { checkTcp } from '../../support/checks.ts';
import { startFullServer } from '../../support/full-server.ts';
import { startTcpServer } from '../../support/http2-server.ts';

const host = '127.0.0.1';
const net: Net = { allow: parseRanges([host]) };
const named = (address: string, allow = net.allow): Net => ({ allow, lookup: async () => [{ address, family: 4 }] });

async function startServer() {
  const server = await startTcpServer(host, () => {});
  onTestFinished(() => server.close());
  return server;
}

describe('a target', () => {
  test.each([
    'tcp://db.example.org:5432',
    'tcp://db.example.org:5432/',
    'tcp://db.example.org.:5432',
    'TCP://DB.Example.org:5432',
    'tcp://db:1',
    'tcp://db.example.org:65535',
    'tcp://db.example.org:00080',
    'tcp://93.184.215.14:22',
    'tcp://[2606:2800:21f:cb07::1]:22',
    'tcp://bücher.example:443',
    'tcp://xn--bcher-kva.example:443',
  ])('can be %s', (target) => {
    expect(tcpCheck.targetError(target, [])).toBeUndefined();
  });

  test.each([
    'db.example.org:5432',
    'tcp:db.example.org:5432',
    'tcp:/db.example.org:5432',
    'tcp://db.example.org',
    'tcp://db.example.org:',
    'tcp://:5432',
    'tcp://',
    '',
    'tcp://db.example.org:0',
    'tcp://db.example.org:00000',
    'tcp://db.example.org:65536',
    'tcp://db.example.org:99999',
    'tcp://db.example.org:100000',
    'tcp://db.example.org:-1',
    'tcp://db.example.org:+22',
    'tcp://db.example.org:22x',
    'tcp://db.example.org:0x16',
    'tcp://db.example.org:22:23',
    'tcp://db.example.org:22/path',
    'tcp://db.example.org:22//',
    'tcp://db.example.org:22?query',
    'tcp://db.example.org:22#fragment',
    'tcp://user@db.example.org:22',
    'tcp://user:22@db.example.org:22',
    'tcp://db.example.org\\@127.0.0.1:22',
    'tcp://db.example.org/@127.0.0.1:22',
    'http://db.example.org:80',
    'https://db.example.org:443',
    'udp://db.example.org:53',
    'tcp://2606:2800:21f:cb07::1:22',
    'tcp://::1:22',
    'tcp://[2606:2800:21f:cb07::1]',
    'tcp://[2606:2800:21f:cb07::1:22',
    'tcp://[db.example.org]:22',
    'tcp://[fe80::1%25eth0]:22',
    'tcp://db example.org:22',
    ' tcp://db.example.org:22',
    'tcp://db.example.org:22 ',
    'tcp://db.example.org:22\n',
    'tcp://db.exa\tmple.org:22',
    'tcp://1.2.3.4.5:22',
    'tcp://256.1.1.1:22',
    'tcp://db%2fexample:22',
  ])('cannot be %j', (target) => {
    expect(tcpCheck.targetError(target, [])).toEqual({
      code: 'invalid_target',
      message: 'must be tcp://, a host, a colon and a port, such as tcp://db.example.org:5432',
    });
  });

  test.each([
    'tcp://127.0.0.1:22',
    'tcp://10.0.0.1:22',
    'tcp://169.254.169.254:80',
    'tcp://0.0.0.0:22',
    'tcp://2130706433:22',
    'tcp://0x7f000001:22',
    'tcp://0x7f.1:22',
    'tcp://0177.0.0.1:22',
    'tcp://127.1:22',
    'tcp://127.0.0.1.:22',
    'tcp://１２７.0.0.1:22',
    'tcp://localhost:22',
    'tcp://LOCALHOST.:22',
    'tcp://db.localhost:22',
    'tcp://[::1]:22',
    'tcp://[::]:22',
    'tcp://[::ffff:127.0.0.1]:22',
    'tcp://[::ffff:7f00:1]:22',
    'tcp://[::127.0.0.1]:22',
    'tcp://[64:ff9b::127.0.0.1]:22',
    'tcp://[fe80::1]:22',
    'tcp://[fd00::1]:22',
  ])('%s is not allowed', (target) => {
    expect(tcpCheck.targetError(target, [])).toMatchObject({ code: 'address_not_allowed' });
  });

  test.each(['tcp://127.0.0.1:22', 'tcp://0x7f.1:22', 'tcp://localhost:22', 'tcp://[::ffff:127.0.0.1]:22'])(
    '%s is allowed if the operator allows its address',
    (target) => {
      expect(tcpCheck.targetError(target, net.allow)).toBeUndefined();
    },
  );

  test('that is much longer than any host is rejected', () => {
    for (const part of ['a', ':', ':1', 'a.', '[', '/'])
      expect(tcpCheck.targetError(`tcp://${part.repeat(2000)}`, [])).toMatchObject({ code: 'invalid_target' });
  });
});

test.each([
  ['tcp://DB.Example.org:5432', 'db.example.org'],
  ['tcp://db.example.org.:5432/', 'db.example.org'],
  ['tcp://bücher.example:80', 'xn--bcher-kva.example'],
  ['tcp://0x7f.1:22', '127.0.0.1'],
  ['tcp://[2001:DB8::1]:22', '[2001:db8::1]'],
  ['http://db.example.org:80', ''],
  ['tcp://db.example.org', ''],
])('the host of %s is "%s"', (target, expected) => {
  expect(tcpCheck.hostOf(target)).toBe(expected);
});

describe('describe', () => {
  test.each([
    ['tcp://db.example.org:5432', 'db.example.org:5432'],
    ['TCP://[2001:db8::1]:22', '[2001:db8::1]:22'],
    ['tcp://db.example.org:5432/', 'db.example.org:5432'],
  ])('says what a check of %s does', (url, shown) => {
    expect(tcpCheck.describe({ url, settings: {}, intervalSeconds: 60, timeoutSeconds: 3 })).toBe(
      `Open a TCP connection to ${shown} within 3 s.`,
    );
  });
});

describe('a check', () => {
  test('of an open port is up with the response time, and leaves nothing open', async () => {
    const server = await startServer();
    expect(await checkTcp(`tcp://${host}:${server.port}`, net)).toEqual({ up: true, responseTimeMs: expect.any(Number) });
    await expect.poll(() => server.open(), { timeout: 5000 }).toBe(0);
  });

  test.each(['TCP://127.0.0.1:PORT/', 'tcp://0x7f.1:PORT', 'tcp://localhost:PORT', 'tcp://[::ffff:127.0.0.1]:PORT'])(
    'of %s is up if its port is open',
    async (target) => {
      const server = await startServer();
      expect(await checkTcp(target.replace('PORT', String(server.port)), net)).toMatchObject({ up: true });
    },
  );

  test('of a name connects to its address', async () => {
    const server = await startServer();
    expect(await checkTcp(`tcp://db.example:${server.port}`, named(host))).toMatchObject({ up: true });
  });

  test('of a server that closes the connection at once is up', async () => {
    const server = await startTcpServer(host, (socket) => socket.destroy());
    onTestFinished(() => server.close());
    expect(await checkTcp(`tcp://${host}:${server.port}`, net)).toMatchObject({ up: true });
  });

  test('of a closed port is down, and counts as a reply', async () => {
    const server = await startTcpServer(host, () => {});
    await server.close();
    expect(await checkTcp(`tcp://${host}:${server.port}`, net)).toEqual({ up: false, cause: 'connection refused', statusCode: null });
  });

  test.each([
    ['an address', (port: number) => checkTcp(`tcp://${host}:${port}`, { allow: [] })],
    ['another notation of it', (port: number) => checkTcp(`tcp://2130706433:${port}`, { allow: [] })],
    ['localhost', (port: number) => checkTcp(`tcp://localhost:${port}`, { allow: [] })],
    ['a name', (port: number) => checkTcp(`tcp://db.example:${port}`, named(host, []))],
    ['a name with a mapped address', (port: number) => checkTcp(`tcp://db.example:${port}`, named('::ffff:127.0.0.1', []))],
  ])('does not connect to %s that is not allowed', async (_, check) => {
    let connections = 0;
    const server = await startTcpServer(host, () => connections++);
    onTestFinished(() => server.close());
    expect(await check(server.port)).toEqual({
      up: false,
      cause: 'address not allowed: it is private, local or reserved',
      statusCode: null,
      reply: 'not_asked',
    });
    expect(connections).toBe(0);
  });

  test('of a name that does not exist is down', async () => {
    const lookup = () => Promise.reject(Object.assign(new Error('getaddrinfo'), { code: 'ENOTFOUND' }));
    expect(await checkTcp('tcp://db.example:22', { ...net, lookup })).toEqual({
      up: false,
      cause: 'DNS name not found',
      statusCode: null,
      reply: 'none',
    });
  });

  test('of a name whose DNS servers do not respond is down with a timeout', async () => {
    const lookup = () => new Promise<never>(() => {});
    expect(await checkTcp('tcp://db.example:22', { ...net, lookup }, 1)).toEqual({
      up: false,
      cause: 'timed out after 1 s waiting for DNS',
      statusCode: null,
      reply: 'none',
    });
  });

  test('of a server that does not accept connections is down with a timeout', async () => {
    const full = await startFullServer(host);
    onTestFinished(() => void full.close());
    expect(await checkTcp(`tcp://${host}:${full.port}`, net, 1)).toEqual({
      up: false,
      cause: 'timed out after 1 s while connecting',
      statusCode: null,
      reply: 'none',
    });
  });

  test('that this machine cannot make is a local failure', async () => {
    const lookup = () => Promise.reject(Object.assign(new Error('injected'), { code: 'EMFILE' }));
    expect(await checkTcp('tcp://db.example:22', { ...net, lookup })).toBeInstanceOf(LocalFailure);
  });
});
