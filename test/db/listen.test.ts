import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Database } from '../../src/db/database.ts';
import { Hosts } from '../../src/db/hosts.ts';
import { NotificationConnection } from '../../src/db/listen.ts';
import { createDatabase, urlOf } from '../support/database.ts';

let database: Database;

beforeAll(async () => {
  database = await createDatabase();
});
afterAll(() => database.close());

/** Forwards connections to the database. Each one waits for `allow` before anything is forwarded, and some are closed instead. */
async function startProxy() {
  const { hostname, port } = new URL(urlOf(database));
  const clients: Socket[] = [];
  const targets: Socket[] = [];
  let allow: Promise<void> = Promise.resolve();
  let failures = 0;
  const server = createServer(async (client) => {
    client.on('error', () => {});
    clients.push(client);
    await allow;
    if (failures-- > 0) return client.destroy();
    const target = connect(Number(port), hostname);
    target.on('error', () => {});
    client.on('close', () => target.destroy());
    target.on('close', () => client.destroy());
    client.pipe(target).pipe(client);
    targets.push(target);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = new URL(urlOf(database));
  url.port = String((server.address() as { port: number }).port);
  return {
    url: url.href,
    clients,
    waitFor(promise: Promise<void>) {
      allow = promise;
    },
    /** Forwards nothing more from the database on the connections that are open, as if it was frozen. */
    freeze() {
      for (const target of targets) target.unpipe().pause();
    },
    failNext(count: number) {
      failures = count;
    },
    close: () => server.close(),
  };
}

const listening = () =>
  database.asAuthenticator((em) =>
    em.execute<unknown[]>(`select from pg_stat_activity where application_name = 'sitekeeper listener' and datname = current_database()`),
  );

describe.runIf(process.env.TEST_DATABASE_URL)('the connection for notifications', () => {
  test('receives notifications again after it was lost, and after two failed attempts to connect', async () => {
    const proxy = await startProxy();
    const connection = new NotificationConnection(new Hosts(proxy.url));
    const [received, reconnects]: [string[], string[]] = [[], []];
    const listenTo = (channel: string) =>
      connection.listen(channel, {
        onNotification: (payload) => received.push(`${channel}: ${payload}`),
        onReconnect: () => reconnects.push(channel),
      });
    await listenTo('first');
    await listenTo('second');
    expect(reconnects).toEqual(['first', 'second']);
    proxy.failNext(2);
    proxy.clients[0]?.destroy();
    await expect.poll(() => reconnects, { timeout: 20_000 }).toEqual(['first', 'second', 'first', 'second']);
    expect(proxy.clients).toHaveLength(4);
    await database.asAuthenticator((em) => em.execute(`select pg_notify('second', 'b'), pg_notify('first', 'a')`));
    await expect.poll(() => received, { timeout: 20_000 }).toEqual(['second: b', 'first: a']);
    await connection.close();
    await expect.poll(listening, { timeout: 20_000 }).toEqual([]);
    proxy.close();
  });

  test('keeps its connection while the server responds, although nothing is sent for longer than a silent server is tolerated', async () => {
    const proxy = await startProxy();
    const connection = new NotificationConnection(new Hosts(proxy.url));
    await connection.listen('first', { onNotification() {}, onReconnect() {} });
    await delay(7000);
    expect(proxy.clients).toHaveLength(1);
    await connection.close();
    proxy.close();
  }, 20_000);

  test('reconnects if the server does not respond any more, although it keeps the connection open', async () => {
    const proxy = await startProxy();
    const connection = new NotificationConnection(new Hosts(proxy.url));
    let reconnects = 0;
    await connection.listen('first', { onNotification() {}, onReconnect: () => reconnects++ });
    proxy.freeze();
    await expect.poll(() => reconnects, { timeout: 20_000 }).toBe(2);
    expect(proxy.clients).toHaveLength(2);
    await connection.close();
    proxy.close();
  }, 30_000);

  test('closes while it reconnects', async () => {
    const proxy = await startProxy();
    const connection = new NotificationConnection(new Hosts(proxy.url));
    await connection.listen('first', { onNotification() {}, onReconnect() {} });
    const released = Promise.withResolvers<void>();
    proxy.waitFor(released.promise);
    proxy.clients[0]?.destroy();
    await expect.poll(() => proxy.clients.length, { timeout: 20_000 }).toBe(2);
    const closed = connection.close();
    released.resolve();
    await closed;
    await expect.poll(listening, { timeout: 20_000 }).toEqual([]);
    proxy.close();
  });
});
