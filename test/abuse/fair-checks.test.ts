// Ten users whose monitors hang, next to one whose monitors respond.
import type { Socket } from 'node:net';
import { createServer, type Server } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect } from 'vitest';
import type { Database } from '../../src/db/database.ts';
import { guarantee } from '../support/guarantee.ts';
import { scripts, startWebServer, type WebServer } from '../support/web-server.ts';
import { type AbusedService, startAbusedService } from './support/service.ts';

const hostileUsers = 10;
const monitorsPerHostileUser = 1000;
const intervalSeconds = 30;
const measureMs = 75_000;

let tarpit: Tarpit;
let target: WebServer;
let service: AbusedService;
/** The monitors of the honest user, and when each was checked. */
const checkedAt = new Map<number, number[]>();

beforeAll(async () => {
  tarpit = await startTarpit();
  target = await startWebServer({
    script: (request, response) => {
      checkedAt.get(Number(request.path.slice(1)))?.push(Date.now());
      scripts.respond()(request, response);
    },
  });
  service = await startAbusedService({
    users: hostileUsers + 1,
    settings: { NET_ALLOW: '127.0.0.0/8' },
    async seed(database, [honest, ...hostile]) {
      for (const [index, user] of hostile.entries()) {
        // The second address byte is the user. Half of the users have one host, the others have a host for each monitor.
        const address = index % 2 ? `127.${index + 1}.0.1` : `127.${index + 1}.' || n / 250 || '.' || n % 250 + 1 || '`;
        await insertMonitors(database, user.id, `'http://${address}:${tarpit.port}/'`, monitorsPerHostileUser);
      }
      const ids = await insertMonitors(database, honest?.id ?? 0, `'${target.url}/'`, 20);
      for (const id of ids) checkedAt.set(id, []);
      await database.asUser(honest?.id ?? 0, (em) => em.execute(`update monitors set url = url || id`, [], 'run'));
    },
  });
}, 120_000);
afterAll(async () => {
  await service?.remove();
  await target?.close();
  await tarpit?.close();
});

guarantee(
  10,
  'With 10 users that have 1,000 monitors each on hosts that hang, the 30 s checks of another user start on time, and no host gets more than 10 checks of a user at once',
  async () => {
    await delay(measureMs);
    // The first check of a monitor has no fixed time. Afterwards each monitor has its own phase within its interval.
    const latenessMs = [...checkedAt]
      .flatMap(([id, times]) => times.slice(1).map((time) => (time - ((id * 7919) % 86_400) * 1000) % (intervalSeconds * 1000)))
      .toSorted((a, b) => a - b);
    const gapsMs = [...checkedAt.values()].flatMap((times) => times.slice(1).map((time, index) => time - (times[index] ?? 0)));
    const [p50, p99] = [0.5, 0.99].map((share) => latenessMs[Math.ceil(latenessMs.length * share) - 1] ?? Number.NaN);
    const measured =
      `lateness p50 ${seconds(p50)}, p99 ${seconds(p99)} over ${latenessMs.length} checks, ` +
      `longest gap ${seconds(Math.max(...gapsMs))}; at once: ${tarpit.mostConnections} hostile checks, ` +
      `${tarpit.mostPerHost} on one host, ${tarpit.mostPerUser} of one user`;
    // Two checks of each monitor are due in this time. The goal is 2 s; the rest is for a slow machine.
    expect(latenessMs.length, measured).toBeGreaterThanOrEqual(checkedAt.size * 2);
    expect(p99, measured).toBeLessThan(5000);
    // The lateness is taken within the interval, so a check that is a whole interval late shows only here.
    expect(Math.max(...gapsMs), measured).toBeLessThan((intervalSeconds + 10) * 1000);
    expect(tarpit.mostPerHost).toBeLessThanOrEqual(10);
    expect(tarpit.mostConnections).toBeGreaterThan(100);
    return measured;
  },
  120_000,
);

const seconds = (ms = Number.NaN) => `${(ms / 1000).toFixed(1)} s`;

async function insertMonitors(database: Database, userId: number, urlSql: string, count: number): Promise<number[]> {
  const rows = await database.asUser(userId, (em) =>
    em.execute<{ id: number }[]>(
      `insert into monitors (user_id, friendly_name, url, target_host, interval_seconds)
       select ?, 'M', url, substring(url from '//([^:/]+)'), ${intervalSeconds}
         from generate_series(1, ?) n, lateral (select ${urlSql} as url) target returning id`,
      [userId, count],
    ),
  );
  return rows.map(({ id }) => id);
}

interface Tarpit {
  port: number;
  mostConnections: number;
  /** The most connections at once to one address. */
  mostPerHost: number;
  /** The most connections at once to the addresses of one user. */
  mostPerUser: number;
  close(): Promise<void>;
}

/** Accepts connections on every loopback address and never responds. */
async function startTarpit(): Promise<Tarpit> {
  const sockets = new Set<Socket>();
  const open = new Map<string, number>();
  const count = (key: string, change: number) => {
    const connections = (open.get(key) ?? 0) + change;
    open.set(key, connections);
    return connections;
  };
  const server: Server = createServer((socket) => {
    const { localAddress = '' } = socket;
    const user = localAddress.split('.')[1] ?? '';
    sockets.add(socket);
    tarpit.mostConnections = Math.max(tarpit.mostConnections, sockets.size);
    tarpit.mostPerHost = Math.max(tarpit.mostPerHost, count(localAddress, 1));
    tarpit.mostPerUser = Math.max(tarpit.mostPerUser, count(user, 1));
    socket.on('error', () => {});
    socket.resume();
    socket.once('close', () => {
      sockets.delete(socket);
      count(localAddress, -1);
      count(user, -1);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '0.0.0.0', 1024, resolve));
  const tarpit: Tarpit = {
    port: (server.address() as { port: number }).port,
    mostConnections: 0,
    mostPerHost: 0,
    mostPerUser: 0,
    async close() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return tarpit;
}
