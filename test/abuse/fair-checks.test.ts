// Ten users whose monitors hang, next to one whose monitors respond.
import type { Socket } from 'node:net';
import { createServer, type Server } from 'node:net';
import { afterAll, beforeAll, expect } from 'vitest';
import type { Database } from '../../src/db/database.ts';
import { guarantee } from '../support/guarantee.ts';
import { lengthOf } from '../support/length.ts';
import { type Elapsed, elapsedFor, netMs, slowest } from '../support/stall.ts';
import { scripts, startWebServer, type WebServer } from '../support/web-server.ts';
import { type AbusedService, startAbusedService } from './support/service.ts';

const hostileUsers = 10;
const monitorsPerHostileUser = 1000;
const intervalSeconds = 30;
/** How many checks of each honest monitor are measured. The first one has no fixed time, so it is not. */
const checksPerMonitor = lengthOf({ short: 1, long: 4 });

let tarpit: Tarpit;
let target: WebServer;
let service: AbusedService;
interface HonestMonitor {
  /** The time of the next check that is measured. */
  nextDueMs?: number | undefined;
  lateness: Elapsed[];
  unmeasured: number;
}

/** The monitors of the honest user by id. */
const honestMonitors = new Map<number, HonestMonitor>();

beforeAll(async () => {
  tarpit = await startTarpit();
  target = await startWebServer({
    script: (request, response) => {
      measureLateness(Number(request.path.slice(1)));
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
      for (const id of ids) honestMonitors.set(id, { lateness: [], unmeasured: 0 });
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
  `With 10 users that have 1,000 monitors each on hosts that hang, the 30 s checks of another user start within 2 s of their time, and no host gets more than 10 checks of a user at once`,
  async () => {
    const timeout = (checksPerMonitor + 3) * intervalSeconds * 1000;
    const monitors = [...honestMonitors.values()];
    const fewest = () => Math.min(...monitors.map((monitor) => monitor.lateness.length + monitor.unmeasured));
    await expect.poll(fewest, { timeout, interval: 250 }).toBeGreaterThanOrEqual(checksPerMonitor);
    const lateness = monitors.flatMap((monitor) => monitor.lateness);
    expect(lateness.length).toBeGreaterThan(monitors.reduce((sum, { unmeasured }) => sum + unmeasured, 0));
    expect(tarpit.mostPerHost).toBeLessThanOrEqual(10);
    expect(tarpit.mostConnections).toBeGreaterThan(100);
    const sorted = lateness.map(netMs).toSorted((a, b) => a - b);
    return {
      elapsed: [slowest(lateness)],
      measured:
        `${lateness.length} checks, half of them at most ${seconds(sorted[sorted.length >> 1])} late; at once: ` +
        `${tarpit.mostConnections} hostile checks, ${tarpit.mostPerHost} on one host, ${tarpit.mostPerUser} of one user`,
    };
  },
  (checksPerMonitor + 5) * intervalSeconds * 1000,
);

/** After its first check, each monitor has its own phase within its interval. */
function measureLateness(id: number) {
  const now = Date.now();
  const intervalMs = intervalSeconds * 1000;
  const phaseMs = (id * 53_377_081) % 86_400_000;
  const monitor = honestMonitors.get(id);
  if (!monitor) throw new Error(`Monitor ${id} was checked, but it is not one of the honest user.`);
  if (monitor.nextDueMs !== undefined) monitor.lateness.push(elapsedFor(now - monitor.nextDueMs));
  const next = (Math.floor((now - phaseMs) / intervalMs) + 1) * intervalMs + phaseMs;
  // If the result is recorded after that time, the next check is an interval later. Then there is nothing to measure.
  const mayBeSkipped = next - now < 1000;
  if (mayBeSkipped) monitor.unmeasured++;
  monitor.nextDueMs = mayBeSkipped ? undefined : next;
}

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
