import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { pino } from 'pino';
import { describe, expect, test } from 'vitest';
import { consume, memoryLimiters } from '../../src/limits/limiters.ts';
import { redisLimiters } from '../../src/limits/redis-limiters.ts';
import { ApiClient } from '../support/api-client.ts';
import { reopen } from '../support/database.ts';
import { startService } from '../support/service.ts';

const silent = pino({ level: 'silent' });

test('in memory, what was not seen for longest is forgotten: a flood of addresses cannot fill it', async () => {
  const limiter = memoryLimiters().create('flood', 5, 60);
  await consume(limiter, 'first');
  for (let address = 0; address < 100_001; address++) await consume(limiter, `address ${address}`);
  expect(await limiter.get('first')).toBeNull();
  expect((await limiter.get('address 100000'))?.consumedPoints).toBe(1);
  expect((await limiter.get('address 5'))?.consumedPoints).toBe(1);
});

/** A Redis of the test's own, so that it can be stopped. */
async function startRedis(port: number) {
  const folder = await mkdtemp(join(tmpdir(), 'sitekeeper-redis-'));
  const server = spawn('redis-server', ['--bind', '127.0.0.1', '--port', String(port), '--dir', folder, '--save', ''], { stdio: 'pipe' });
  await new Promise<void>((resolve) => server.stdout.on('data', (data) => String(data).includes('Ready to accept') && resolve()));
  return async () => {
    server.kill('SIGTERM');
    await new Promise((resolve) => server.on('close', resolve));
    await rm(folder, { recursive: true });
  };
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const { port } = server.address() as { port: number };
  await new Promise((resolve) => server.close(resolve));
  return port;
}

describe.runIf(process.env.TEST_REDIS_URL)('on Redis', () => {
  test('two processes share one limit and one revocation', async () => {
    const url = process.env.TEST_REDIS_URL ?? '';
    const [first, second] = [redisLimiters(url, silent), redisLimiters(url, silent)];
    const one = await startService({ rateLimitPerMinute: 40 }, { limiters: first });
    const database = await reopen(one.database);
    const two = await startService({ rateLimitPerMinute: 40 }, { limiters: second, database });
    try {
      const user = await one.createUser();
      const { body } = await user.api.post('/api/keys', { json: { name: 'Shared', scopes: ['monitors:read'] } });
      const [here, there] = [one, two].map((service) => new ApiClient(service.url, { Authorization: `Bearer ${body.data.key}` }));
      if (!here || !there) throw new Error('no clients');
      const answers = await Promise.all(Array.from({ length: 60 }, (_, call) => (call % 2 ? here : there).get('/api/monitors')));
      expect(answers.filter(({ status }) => status === 200)).toHaveLength(40);
      expect(answers.filter(({ status }) => status === 429)).toHaveLength(20);
      await user.api.delete(`/api/keys/${body.data.id}`);
      // Told, at once: without being told they would believe it for 4 seconds.
      const statuses = async () => [(await here.get('/api/monitors')).status, (await there.get('/api/monitors')).status];
      await expect.poll(statuses, { timeout: 3500 }).toEqual([401, 401]);
    } finally {
      await two.stop();
      if (database !== one.database) await database.close();
      await one.stop();
      await Promise.all([first.close(), second.close()]);
    }
  });

  test('while Redis is away each process counts for itself and says so in the log; then it is shared again', async () => {
    const port = await freePort();
    let stop = await startRedis(port);
    const lines: string[] = [];
    const log = pino({ level: 'warn' }, { write: (line: string) => lines.push(line) });
    const limiters = redisLimiters(`redis://127.0.0.1:${port}`, log);
    const limiter = limiters.create('away', 3, 60);
    const redis = new Redis(port);
    redis.on('error', () => {});
    // Until the connection stands, counting goes to memory too.
    await expect
      .poll(
        async () => {
          await consume(limiter, 'warm-up');
          return redis.keys('*');
        },
        { timeout: 15_000 },
      )
      .toEqual(['sitekeeper:away:warm-up']);
    await consume(limiter, 'a');
    redis.disconnect();
    await stop();
    const counts = [];
    for (let call = 0; call < 5; call++) counts.push((await consume(limiter, 'a')).consumedPoints);
    expect(counts).toEqual([1, 2, 3, 4, 5]);
    expect(lines.join('')).toContain('Redis cannot be reached');
    stop = await startRedis(port);
    await expect.poll(() => lines.join(''), { timeout: 20_000 }).toContain('Redis can be reached again');
    expect((await consume(limiter, 'b')).consumedPoints).toBe(1);
    await limiters.close();
    await stop();
  });

  test('a service starts and answers while Redis is away', async () => {
    const limiters = redisLimiters(`redis://127.0.0.1:${await freePort()}`, silent);
    const service = await startService({}, { limiters });
    const { api } = await service.createUser();
    expect((await api.get('/api/monitors')).status).toBe(200);
    await service.stop();
    await limiters.close();
  });
});
