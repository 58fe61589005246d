// `serve --workers N`: one service in several processes on one port.
import { readFile } from 'node:fs/promises';
import { Agent } from 'node:http';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import type { Database } from '../../src/db/database.ts';
import { Deployment, kill, type Serving } from '../faults/support/deployment.ts';
import { send } from '../faults/support/load.ts';
import { createDatabase, urlOf } from '../support/database.ts';
import { run } from '../support/process.ts';

/** Each request on a connection of its own. */
const apart = new Agent({ keepAlive: false });
const token = 'let-me-see-the-metrics';
const authorization = { headers: { Authorization: `Bearer ${token}` } };

test('the embedded database refuses workers in one line', async () => {
  const refused = run(process.cwd(), { DATA_DIR: '/nonexistent' }, ['serve', '--workers', '2']);
  expect(await refused.ended).toBe(1);
  expect(refused.printed()).toMatch(/^Bad setting\. --workers needs DATABASE_URL: [^\n]*\n$/);
});

test.each(['0', '-1', '1.5', 'many', ''])('--workers %j is refused in one line', async (count) => {
  const refused = run(process.cwd(), { DATA_DIR: '/nonexistent' }, ['serve', '--workers', count]);
  expect(await refused.ended).toBe(1);
  expect(refused.printed()).toMatch(/^Bad setting\. --workers: [^\n]*\n$/);
});

describe.runIf(process.env.TEST_DATABASE_URL)('on PostgreSQL', () => {
  let database: Database;
  let deployment: Deployment;

  beforeAll(async () => {
    database = await createDatabase();
    deployment = await Deployment.create({ DATABASE_URL: urlOf(database) });
  });
  afterAll(async () => {
    await deployment?.remove();
    await database?.close();
  });

  async function serveWithWorkers(count: number, settings: Record<string, string> = {}): Promise<Serving> {
    const service = await deployment.serve(settings, ['serve', '--workers', String(count)]);
    await vi.waitFor(() => expect(service.printed()).toContain(`${count} workers answer`), { timeout: 60_000 });
    return service;
  }

  test('the port answers the whole cluster, whose requests are counted together, and the outbox once', async () => {
    const service = await serveWithWorkers(2, { METRICS_TOKEN: token });
    const workers = await workersOf(service);
    expect(workers).toHaveLength(2);
    // Each alone for a while, so that both have something to count.
    for (const worker of workers) {
      process.kill(worker, 'SIGSTOP');
      for (let n = 0; n < 5; n++) expect((await send(apart, `${service.url}/api/monitors`, { key: deployment.key })).status).toBe(200);
      process.kill(worker, 'SIGCONT');
    }
    await queueAlert(database);
    for (let n = 0; n < 2; n++) {
      const { body, status } = await send(apart, `${service.url}/metrics`, authorization);
      expect(status).toBe(200);
      expect(body).toContain('sitekeeper_request_duration_seconds_count{operation="listMonitors",status="200"} 10');
      expect(body).toMatch(/^sitekeeper_outbox_alerts 1$/m);
    }
    service.child.kill('SIGTERM');
    expect(await service.ended).toBe(0);
  });

  test('a worker that is killed is replaced, no request meets one that is not ready, and a stop takes all along', async () => {
    const service = await serveWithWorkers(2, { METRICS_PORT: '0' });
    const before = await workersOf(service);
    process.kill(before[0] ?? 0, 'SIGKILL');
    const statuses = new Set<number>();
    await vi.waitFor(
      async () => {
        statuses.add((await send(apart, `${service.url}/api/monitors`, { key: deployment.key })).status);
        const now = await workersOf(service);
        expect(now).toHaveLength(2);
        expect(now).not.toContain(before[0]);
        expect(service.printed().match(/Listening on http:/g)).toHaveLength(3);
      },
      { timeout: 60_000, interval: 5 },
    );
    expect(service.printed()).toContain('A worker has died');
    // A request that was with the killed one breaks off.
    statuses.delete(0);
    expect([...statuses]).toEqual([200]);
    const [, metrics = ''] = /Metrics on (http:[^"]+)"/.exec(service.printed()) ?? [];
    expect(await (await fetch(metrics)).text()).toContain('sitekeeper_database_connections{state="busy"}');
    const workers = await workersOf(service);
    service.child.kill('SIGTERM');
    expect(await service.ended).toBe(0);
    await allGone(workers);
  });

  test('when the primary is killed no worker is left behind', async () => {
    const service = await serveWithWorkers(2);
    const workers = await workersOf(service);
    await kill(service);
    await allGone(workers);
  });

  test('the first start prints one key; a port that is taken is said in one line', async () => {
    const empty = await createDatabase();
    try {
      const first = deployment.start({ DATABASE_URL: urlOf(empty), OWNER_API_KEY: '' }, ['serve', '--workers', '3']);
      await vi.waitFor(() => expect(first.printed()).toContain('3 workers answer'), { timeout: 60_000 });
      expect(first.printed().match(/API key is/g)).toHaveLength(1);
      const [, port = ''] = /Listening on http:\/\/127\.0\.0\.1:(\d+)/.exec(first.printed()) ?? [];
      const second = deployment.start({ DATABASE_URL: urlOf(empty), PORT: port, LOG_LEVEL: 'error' }, ['serve', '--workers', '2']);
      expect(await second.ended).toBe(1);
      expect(second.printed()).toMatch(/^Cannot start\. Cannot listen on 127\.0\.0\.1:\d+: it is taken[^\n]*\n$/);
      await kill(first);
    } finally {
      await empty.close();
    }
  });
});

async function workersOf({ child }: Serving): Promise<number[]> {
  const pids = await readFile(`/proc/${child.pid}/task/${child.pid}/children`, 'utf8');
  return pids.trim().split(' ').map(Number);
}

/** One that nobody has taken leave of yet is gone all the same. */
async function isAlive(pid: number): Promise<boolean> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => ') Z');
  return !stat.slice(stat.lastIndexOf(')')).startsWith(') Z');
}

async function allGone(pids: number[]) {
  await vi.waitFor(async () => expect(await Promise.all(pids.map(isAlive))).not.toContain(true), { timeout: 30_000 });
}

async function queueAlert(database: Database) {
  await database.asUser(1, async (em) => {
    await em.execute(`insert into monitors (user_id, friendly_name, url, is_active) values (1, 'M', 'https://shop.example', false)`);
    await em.execute(`insert into providers (user_id, provider_type, recipient_email) values (1, 'email', 'ops@example.com')`);
    await em.execute(`insert into incidents (user_id, monitor_id, started_at, cause) select 1, id, now(), 'HTTP 503' from monitors`);
  });
  await database.asEngine((em) =>
    em.execute(
      `insert into alerts (user_id, incident_id, provider_id, kind, subject, body, next_attempt_at)
       select 1, i.id, p.id, 'down', 'S', 'B', now() + interval '1 hour' from incidents i, providers p`,
    ),
  );
}
