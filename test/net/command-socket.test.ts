// What the running service and the command line do for each other when one of them is slow, goes away or stops.
import { mkdtempSync, rmSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import { OperatorError, UsageError } from '../../src/errors.ts';
import { type CommandConnection, type RequestHandler, sendCommand, serveCommands } from '../../src/net/command-socket.ts';

let folder: string;
let path: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'sitekeeper-socket-'));
  path = join(folder, 'commands.sock');
});
afterEach(() => {
  vi.useRealTimers();
  rmSync(folder, { recursive: true });
});

async function serve(handle: RequestHandler) {
  const service = await serveCommands(path, handle);
  onTestFinished(() => service.close());
  return service;
}

/** Runs until it is aborted. `started` resolves with its connection. */
function endlessCommand() {
  const started = Promise.withResolvers<CommandConnection>();
  const handle: RequestHandler = (_, connection) => {
    started.resolve(connection);
    return new Promise((_, reject) => connection.signal.addEventListener('abort', () => reject(connection.signal.reason)));
  };
  return { handle, started: started.promise };
}

function open(): { socket: Socket; text(): string; closed: Promise<unknown> } {
  const socket = connect(path).on('error', () => {});
  let text = '';
  socket.setEncoding('utf8').on('data', (data) => {
    text += data;
  });
  return { socket, text: () => text, closed: new Promise((resolve) => socket.once('close', resolve)) };
}

test('a command that nobody waits for any more is aborted', async () => {
  const { handle, started } = endlessCommand();
  await serve(handle);
  const { socket } = open();
  socket.write('{}\n');
  const { signal } = await started;
  expect(signal.aborted).toBe(false);
  socket.destroy();
  await expect.poll(() => signal.aborted, { timeout: 10_000 }).toBe(true);
});

test('a service that stops aborts running commands, tells their clients, and waits for no client that has sent nothing', async () => {
  const { handle, started } = endlessCommand();
  const service = await serve(handle);
  const idle = open();
  const sent = sendCommand(path, {}, () => {});
  sent.catch(() => {});
  await started;
  const startMs = performance.now();
  await service.close();
  await expect(sent).rejects.toThrow(new OperatorError('The service is shutting down.'));
  await idle.closed;
  // It would be disconnected after 5 seconds in any case.
  expect(performance.now() - startMs).toBeLessThan(4000);
});

test('more clients than 32 are disconnected, and the others are served', async () => {
  await serve(async () => 'done');
  const clients = Array.from({ length: 32 }, open);
  await Promise.all(clients.map(({ socket }) => new Promise((resolve) => socket.once('connect', resolve))));
  const last = open();
  await last.closed;
  expect(last.text()).toBe('');
  clients[0]?.socket.write('{}\n');
  await expect.poll(() => clients[0]?.text(), { timeout: 4000 }).toBe('{"output":"done"}\n');
  for (const { socket } of clients) socket.destroy();
});

test.each([
  ['a request of 64 KiB is executed', 64 * 1024, '{"output":"done"}\n'],
  ['a client that has sent more than 64 KiB without a line break is disconnected', 64 * 1024 + 1, ''],
])('%s', async (_, length, response) => {
  await serve(async () => 'done');
  const client = open();
  const request = JSON.stringify('x'.repeat(length - 2));
  await new Promise((resolve) => client.socket.write(request, resolve));
  // The service has read what was sent before when it serves this one.
  expect(await sendCommand(path, {}, () => {})).toBe('done');
  client.socket.write('\n');
  await client.closed;
  expect(client.text()).toBe(response);
});

test('a client hears from a command that takes long, and gets its messages and its output', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  const finish = Promise.withResolvers<void>();
  await serve(async (_, { progress }) => {
    progress('half done');
    await finish.promise;
    return { done: true };
  });
  const raw = open();
  raw.socket.write('{}\n');
  const messages: string[] = [];
  const output = sendCommand(path, {}, (line) => messages.push(line));
  const whenReceived = (assertion: () => void) => vi.waitFor(assertion, { timeout: 10_000 });
  await whenReceived(() => expect([raw.text(), messages]).toEqual(['{"progress":"half done"}\n', ['half done']]));
  vi.advanceTimersByTime(10_000);
  await whenReceived(() => expect(raw.text()).toMatch(/\n\n\n$/));
  finish.resolve();
  expect(await output).toEqual({ done: true });
  expect(messages).toEqual(['half done']);
});

test.each([new UsageError('wrong'), new OperatorError('impossible')])('%s of a command reaches the client as such', async (error) => {
  await serve(() => Promise.reject(error));
  const failed = await sendCommand(path, {}, () => {}).catch((thrown: unknown) => thrown);
  expect([failed, failed instanceof UsageError]).toEqual([error, error instanceof UsageError]);
});
