import { createServer } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { repliesToTcp } from '../../src/net/tcp-probe.ts';
import { startFullServer } from '../support/full-server.ts';

test('a connection that is accepted is a reply, and is closed again', async () => {
  let open = 0;
  const server = createServer((socket) => {
    open++;
    socket.on('close', () => open--).on('error', () => {});
  });
  const port = await new Promise<number>((resolve) =>
    server.listen(0, '127.0.0.1', () => resolve((server.address() as { port: number }).port)),
  );
  onTestFinished(() => void server.close());
  expect(await repliesToTcp({ host: '127.0.0.1', port }, 5000)).toBe(true);
  expect(await repliesToTcp({ host: 'localhost', port }, 5000)).toBe(true);
  await expect.poll(() => open, { timeout: 5000 }).toBe(0);
});

test('a connection that is refused is a reply', async () => {
  expect(await repliesToTcp({ host: '127.0.0.1', port: 1 }, 5000)).toBe(true);
});

test('a server that does not respond in time has not replied', async () => {
  const full = await startFullServer('127.0.0.1');
  onTestFinished(() => void full.close());
  expect(await repliesToTcp({ host: '127.0.0.1', port: full.port }, 300)).toBe(false);
});

test('one of several addresses is enough', async () => {
  // A TCP connection to a broadcast address fails at once, and refusing one takes longer.
  const lookup = async () => ['255.255.255.255', '127.0.0.1'].map((address) => ({ address, family: 4 }));
  expect(await repliesToTcp({ host: 'dns.example', port: 1 }, 5000, lookup)).toBe(true);
  expect(await repliesToTcp({ host: 'dns.example', port: 1 }, 5000, async () => (await lookup()).slice(0, 1))).toBe(false);
});
