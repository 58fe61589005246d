// A monitor that is changed, paused or deleted while its check runs never gets the result of that check.
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { parseRanges } from '../../../src/net/addresses.ts';
import { startService, type TestService, type TestUser } from '../../support/service.ts';
import { wakeAll } from '../../support/wake.ts';
import { startWebServer, type WebServer } from '../../support/web-server.ts';
import { createMonitor } from '../factories.ts';
import { readCounts, readIncidents, readMonitor } from '../heartbeats/heartbeat-monitors.ts';

const address = '127.0.0.9';
/** The first lookup of each of these names waits until it is released. Later ones never end. */
const lookups = new Map<string, { begun: PromiseWithResolvers<void>; released: PromiseWithResolvers<void>; count: number }>();
/** The first response to each of these paths waits until it is called. Later ones never come. */
const responses = new Map<string, PromiseWithResolvers<() => void>>();

let target: WebServer;
let service: TestService;
let user: TestUser;

beforeAll(async () => {
  target = await startWebServer({
    host: address,
    script: ({ path }, response) => {
      const isFailure = path.startsWith('/fails');
      const respond = () => void response.writeHead(isFailure ? 503 : 200).end();
      const held = responses.get(path);
      if (held) held.resolve(respond);
      else respond();
    },
  });
  const lookup = async (name: string) => {
    const held = lookups.get(name);
    if (held && ++held.count > 1) await new Promise(() => {});
    held?.begun.resolve();
    await held?.released.promise;
    return [{ address, family: 4 as const }];
  };
  service = await startService({}, { engine: true, net: { allow: parseRanges([address]), lookup } });
  user = await service.createUser();
});
afterAll(async () => {
  await service.stop();
  await target.close();
});

let count = 0;

/** Begins a check that fails when it is released. */
async function beginHttp() {
  const path = `/fails/${++count}`;
  const held = Promise.withResolvers<() => void>();
  responses.set(path, held);
  onTestFinished(() => void responses.delete(path));
  const monitor = await createMonitor(user, {
    url: `http://shop${count}.example:${target.port}${path}`,
    confirmations: 0,
    timeout_seconds: 30,
  });
  await wakeAll(service.database);
  return { monitor, release: await held.promise };
}

/** The same for a TCP connection, to a port that nobody listens on. */
async function beginTcp() {
  const name = `db${++count}.example`;
  const held = { begun: Promise.withResolvers<void>(), released: Promise.withResolvers<void>(), count: 0 };
  lookups.set(name, held);
  onTestFinished(() => void lookups.delete(name));
  const monitor = await createMonitor(user, { type: 'tcp', url: `tcp://${name}:9`, confirmations: 0, timeout_seconds: 30 });
  await wakeAll(service.database);
  await held.begun.promise;
  return { monitor, release: () => held.released.resolve() };
}

const kinds = [
  ['http', beginHttp],
  ['tcp', beginTcp],
] as const;

/** Waits until a check that was released later has been recorded. */
async function waitForLaterCheck() {
  const { monitor, release } = await beginHttp();
  release();
  await expect.poll(async () => (await readMonitor(user, monitor)).status, { timeout: 20_000 }).toBe('down');
}

test.each(kinds)(
  'a failed %s check counts if nothing was changed',
  async (_, begin) => {
    const { monitor, release } = await begin();
    release();
    await expect.poll(async () => (await readMonitor(user, monitor)).status, { timeout: 20_000 }).toBe('down');
    expect(await readIncidents(user, monitor)).toHaveLength(1);
  },
  60_000,
);

test.each(kinds)(
  'paused: the result of the %s check is dropped',
  async (_, begin) => {
    const { monitor, release } = await begin();
    await user.api.put(monitor.path, { json: { is_active: false } });
    release();
    await waitForLaterCheck();
    expect(await readMonitor(user, monitor)).toMatchObject({ status: 'paused', last_checked_at: null, last_error: null });
    expect(await readCounts(service, monitor)).toEqual({ checks: 0, failures: 0 });
  },
  60_000,
);

test.each(kinds)(
  'repointed: the result of the %s check is dropped, and the new target is checked',
  async (_, begin) => {
    const { monitor, release } = await begin();
    await user.api.put(monitor.path, { json: { type: 'http', url: `http://shop.example:${target.port}/works` } });
    release();
    await waitForLaterCheck();
    await expect.poll(async () => (await readMonitor(user, monitor)).status, { timeout: 20_000 }).toBe('up');
    // The new target may have had its next turn already, and the result that was dropped is a failure.
    expect(await readCounts(service, monitor)).toMatchObject({ failures: 0 });
    expect(await readIncidents(user, monitor)).toEqual([]);
  },
  60_000,
);

test.each(kinds)(
  'paused and resumed: the result of the %s check before the pause is dropped',
  async (_, begin) => {
    const { monitor, release } = await begin();
    await user.api.put(monitor.path, { json: { is_active: false } });
    await user.api.put(monitor.path, { json: { is_active: true } });
    // The next check would be due within 3 seconds.
    await service.database.asEngine((em) =>
      em.execute(`update monitors set next_check_at = now() + interval '1 hour' where id = ? and claim_token is null`, [monitor.id], 'run'),
    );
    release();
    await waitForLaterCheck();
    expect(await readMonitor(user, monitor)).toMatchObject({ status: 'pending', last_checked_at: null });
  },
  60_000,
);

test.each(kinds)(
  'deleted: the result of the %s check is dropped, and leaves no rows',
  async (_, begin) => {
    const { monitor, release } = await begin();
    await user.api.delete(monitor.path);
    release();
    await waitForLaterCheck();
    expect(await readCounts(service, monitor)).toEqual({ checks: 0, failures: 0 });
    const incidents = await service.database.asEngine((em) => em.execute('select from incidents where monitor_id = ?', [monitor.id]));
    expect(incidents).toEqual([]);
  },
  60_000,
);

test.each(kinds)(
  'a maintenance that started: the result of the %s check is dropped',
  async (_, begin) => {
    const { monitor, release } = await begin();
    await user.api.put(monitor.path, { json: { maintenance_until: new Date(Date.now() + 3_600_000).toISOString() } });
    release();
    await waitForLaterCheck();
    expect(await readMonitor(user, monitor)).toMatchObject({ status: 'pending', last_checked_at: null, last_error: null });
    expect(await readCounts(service, monitor)).toEqual({ checks: 0, failures: 0 });
    expect(await readIncidents(user, monitor)).toEqual([]);
  },
  60_000,
);
