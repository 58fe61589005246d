import { createServer, type Server } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { afterEach, expect, onTestFinished, test } from 'vitest';
import { listen } from '../../src/http/server.ts';
import { UnreadResponses } from '../../src/http/unread-responses.ts';

/** More than the buffers of the operating system take. */
const responseBytes = 60_000_000;
const sockets: Socket[] = [];
let server: Server | undefined;

afterEach(() => {
  for (const socket of sockets.splice(0)) socket.destroy();
  server?.close();
});

/** Serves large responses, and collects the numbers of the requests whose response was abandoned. */
async function serve(unread: UnreadResponses): Promise<{ port: number; closed: number[] }> {
  const closed: number[] = [];
  const started = createServer((request, response) => {
    unread.watch(response);
    response.on('close', () => !response.writableFinished && closed.push(Number(request.url?.slice(1))));
    response.end(Buffer.alloc(responseBytes));
  });
  server = started;
  await new Promise<void>((resolve) => started.listen(0, '127.0.0.1', resolve));
  return { port: (started.address() as AddressInfo).port, closed };
}

function requestWithoutReading(port: number, number: number) {
  const socket = connect(port, '127.0.0.1');
  socket.on('error', () => {});
  socket.pause();
  socket.write(`GET /${number} HTTP/1.1\r\nHost: x\r\n\r\n`);
  sockets.push(socket);
}

test('abandons a response that is not read in time', async () => {
  const { port, closed } = await serve(new UnreadResponses({ timeoutMs: 500, maxBytes: Number.MAX_SAFE_INTEGER }));
  requestWithoutReading(port, 1);
  await expect.poll(() => closed, { timeout: 10_000 }).toEqual([1]);
});

test('does not abandon a response that is read', async () => {
  const { port, closed } = await serve(new UnreadResponses({ timeoutMs: 30_000, maxBytes: responseBytes * 2 }));
  const response = await fetch(`http://127.0.0.1:${port}/1`);
  expect((await response.arrayBuffer()).byteLength).toBe(responseBytes);
  expect(closed).toEqual([]);
});

test('abandons the oldest responses when too many bytes wait', async () => {
  const { port, closed } = await serve(new UnreadResponses({ timeoutMs: 60_000, maxBytes: responseBytes * 2.5 }));
  for (const number of [1, 2, 3, 4]) {
    requestWithoutReading(port, number);
    await expect.poll(() => sockets.at(-1)?.bytesWritten, { timeout: 10_000 }).toBeGreaterThan(0);
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
  await expect.poll(() => closed, { timeout: 10_000 }).toEqual([1, 2]);
});

test('the server abandons the older of two responses that are not read, because both are more than 64 MiB', async () => {
  const listening = await listen({ host: '127.0.0.1', port: 0 });
  const [handled, abandoned] = [[] as string[], [] as string[]];
  const body = Buffer.alloc(responseBytes);
  listening.setHandler((request, response) => {
    response.on('close', () => !response.writableFinished && abandoned.push(request.url ?? ''));
    response.end(body);
    handled.push(request.url ?? '');
  });
  onTestFinished(async () => {
    for (const socket of sockets.splice(0)) socket.destroy();
    await listening.close();
  });
  const port = Number(new URL(listening.url).port);
  for (const number of [1, 2]) {
    requestWithoutReading(port, number);
    await expect.poll(() => handled, { timeout: 10_000 }).toContain(`/${number}`);
  }
  await expect.poll(() => abandoned, { timeout: 10_000 }).toEqual(['/1']);
});
