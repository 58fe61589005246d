import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { Socket } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { parseRanges } from '../../src/net/addresses.ts';
import type { Net } from '../../src/net/resolve.ts';
import { openTcpConnection } from '../../src/net/tcp-connection.ts';
import { startFullServer } from '../support/full-server.ts';
import { startTcpServer } from '../support/http2-server.ts';

// 127.0.0.2 represents the public internet, 127.0.0.1 the operator's network.
const [external, internal] = ['127.0.0.2', '127.0.0.1'];
const net: Net = { allow: parseRanges([external]) };
const resolvingTo = (...addresses: string[]): Net => ({
  ...net,
  lookup: async () => addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
});
const open = (host: string, port: number, through = net, timeoutMs = 20_000) =>
  openTcpConnection(new URL(`http://${host}:${port}`), timeoutMs, through);

async function startServer(host = external) {
  let connections = 0;
  const server = await startTcpServer(host, () => connections++);
  onTestFinished(() => server.close());
  return { ...server, connections: () => connections };
}

/** Collects the sockets that are connecting to a port. */
function watchSockets(port: number): Socket[] {
  const sockets: Socket[] = [];
  const onSocket = (message: unknown) => {
    const { socket } = message as { socket: Socket };
    socket.once('connectionAttempt', (_, attempted) => attempted === port && sockets.push(socket));
  };
  subscribe('net.client.socket', onSocket);
  onTestFinished(() => void unsubscribe('net.client.socket', onSocket));
  return sockets;
}

test('opens one connection and closes it without sending anything', async () => {
  let received = 0;
  const server = await startTcpServer(external, (socket) => socket.on('data', (chunk) => (received += chunk.length)));
  onTestFinished(() => server.close());
  await open(external, server.port);
  await expect.poll(() => server.open(), { timeout: 5000 }).toBe(0);
  expect(received).toBe(0);
});

test('resolves a name once and connects to the address that was checked', async () => {
  const server = await startServer();
  let count = 0;
  const rebinding: Net = { ...net, lookup: async () => [{ address: count++ === 0 ? external : internal, family: 4 }] };
  await open('db.example', server.port, rebinding);
  expect([count, server.connections()]).toEqual([1, 1]);
});

test('tries the next address if one refuses the connection', async () => {
  const server = await startServer();
  await open('db.example', server.port, { ...resolvingTo('127.0.0.3', external), allow: parseRanges([external, '127.0.0.3']) });
  expect(server.connections()).toBe(1);
});

test.each([
  ['a private address', () => internal, net],
  ['localhost', () => 'localhost', net],
  ['another notation', () => '0x7f.1', net],
  ['a mapped address', () => '[::ffff:127.0.0.1]', net],
  ['a name with a private address', () => 'db.example', resolvingTo(internal)],
  ['a name with a public and a private address', () => 'db.example', resolvingTo(external, internal)],
])('does not connect to %s', async (_, host, through) => {
  const server = await startServer(internal);
  const message = 'address not allowed: it is private, local or reserved';
  await expect(open(host(), server.port, through)).rejects.toMatchObject({ kind: 'address_not_allowed', message });
  expect(server.connections()).toBe(0);
});

test('a closed port refuses the connection', async () => {
  const server = await startTcpServer(external, () => {});
  await server.close();
  await expect(open(external, server.port)).rejects.toMatchObject({ kind: 'refused', message: 'connection refused' });
});

test('a name without an address is an error of the name', async () => {
  await expect(open('db.example', 22, resolvingTo())).rejects.toMatchObject({ kind: 'dns', message: 'DNS name has no address' });
});

test('a timeout says that it was waiting for DNS', async () => {
  const slow = { ...net, lookup: () => new Promise<never>(() => {}) };
  const message = 'timed out after 0.3 s waiting for DNS';
  await expect(open('db.example', 22, slow, 300)).rejects.toMatchObject({ kind: 'unreachable', message });
});

test('a name that is resolved after the timeout is not connected to', async () => {
  const server = await startServer();
  const { promise, resolve } = Promise.withResolvers<{ address: string; family: number }[]>();
  await expect(open('db.example', server.port, { ...net, lookup: () => promise }, 100)).rejects.toMatchObject({ kind: 'unreachable' });
  resolve([{ address: external, family: 4 }]);
  await open(external, server.port);
  expect(server.connections()).toBe(1);
});

test.each([
  ['one address', [external]],
  ['several addresses', [external, external]],
])('a timeout while connecting to %s says so, and leaves nothing open', async (_, addresses) => {
  const full = await startFullServer(external);
  onTestFinished(() => void full.close());
  const sockets = watchSockets(full.port);
  const error = open('db.example', full.port, resolvingTo(...addresses), 1500).catch((thrown: unknown) => thrown);
  expect(await error).toMatchObject({ kind: 'unreachable', message: 'timed out after 1.5 s while connecting' });
  expect(sockets.map(({ destroyed }) => destroyed)).toEqual([true]);
});
