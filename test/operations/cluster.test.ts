// `serve --workers N`: several processes that share one port.
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { Agent, request } from 'node:http';
import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import type { Database } from '../../src/db/database.ts';
import { Deployment, kill, type RunningService } from '../faults/support/deployment.ts';
import { send } from '../faults/support/load.ts';
import { startProxy } from '../faults/support/proxy.ts';
import { createDatabase, urlOf } from '../support/database.ts';
import { run } from '../support/process.ts';
import { sampleAlert } from '../support/sample-event.ts';
import { getHealth, metricsUrl } from './support/metrics-port.ts';

/** Opens a connection per request, so that requests are spread over the workers. */
const agent = new Agent({ keepAlive: false });
const token = 'let-me-see-the-metrics';
const authorization = { headers: { Authorization: `Bearer ${token}` } };

test('--workers is rejected in one line without DATABASE_URL', async () => {
  const service = run(process.cwd(), { DATA_DIR: '/nonexistent' }, ['serve', '--workers', '2']);
  expect(await service.ended).toBe(1);
  expect(service.printed()).toMatch(/^Invalid configuration\. DATABASE_URL: is required by --workers, [^\n]*\n$/);
});

test.each(['0', '-1', '1.5', 'many', ''])('--workers %j is rejected in one line', async (count) => {
  const service = run(process.cwd(), { DATA_DIR: '/nonexistent' }, ['serve', '--workers', count]);
  expect(await service.ended).toBe(1);
  expect(service.printed()).toMatch(/^error: --workers: must be a whole number [^\n]*\n$/);
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

  async function serveWithWorkers(count: number, settings: Record<string, string> = {}): Promise<RunningService> {
    const service = await deployment.serve(settings, ['serve', '--workers', String(count)]);
    await vi.waitFor(() => expect(service.printed()).toContain(`${count} workers are ready`), { timeout: 60_000 });
    return service;
  }

  test('/metrics aggregates the requests of all workers, and reports the outbox once', async () => {
    const service = await serveWithWorkers(2, { METRICS_TOKEN: token });
    const workers = await workersOf(service);
    expect(workers).toHaveLength(2);
    // Each worker is suspended in turn, so that both serve some of the requests.
    for (const worker of workers) {
      process.kill(worker, 'SIGSTOP');
      for (let n = 0; n < 5; n++) expect((await send(agent, `${service.url}/api/monitors`, { key: deployment.key })).status).toBe(200);
      process.kill(worker, 'SIGCONT');
    }
    await queueAlert(database);
    for (let n = 0; n < 2; n++) {
      const { body, status } = await send(agent, `${service.url}/metrics`, authorization);
      expect(status).toBe(200);
      expect(body).toContain('sitekeeper_request_duration_seconds_count{operation="listMonitors",status="200"} 10');
      expect(body).toMatch(/^sitekeeper_outbox_alerts 1$/m);
    }
    service.child.kill('SIGTERM');
    expect(await service.ended).toBe(0);
  });

  test('shows the memory, the CPU time and the event loop of each worker, and a replacement takes the place of its predecessor', async () => {
    const service = await serveWithWorkers(2, { METRICS_PORT: '0' });
    const metrics = `${metricsUrl(service)}/metrics`;
    const read = async () => (await fetch(metrics)).text();
    const text = await read();
    for (const name of [
      'nodejs_eventloop_lag_p99_seconds',
      'process_resident_memory_bytes',
      'nodejs_heap_size_used_bytes',
      'process_cpu_seconds_total',
      'process_open_fds',
      'process_start_time_seconds',
    ]) {
      expect([name, workersIn(text, name)]).toEqual([name, ['1', '2']]);
    }
    // What all processes read from the database is shown once.
    expect(text.match(/^sitekeeper_oldest_due_check_seconds .*$/gm)).toHaveLength(1);
    expect(await getHealth(service, '/readyz')).toEqual([200, { status: 'ready' }]);
    process.kill((await workersOf(service))[0] ?? 0, 'SIGKILL');
    await vi.waitFor(
      async () => {
        const now = await read();
        expect(now).not.toBe('');
        expect(startTimesIn(now)).toHaveLength(2);
        expect(startTimesIn(now)).not.toEqual(startTimesIn(text));
      },
      { timeout: 60_000, interval: 100 },
    );
    expect(workersIn(await read(), 'process_start_time_seconds')).toEqual(['1', '2']);
    service.child.kill('SIGTERM');
    expect(await service.ended).toBe(0);
  });

  test('a killed worker is replaced, no request reaches a worker that is not ready, and SIGTERM stops all workers', async () => {
    const service = await serveWithWorkers(2, { METRICS_PORT: '0' });
    const before = await workersOf(service);
    process.kill(before[0] ?? 0, 'SIGKILL');
    const statuses = new Set<number>();
    await vi.waitFor(
      async () => {
        statuses.add((await send(agent, `${service.url}/api/monitors`, { key: deployment.key })).status);
        const now = await workersOf(service);
        expect(now).toHaveLength(2);
        expect(now).not.toContain(before[0]);
        expect(service.printed().match(/Listening on http:/g)).toHaveLength(3);
      },
      { timeout: 60_000, interval: 5 },
    );
    expect(service.printed()).toContain('A worker exited unexpectedly; starting a replacement');
    // The in-flight request of the killed worker gets no response.
    statuses.delete(0);
    expect([...statuses]).toEqual([200]);
    const metrics = `${metricsUrl(service)}/metrics`;
    expect(await (await fetch(metrics)).text()).toContain('sitekeeper_database_connections{state="busy"}');
    const workers = await workersOf(service);
    service.child.kill('SIGTERM');
    expect(await service.ended).toBe(0);
    await waitUntilExited(workers);
  });

  test('the port is closed once the workers have closed it, even if the primary hangs', async () => {
    const service = await serveWithWorkers(2);
    await startShutdown(service);
    service.child.kill('SIGSTOP');
    // A connection that nobody accepts would be reset later, together with the request on it.
    await vi.waitFor(() => expect(connectTo(service.url)).rejects.toThrow('ECONNREFUSED'), { timeout: 6000 });
    service.child.kill('SIGCONT');
    expect(await service.ended).toBe(0);
  });

  test('during the shutdown, the workers still report their metrics', async () => {
    const service = await serveWithWorkers(2, { METRICS_PORT: '0' });
    await startShutdown(service);
    const text = await (await fetch(`${metricsUrl(service)}/metrics`)).text();
    expect(workersIn(text, 'process_cpu_seconds_total')).toEqual(['1', '2']);
    expect(await service.ended).toBe(0);
    expect(service.printed()).not.toMatch(/Error/);
  });

  test('if the primary is killed during the shutdown, the workers exit at once and the port is free', async () => {
    const service = await serveWithWorkers(2);
    const workers = await workersOf(service);
    // Without the primary's death, a worker would wait 6 seconds for the rest of the body.
    const form = { 'Content-Type': 'application/x-www-form-urlencoded', 'Content-Length': '20' };
    const headers = { Authorization: `Bearer ${deployment.key}`, ...form };
    const unfinished = request(`${service.url}/api/v1/websites`, { method: 'POST', headers }).on('error', () => {});
    unfinished.write('domain=');
    await startShutdown(service);
    service.child.kill('SIGKILL');
    await waitUntilExited(workers, 4000);
    await service.ended; // The workers notice it before all files of the primary are closed.
    unfinished.destroy();
    await expect(connectTo(service.url)).rejects.toThrow('ECONNREFUSED');
    expect(service.printed()).not.toMatch(/Error/);
  });

  test('if a worker is killed during the shutdown, the exit code is 1', async () => {
    const service = await serveWithWorkers(2);
    const [first = 0] = await workersOf(service);
    await startShutdown(service);
    process.kill(first, 'SIGKILL');
    expect(await service.ended).toBe(1);
  });

  test('the metrics port is ready only while a worker responds and its database does', async () => {
    const proxy = await startProxy(urlOf(database));
    try {
      const service = await serveWithWorkers(2, { METRICS_PORT: '0', DATABASE_URL: proxy.url });
      const readiness = () => getHealth(service, '/readyz');
      const notReady = (reason: string) => [503, { status: 'not ready', reason }];
      const [first = 0, second = 0] = await workersOf(service);
      process.kill(first, 'SIGSTOP');
      expect(await readiness()).toEqual([200, { status: 'ready' }]);
      process.kill(second, 'SIGSTOP');
      await vi.waitFor(async () => expect(await readiness()).toEqual(notReady('no worker responds')), { timeout: 10_000 });
      for (const worker of [first, second]) process.kill(worker, 'SIGCONT');
      await vi.waitFor(async () => expect((await readiness())[0]).toBe(200), { timeout: 10_000 });
      proxy.silence(/./);
      const reason = 'the database does not respond, or a migration is missing';
      await vi.waitFor(async () => expect(await readiness()).toEqual(notReady(reason)), { timeout: 30_000 });
      expect(await getHealth(service, '/healthz')).toEqual([200, { status: 'ok' }]);
      // Their replacements cannot start without the database.
      for (const worker of [first, second]) process.kill(worker, 'SIGKILL');
      await vi.waitFor(async () => expect(await readiness()).toEqual(notReady('no worker serves requests yet')), { timeout: 10_000 });
      await kill(service);
    } finally {
      await proxy.close();
    }
  });

  test('the workers exit when the primary is killed', async () => {
    const service = await serveWithWorkers(2);
    const workers = await workersOf(service);
    await kill(service);
    await waitUntilExited(workers);
  });

  test('the first start prints one key, and a port in use is reported in one line', async () => {
    const empty = await createDatabase();
    try {
      const first = deployment.start({ DATABASE_URL: urlOf(empty), OWNER_API_KEY: '' }, ['serve', '--workers', '3']);
      await vi.waitFor(() => expect(first.printed()).toContain('3 workers are ready'), { timeout: 60_000 });
      expect(first.printed().match(/API key is/g)).toHaveLength(1);
      const [, port = ''] = /Listening on http:\/\/127\.0\.0\.1:(\d+)/.exec(first.printed()) ?? [];
      const second = deployment.start({ DATABASE_URL: urlOf(empty), PORT: port, LOG_LEVEL: 'error' }, ['serve', '--workers', '2']);
      expect(await second.ended).toBe(1);
      expect(second.printed()).toMatch(
        /^Cannot start\. Port \d+ on 127\.0\.0\.1 is already in use\. Stop the other process, or set HOST or PORT [^\n]*\n$/,
      );
      await kill(first);
    } finally {
      await empty.close();
    }
  });
});

/** Sends SIGTERM to the primary and waits until both workers have noticed. They serve requests for another 2 seconds. */
async function startShutdown({ child, printed }: RunningService): Promise<void> {
  child.kill('SIGTERM');
  await vi.waitFor(() => expect(printed().match(/finishing in-flight requests/g)).toHaveLength(2), { timeout: 5000, interval: 10 });
}

async function connectTo(url: string): Promise<void> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  await once(socket, 'connect');
  socket.destroy();
}

/** Returns the numbers of the workers for which a metric has a sample. */
function workersIn(text: string, name: string): string[] {
  return [...text.matchAll(new RegExp(`^${name}\\{worker="(\\d+)"\\} \\S+$`, 'gm'))].map(([, worker = '']) => worker).toSorted();
}

function startTimesIn(text: string): string[] {
  return (text.match(/^process_start_time_seconds\{.*$/gm) ?? []).toSorted();
}

async function workersOf({ child }: RunningService): Promise<number[]> {
  const pids = await readFile(`/proc/${child.pid}/task/${child.pid}/children`, 'utf8');
  return pids.trim().split(' ').map(Number);
}

/** A zombie, which its parent has not waited for yet, counts as exited. */
async function isAlive(pid: number): Promise<boolean> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => ') Z');
  return !stat.slice(stat.lastIndexOf(')')).startsWith(') Z');
}

async function waitUntilExited(pids: number[], timeout = 30_000) {
  await vi.waitFor(async () => expect(await Promise.all(pids.map(isAlive))).not.toContain(true), { timeout });
}

async function queueAlert(database: Database) {
  await database.asUser(1, async (em) => {
    await em.execute(`insert into monitors (user_id, friendly_name, url, is_active) values (1, 'M', 'https://shop.example', false)`);
    await em.execute(
      `insert into providers (user_id, provider_type, settings) values (1, 'email', '{"recipient_email": "ops@example.com"}')`,
    );
    await em.execute(`insert into incidents (user_id, monitor_id, started_at, cause) select 1, id, now(), 'HTTP 503' from monitors`);
  });
  await database.asEngine((em) =>
    em.execute(
      `insert into alerts (user_id, incident_id, provider_id, kind, payload, next_attempt_at)
       select 1, i.id, p.id, ${sampleAlert()}, now() + interval '1 hour' from incidents i, providers p`,
    ),
  );
}
