// A Redis server that accepts connections but does not respond, in time or at all.
import { connect, createServer, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import type { Database } from '../../src/db/database.ts';
import { Deployment, type RunningService } from '../faults/support/deployment.ts';
import { createDatabase, urlOf } from '../support/database.ts';
import { freePort } from '../support/free-port.ts';
import { startRedis } from '../support/redis-server.ts';
import { expectWithin, startStopwatch } from '../support/stall.ts';

const token = 'let-me-see-the-metrics';
const requests = 40;
const limit = 60;

describe.runIf(process.env.TEST_DATABASE_URL && process.env.TEST_REDIS_URL)('a service whose Redis does not respond', () => {
  let database: Database;
  let deployment: Deployment;

  beforeAll(async () => {
    database = await createDatabase();
    deployment = await Deployment.create({ DATABASE_URL: urlOf(database), METRICS_TOKEN: token });
  });
  afterAll(async () => {
    await deployment?.remove();
    await database?.close();
  });

  async function serve(redisPort: number): Promise<RunningService> {
    const settings = { REDIS_URL: `redis://127.0.0.1:${redisPort}`, RATE_LIMIT_PER_MINUTE: String(limit) };
    return deployment.serve(settings, ['serve', '--no-engine']);
  }

  test('notices it with the first request, counts on its own, and shares limits again when it is back', async () => {
    const port = await freePort();
    const redis = await startRedis(port);
    onTestFinished(() => redis.stop());
    const [one, other] = [await serve(port), await serve(port)];
    await waitForMetric(one, 1);
    await waitForMetric(other, 1);
    redis.freeze();
    await expectNoWaiting(one);
    await waitForMetric(one, 0);
    // The other process has sent nothing to Redis in the meantime, so it cannot know.
    await waitForMetric(other, 1);
    redis.thaw();
    await waitForMetric(one, 1);
    await waitForLog(one, [
      'Redis does not respond within 250 ms: each process enforces limits on its own until it is back',
      'Redis is available again: limits are shared by all processes',
    ]);
    expect(logged(other)).toEqual([]);
    const remaining = async ({ api }: RunningService) =>
      Number(/r=(\d+)/.exec((await api.get('/api/monitors')).headers.get('RateLimit') ?? '')?.[1]);
    // On a busy machine a reply can take too long, or the minute of the limit can end between two requests.
    await vi.waitFor(
      async () => {
        const before = await remaining(one);
        expect(await remaining(other)).toBe(before - 1);
      },
      { timeout: 20_000, interval: 2000 },
    );
  });

  test('is not fooled by a server that is slow, and tries it less and less often', async () => {
    const port = await freePort();
    const redis = await startRedis(port);
    onTestFinished(() => redis.stop());
    const slow = await startSlowProxy(port);
    onTestFinished(() => slow.close());
    const service = await serve(slow.port);
    await waitForMetric(service, 1);
    slow.connectedMs.length = 0;
    slow.delayMs = 400;
    await expectNoWaiting(service);
    // The pauses are 0.25, 0.5, 1, 2 and 4 seconds, a quarter more or less. Each attempt takes 0.25 seconds as well.
    await vi.waitFor(() => expect(slow.connectedMs.length).toBeGreaterThan(4), { timeout: 60_000 });
    const pausesMs = slow.connectedMs.slice(1).map((ms, index) => ms - (slow.connectedMs[index] ?? 0));
    expect(Math.max(...pausesMs)).toBeGreaterThan(2 * Math.min(...pausesMs));
    expect(pausesMs.indexOf(Math.max(...pausesMs))).toBeGreaterThan(pausesMs.indexOf(Math.min(...pausesMs)));
    expect(logged(service)).toHaveLength(1);
    slow.delayMs = 0;
    await waitForMetric(service, 1);
    await waitForLog(service, [expect.any(String), expect.any(String)]);
  });
});

/** Only the first request may wait for Redis. If each of them waited 250 ms, they would take 10 seconds. */
async function expectNoWaiting({ api }: RunningService) {
  const elapsed = startStopwatch();
  for (let n = 0; n < requests; n++) expect((await api.get('/api/monitors')).status).toBe(200);
  expectWithin(5, elapsed());
}

/** Waits until the process reports whether it uses Redis. */
async function waitForMetric({ url }: RunningService, value: number) {
  const read = async () => (await fetch(`${url}/metrics`, { headers: { Authorization: `Bearer ${token}` } })).text();
  await vi.waitFor(async () => expect(await read()).toMatch(new RegExp(`^sitekeeper_redis_available ${value}$`, 'm')), {
    timeout: 30_000,
    interval: 200,
  });
}

/** Returns the messages about Redis. */
function logged({ printed }: RunningService): string[] {
  return [...printed().matchAll(/"msg":"(Redis [^"]*)"/g)].map(([, message = '']) => message);
}

/** The output of a process can arrive after its metric. */
async function waitForLog(service: RunningService, messages: string[]) {
  await vi.waitFor(() => expect(logged(service)).toEqual(messages), { timeout: 10_000 });
}

/** Starts a TCP proxy that delays every reply. */
async function startSlowProxy(target: number) {
  const clients = new Set<Socket>();
  const server = createServer((client) => {
    proxy.connectedMs.push(performance.now());
    clients.add(client);
    const redis = connect(target, '127.0.0.1');
    client.on('error', () => {}).on('close', () => clients.delete(client) && redis.destroy());
    redis.on('error', () => {}).on('close', () => client.destroy());
    client.pipe(redis);
    redis.on('data', async (data) => {
      if (proxy.delayMs > 0) await delay(proxy.delayMs);
      client.write(data);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const proxy = {
    port: (server.address() as { port: number }).port,
    delayMs: 0,
    connectedMs: [] as number[],
    close() {
      server.close();
      for (const client of clients) client.destroy();
    },
  };
  return proxy;
}
