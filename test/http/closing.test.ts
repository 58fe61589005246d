// A server that is closed loses no request that is in transit, and a port is checked without accepting connections.
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { expect, onTestFinished, test, vi } from 'vitest';
import { chooseAddress } from '../../src/http/port.ts';
import { listen } from '../../src/http/server.ts';

async function startServer() {
  const server = await listen({ host: '127.0.0.1', port: 0 });
  const handled: string[] = [];
  server.setHandler((request, response) => {
    handled.push(request.url ?? '');
    request.resume().on('end', () => setTimeout(() => response.end('ok'), request.url === '/slow' ? 1500 : 0));
  });
  onTestFinished(() => server.close());
  return { ...server, handled, port: Number(new URL(server.url).port) };
}

async function open(port: number) {
  const socket = connect(port, '127.0.0.1');
  let text = '';
  socket
    .on('error', () => {})
    .on('data', (data) => {
      text += data;
    });
  await once(socket, 'connect');
  return { socket, text: () => text, closed: new Promise((resolve) => socket.once('close', resolve)) };
}

const post = (socket: Socket, path: string) => socket.write(`POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}`);

test('handles the first request of a connection that was opened before the server closed', async () => {
  const server = await startServer();
  const { socket, text, closed } = await open(server.port);
  const closing = server.close(2000);
  await delay(500);
  post(socket, '/first');
  await closed;
  expect(text()).toMatch(/^HTTP\/1\.1 200 OK\r\nConnection: close\r\n/);
  await closing;
  expect(server.handled).toEqual(['/first']);
});

test('handles the next request of an idle connection, and refuses new connections', async () => {
  const server = await startServer();
  const { socket, text, closed } = await open(server.port);
  post(socket, '/before');
  await expect.poll(text).toContain('ok');
  server.drain();
  const closing = server.close(2000);
  await delay(500);
  await expect(open(server.port)).rejects.toMatchObject({ code: 'ECONNREFUSED' });
  post(socket, '/after');
  await closed;
  expect(text().match(/^Connection: .*(?=\r)/gm)).toEqual(['Connection: keep-alive', 'Connection: close']);
  await closing;
  expect(server.handled).toEqual(['/before', '/after']);
});

test('finishes a request that takes longer than connections may be idle', async () => {
  const server = await startServer();
  const { socket, text, closed } = await open(server.port);
  post(socket, '/slow');
  await expect.poll(() => server.handled, { timeout: 10_000 }).toEqual(['/slow']);
  server.drain();
  await server.close(200);
  await closed;
  expect(text()).toMatch(/^HTTP\/1\.1 200 OK\r\n.*ok$/s);
});

test('aborts a request that is still handled 6 seconds after the server began to close', async () => {
  const server = await listen({ host: '127.0.0.1', port: 0 });
  const handled = Promise.withResolvers<Socket>();
  server.setHandler((request) => handled.resolve(request.socket)); // There is never a response.
  const { socket, text, closed } = await open(Number(new URL(server.url).port));
  post(socket, '/endless');
  const accepted = await handled.promise;
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  const closing = server.close(200);
  while (vi.getTimerCount() < 2) await new Promise((resolve) => setImmediate(resolve));
  vi.advanceTimersByTime(5999);
  expect(accepted.destroyed).toBe(false);
  vi.advanceTimersByTime(1);
  expect(accepted.destroyed).toBe(true);
  await Promise.all([closing, closed]);
  expect(text()).toBe('');
});

test('closes idle connections after the given time, and at once without one', async () => {
  for (const maxIdleMs of [300, 0]) {
    const server = await startServer();
    const connections = await Promise.all([open(server.port), open(server.port)]);
    await server.close(maxIdleMs);
    // A reset would mean that the connection was not accepted.
    expect(await Promise.all(connections.map(({ closed }) => closed))).toEqual([false, false]);
  }
});

test('a port is checked without accepting a connection', async () => {
  const { port } = await chooseAddress({ host: '127.0.0.1', port: 0 });
  // Another thread connects all the time, as a proxy in front of many clients does.
  const script = `
    const { connect } = require('node:net');
    const { parentPort, workerData: port } = require('node:worker_threads');
    const results = { accepted: 0, refused: 0 };
    const open = () => connect(port, '127.0.0.1', () => results.accepted++).on('error', () => results.refused++).on('close', open);
    for (let n = 0; n < 8; n++) open();
    parentPort.on('message', () => parentPort.postMessage(results));
  `;
  const client = new Worker(script, { eval: true, workerData: port });
  onTestFinished(async () => void (await client.terminate()));
  const results = async () => {
    client.postMessage('report');
    return (await once(client, 'message'))[0] as { accepted: number; refused: number };
  };
  do {
    for (let checks = 0; checks < 100; checks++) await chooseAddress({ host: '127.0.0.1', port });
  } while ((await results()).refused < 2000);
  expect((await results()).accepted).toBe(0);
});

test.each(['127.0.0.1', '0.0.0.0', 'localhost'])('a port in use on %s is reported, and one that was just in use is not', async (host) => {
  const server = createServer().listen(0, host);
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  await expect(chooseAddress({ host, port })).rejects.toThrow(`Port ${port} on ${host} is already in use.`);
  const { socket } = await open(port);
  await new Promise((resolve) => server.close(resolve).once('connection', (accepted) => accepted.destroy()) && socket.end());
  expect(await chooseAddress({ host, port })).toMatchObject({ port });
  const again = await listen({ host, port });
  await again.close();
});

test('an address of another machine is reported', async () => {
  await expect(chooseAddress({ host: '192.0.2.1', port: 3000 })).rejects.toThrow(/^Cannot listen on port 3000 of 192\.0\.2\.1: /);
});
