// Requires a Redis server: run with TEST_REDIS_URL.
import { Redis } from 'ioredis';
import { pino } from 'pino';
import { describe, expect, onTestFinished, test } from 'vitest';
import { consume } from '../../src/limits/limiters.ts';
import { redisLimiters } from '../../src/limits/redis-limiters.ts';
import { ApiClient } from '../support/api-client.ts';
import { reopen } from '../support/database.ts';
import { freePort } from '../support/free-port.ts';
import { startRedis } from '../support/redis-server.ts';
import { startService } from '../support/service.ts';

const silent = pino({ level: 'silent' });

describe.runIf(process.env.TEST_REDIS_URL)('on Redis', () => {
  test('two processes share one limit, and both reject a revoked key', async () => {
    // Other tests, or this one a moment ago, may have counted requests of a key with the same id.
    const port = await freePort();
    const server = await startRedis(port);
    onTestFinished(() => server.stop());
    const url = `redis://127.0.0.1:${port}`;
    const [firstLimiters, secondLimiters] = [redisLimiters(url, silent), redisLimiters(url, silent)];
    const first = await startService({ rateLimitPerMinute: 40 }, { limiters: firstLimiters });
    const database = await reopen(first.database);
    const second = await startService({ rateLimitPerMinute: 40 }, { limiters: secondLimiters, database });
    try {
      const user = await first.createUser();
      const { body } = await user.api.post('/api/keys', { json: { name: 'Shared', scopes: ['monitors:read'] } });
      const headers = { Authorization: `Bearer ${body.data.key}` };
      const [onFirst, onSecond] = [new ApiClient(first.url, headers), new ApiClient(second.url, headers)];
      const responses = await Promise.all(Array.from({ length: 60 }, (_, call) => (call % 2 ? onFirst : onSecond).get('/api/monitors')));
      expect(responses.filter(({ status }) => status === 200)).toHaveLength(40);
      expect(responses.filter(({ status }) => status === 429)).toHaveLength(20);
      await user.api.delete(`/api/keys/${body.data.id}`);
      // Without a notification, a process would accept the cached key for 4 seconds.
      const statuses = async () => [(await onFirst.get('/api/monitors')).status, (await onSecond.get('/api/monitors')).status];
      await expect.poll(statuses, { timeout: 3500 }).toEqual([401, 401]);
    } finally {
      await second.stop();
      if (database !== first.database) await database.close();
      await first.stop();
      await Promise.all([firstLimiters.close(), secondLimiters.close()]);
    }
  });

  test('while Redis is unreachable, each process counts on its own and logs it; then limits are shared again', async () => {
    const port = await freePort();
    let server = await startRedis(port);
    const lines: string[] = [];
    const log = pino({ level: 'warn' }, { write: (line: string) => lines.push(line) });
    const limiters = redisLimiters(`redis://127.0.0.1:${port}`, log);
    const limiter = limiters.create('unreachable', 3, 60);
    const redis = new Redis(port);
    redis.on('error', () => {});
    // Until the connection is open, points are counted in memory.
    await expect
      .poll(
        async () => {
          await consume(limiter, 'warm-up');
          return redis.keys('*');
        },
        { timeout: 15_000 },
      )
      .toEqual(['sitekeeper:unreachable:warm-up']);
    await consume(limiter, 'a');
    redis.disconnect();
    await server.stop();
    const counts = [];
    for (let call = 0; call < 5; call++) counts.push((await consume(limiter, 'a')).consumedPoints);
    expect(counts).toEqual([1, 2, 3, 4, 5]);
    expect(lines.join('')).toContain('Redis is unreachable: each process enforces limits on its own until it is back');
    server = await startRedis(port);
    await expect.poll(() => lines.join(''), { timeout: 20_000 }).toContain('Redis is available again: limits are shared by all processes');
    expect((await consume(limiter, 'b')).consumedPoints).toBe(1);
    await limiters.close();
    await server.stop();
  });

  test('while Redis responds with errors, each process counts on its own and logs it once, also after a reconnection', async () => {
    const port = await freePort();
    const server = await startRedis(port);
    onTestFinished(() => server.stop());
    const logged: string[] = [];
    const log = pino({ level: 'warn' }, { write: (line: string) => logged.push(JSON.parse(line).msg) });
    const limiters = redisLimiters(`redis://127.0.0.1:${port}`, log);
    onTestFinished(() => limiters.close());
    const limiter = limiters.create('full', 10, 60);
    const redis = new Redis(port);
    onTestFinished(() => redis.disconnect());
    await expect.poll(() => limiters.isRedisAvailable?.(), { timeout: 15_000 }).toBe(true);
    await consume(limiter, 'a');
    await redis.config('SET', 'maxmemory', '1');
    const counts = [];
    for (let call = 0; call < 3; call++) counts.push((await consume(limiter, 'a')).consumedPoints);
    expect(counts).toEqual([1, 2, 3]);
    expect(limiters.isRedisAvailable?.()).toBe(false);
    await redis.call('client', 'kill', 'type', 'normal', 'skipme', 'yes');
    await expect.poll(async () => String(await redis.client('LIST')).split('\n').length, { timeout: 15_000 }).toBe(3);
    await consume(limiter, 'a');
    expect(limiters.isRedisAvailable?.()).toBe(false);
    expect(logged).toEqual([
      expect.stringMatching(/^Redis responds with an error \(OOM .+\): each process enforces limits on its own until it is back$/),
    ]);
    await redis.config('SET', 'maxmemory', '0');
    await expect.poll(async () => (await consume(limiter, 'other')) && limiters.isRedisAvailable?.(), { timeout: 15_000 }).toBe(true);
    expect((await consume(limiter, 'a')).consumedPoints).toBe(2);
    expect(logged.slice(1)).toEqual(['Redis is available again: limits are shared by all processes']);
  });

  test('a service starts and responds while Redis is unreachable', async () => {
    const limiters = redisLimiters(`redis://127.0.0.1:${await freePort()}`, silent);
    const service = await startService({}, { limiters });
    const { api } = await service.createUser();
    expect((await api.get('/api/monitors')).status).toBe(200);
    await service.stop();
    await limiters.close();
  });
});
