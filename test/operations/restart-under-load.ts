// Two processes behind nginx, restarted in turn while clients send requests.
import { Agent } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, test, vi } from 'vitest';
import type { Database } from '../../src/db/database.ts';
import { Deployment } from '../faults/support/deployment.ts';
import { send } from '../faults/support/load.ts';
import type { ApiClient } from '../support/api-client.ts';
import { countLoggedChecks } from '../support/check-history.ts';
import { createDatabase, urlOf } from '../support/database.ts';
import { findNginx, startNginx } from './nginx.ts';

interface Scenario {
  restarts: number;
  /** How many POSTs without an Idempotency-Key are sent, spread over the restarts. */
  posts: number;
  /** With workers, each of the two is a cluster of processes that share a port. */
  workers?: number;
  timeoutMs: number;
}

const clients = 8;
const requestsPerSecond = 140;
/** So many that the limit of a token is not reached: 60 heartbeats a minute. */
const jobs = 60;

/**
 * Tests that every request is answered, and that every website is stored and every heartbeat counted once, although a POST cannot be
 * repeated by nginx.
 */
export function testRollingRestarts({ restarts, posts, workers, timeoutMs }: Scenario) {
  const nginx = findNginx();
  const missing = [!nginx && 'nginx', !process.env.TEST_DATABASE_URL && 'TEST_DATABASE_URL'].filter(Boolean).join(' and ');
  if (missing && process.env.CI) throw new Error(`The test of the rolling restart requires ${missing}.`);
  if (missing) console.warn(`The rolling restart is not tested, because that requires ${missing}.`);

  const subject = workers ? `restarts of ${workers} workers` : 'restarts';
  test.skipIf(missing)(
    `${restarts} ${subject} behind nginx lose none of ${posts} POSTs and no heartbeat, and repeat none`,
    { timeout: timeoutMs },
    async () => {
      const database = await createDatabase();
      const deployment = await Deployment.create({ DATABASE_URL: urlOf(database), TRUSTED_PROXIES: 'loopback' });
      const serve = async (settings: Record<string, string> = {}) => {
        const service = await deployment.serve(settings, workers ? ['serve', '--workers', String(workers)] : []);
        if (workers) await vi.waitFor(() => expect(service.printed()).toContain(`${workers} workers are ready`), { timeout: 60_000 });
        return service;
      };
      const services = [await serve(), await serve()];
      const ports = services.map(({ url }) => new URL(url).port);
      const proxy = await startNginx(String(nginx), ports.map(Number));
      try {
        const heartbeatPaths = await createHeartbeats(services[0]?.api as ApiClient);
        const load = startLoad(proxy.url, deployment.key, heartbeatPaths);
        for (let restart = 0; restart < restarts; restart++) {
          const index = restart % 2;
          services[index]?.child.kill('SIGTERM');
          expect(await services[index]?.ended).toBe(0);
          services[index] = await serve({ PORT: String(ports[index]) });
          const due = (posts * (restart + 1)) / restarts;
          while (load.outcome.posts < due) await delay(50);
        }
        const { failed, created, heartbeats } = await load.stop();
        expect(failed, await proxy.readErrorLog()).toEqual([]);
        const rows = await database.asUser(1, (em) => em.execute<{ domain: string }[]>('select domain from websites order by domain'));
        expect(rows.map(({ domain }) => domain)).toEqual(created.toSorted());
        expect(heartbeats).toBeGreaterThan(posts / 10);
        expect(await readHeartbeats(database)).toEqual({ counted: heartbeats, up: jobs, incidents: 0 });
      } finally {
        await proxy.stop();
        await deployment.remove();
        await database.close();
      }
    },
  );
}

/** Creates monitors, and returns the paths that receive their heartbeats. */
async function createHeartbeats(api: ApiClient): Promise<string[]> {
  const paths: string[] = [];
  for (let job = 0; job < jobs; job++) {
    const { body } = await api.post('/api/monitors', { json: { type: 'heartbeat', friendly_name: `Job ${job}` } });
    paths.push(new URL(body.data.heartbeat_url).pathname);
  }
  return paths;
}

async function readHeartbeats(database: Database) {
  const [row] = await database.asEngine((em) =>
    em.execute<object[]>(
      `select (select count(*)::int from monitors where status = 'up') as up,
              (select count(*)::int from incidents) as incidents`,
    ),
  );
  return { counted: (await countLoggedChecks(database)).checks, ...row };
}

/** Most requests are POSTs that nginx must not repeat. The others are heartbeats, reads, and POSTs with a key that nginx can repeat. */
const kinds: Record<number, string> = { 0: 'GET', 1: 'heartbeat', 5: 'repeatable POST', 6: 'heartbeat' };
const kindOf = (index: number) => kinds[index % 10] ?? 'POST';

function startLoad(url: string, key: string, heartbeatPaths: string[]) {
  const agent = new Agent({ keepAlive: true, maxSockets: clients });
  const outcome = { posts: 0, heartbeats: 0, failed: [] as string[], created: [] as string[] };
  const startMs = performance.now();
  let sent = 0;
  let stopped = false;
  const running = Array.from({ length: clients }, async () => {
    while (!stopped) {
      const index = sent++;
      const aheadMs = (index / requestsPerSecond) * 1000 - (performance.now() - startMs);
      if (aheadMs > 0) await delay(aheadMs);
      const kind = kindOf(index);
      if (kind === 'heartbeat') {
        const { status, body } = await send(agent, url + heartbeatPaths[outcome.heartbeats++ % jobs], { method: 'POST' });
        if (status !== 200) outcome.failed.push(`heartbeat: ${status} ${body.slice(0, 200)}`);
        continue;
      }
      const domain = `site-${index}.example`;
      const write = { method: 'POST', form: `domain=${domain}`, headers: kind === 'POST' ? {} : { 'Idempotency-Key': domain } };
      const { status, body } = await send(agent, `${url}/api/v1/websites`, { key, ...(kind !== 'GET' && write) });
      if (kind === 'POST') outcome.posts++;
      if (status !== (kind === 'GET' ? 200 : 201)) outcome.failed.push(`${kind} ${domain}: ${status} ${body.slice(0, 200)}`);
      else if (kind !== 'GET') outcome.created.push(domain);
    }
  });
  return {
    outcome,
    async stop() {
      stopped = true;
      await Promise.all(running);
      agent.destroy();
      return outcome;
    },
  };
}
