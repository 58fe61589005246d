import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { pino } from 'pino';
import { expect, onTestFinished, test } from 'vitest';
import { consume, type Limiters } from '../../src/limits/limiters.ts';
import { redisLimiters } from '../../src/limits/redis-limiters.ts';
import { startTestClock } from '../support/test-clock.ts';

const tooSlow = 'Redis does not respond within 250 ms: each process enforces limits on its own until it is back';
const unreachable = 'Redis is unreachable: each process enforces limits on its own until it is back';
const back = 'Redis is available again: limits are shared by all processes';

/** A server that looks ready to each client that connects. While it is stuck, it responds to nothing else. */
async function startServer() {
  const clients: Socket[] = [];
  const info = 'redis_version:7.0.0\r\nloading:0\r\n';
  const tcp = createServer((client) => {
    clients.push(client);
    client.on('error', () => {});
    client.setEncoding('utf8').on('data', (commands: string) => {
      for (const [, name = ''] of commands.matchAll(/\*\d+\r\n\$\d+\r\n(\w+)/g)) {
        if (/^info$/i.test(name)) client.write(`$${info.length}\r\n${info}\r\n`);
        else if (/^(hello|client)$/i.test(name)) client.write('+OK\r\n');
        else if (!server.isStuck) client.write('*2\r\n:1\r\n:60000\r\n'); // One point was consumed, for a minute.
      }
    });
  }).listen(0, '127.0.0.1');
  await once(tcp, 'listening');
  const server = {
    isStuck: false,
    clients,
    url: `redis://127.0.0.1:${(tcp.address() as AddressInfo).port}`,
    stop() {
      tcp.close();
      for (const client of clients) client.destroy();
    },
  };
  onTestFinished(() => server.stop());
  return server;
}

/** Connects, and waits for a reply. */
async function exchange(url: string) {
  const socket = connect(Number(new URL(url).port), '127.0.0.1').on('error', () => {});
  socket.write('*1\r\n$4\r\nINFO\r\n');
  await once(socket, 'data');
  socket.destroy();
}

function createLimiters(url: string): { limiters: Limiters; logged: string[] } {
  const logged: string[] = [];
  const limiters = redisLimiters(url, pino({ level: 'warn' }, { write: (line: string) => logged.push(JSON.parse(line).msg) }));
  onTestFinished(() => limiters.close());
  return { limiters, logged };
}

test('a server that fails again shortly after each recovery is tried less and less often', async () => {
  const clock = startTestClock();
  onTestFinished(() => clock.stop());
  const server = await startServer();
  server.isStuck = true;
  const { limiters, logged } = createLimiters(server.url);
  const limiter = limiters.create('flapping', 1000, 60);
  // The pauses are 0.25, 0.5, 1, 2 and 4 seconds, a quarter more or less.
  for (const shortestMs of [188, 375, 750, 1500, 3000]) {
    await expect.poll(() => limiters.isRedisAvailable?.(), { timeout: 10_000, interval: 10 }).toBe(true);
    const connections = server.clients.length;
    const consumed = consume(limiter, 'a');
    clock.advance(250);
    await consumed;
    await expect.poll(() => limiters.isRedisAvailable?.(), { timeout: 10_000, interval: 10 }).toBe(false);
    clock.advance(shortestMs - 100);
    await exchange(server.url); // Connections are accepted in their order, so this one comes after that of the limiters.
    expect(server.clients.length).toBe(connections + 1);
    clock.advance(4000);
  }
  expect(logged.slice(0, 3)).toEqual([tooSlow, back, tooSlow]);
});

test('the log says why Redis cannot be used, also if that was another reason before', async () => {
  const server = await startServer();
  const { limiters, logged } = createLimiters(server.url);
  const limiter = limiters.create('reasons', 1000, 60);
  await expect.poll(() => limiters.isRedisAvailable?.(), { timeout: 10_000 }).toBe(true);
  server.isStuck = true;
  await consume(limiter, 'a');
  server.isStuck = false;
  await expect.poll(() => limiters.isRedisAvailable?.(), { timeout: 10_000 }).toBe(true);
  server.stop();
  await expect.poll(() => logged, { timeout: 10_000 }).toEqual([tooSlow, back, unreachable]);
});
