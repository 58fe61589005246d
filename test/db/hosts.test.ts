// A server here only begins sessions: it reports its settings, as PostgreSQL does, and answers no query.
import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import type pg from 'pg';
import { afterEach, expect, test } from 'vitest';
import { Hosts } from '../../src/db/hosts.ts';

type Settings = Partial<Record<'in_hot_standby' | 'default_transaction_read_only', 'on' | 'off'>>;

const standby: Settings = { in_hot_standby: 'on', default_transaction_read_only: 'off' };
const primary: Settings = { in_hot_standby: 'off', default_transaction_read_only: 'off' };
const readOnly = { code: '25006' };
const servers: FakeServer[] = [];

afterEach(() => {
  for (const server of servers.splice(0)) server.close();
});

class FakeServer {
  settings: Settings;
  /** While it is frozen, sessions do not begin. */
  isFrozen = false;
  /** The application name of every session that a client has asked for. */
  readonly requested: string[] = [];
  readonly #sockets = new Set<Socket>();
  readonly #waiting: Socket[] = [];
  readonly #server = createServer((socket) => {
    this.#sockets.add(socket);
    socket.on('error', () => {}).on('close', () => this.#sockets.delete(socket));
    socket.once('data', (startup) => {
      this.requested.push(/application_name\0([^\0]*)/.exec(startup.toString())?.[1] ?? '');
      if (this.isFrozen) this.#waiting.push(socket);
      else this.#begin(socket);
      socket.on('data', () => socket.end()); // The client says that it disconnects.
    });
  });

  private constructor(settings: Settings) {
    this.settings = settings;
  }

  static async start(settings: Settings): Promise<FakeServer> {
    const server = new FakeServer(settings);
    servers.push(server);
    await once(server.#server.listen(0, '127.0.0.1'), 'listening');
    return server;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  get address() {
    return { host: '127.0.0.1', port: this.port };
  }

  thaw() {
    this.isFrozen = false;
    for (const socket of this.#waiting.splice(0)) this.#begin(socket);
  }

  disconnectAll() {
    for (const socket of this.#sockets) socket.destroy();
  }

  close() {
    this.disconnectAll();
    this.#server.close();
  }

  #begin(socket: Socket) {
    const message = (type: string, body: Buffer) => {
      const length = Buffer.alloc(4);
      length.writeInt32BE(4 + body.length);
      return Buffer.concat([Buffer.from(type), length, body]);
    };
    const authenticated = message('R', Buffer.alloc(4));
    const reported = Object.entries(this.settings).map(([name, value]) => message('S', Buffer.from(`${name}\0${value}\0`)));
    socket.write(Buffer.concat([authenticated, ...reported, message('Z', Buffer.from('I'))]));
  }
}

function hostsOf(...all: FakeServer[]): Hosts {
  const addresses = all.map(({ port }) => `127.0.0.1:${port}`).join();
  return new Hosts(`postgres://sitekeeper_login@${addresses}/sitekeeper?target_session_attrs=read-write`);
}

function createClient(hosts: Hosts): pg.Client {
  const client = new hosts.Client({ connectionString: hosts.url, application_name: 'sitekeeper' });
  client.on('error', () => {}); // As the pool does.
  return client;
}

const connect = (hosts: Hosts) => createClient(hosts).connect();
/** An 'error' event comes before it. */
const untilEnd = (client: pg.Client) => new Promise<void>((resolve) => client.once('end', resolve));
const searches = ({ requested }: FakeServer) => requested.filter((name) => name === 'sitekeeper probe').length;

test.each(['in_hot_standby', 'default_transaction_read_only'] as const)('a host that reports %s is not used', async (name) => {
  const [first, second] = [await FakeServer.start({ ...primary, [name]: 'on' }), await FakeServer.start(primary)];
  const hosts = hostsOf(first, second);
  expect(await hosts.find()).toEqual(second.address);
  expect(await connect(hosts)).toMatchObject(second.address);
  expect(first.requested).toEqual(['sitekeeper probe']);
  await expect(connect(hostsOf(first))).rejects.toMatchObject(readOnly);
});

test('the host that was found is used without another search', async () => {
  const [first, second] = [await FakeServer.start(standby), await FakeServer.start(primary)];
  const hosts = hostsOf(first, second);
  for (let n = 0; n < 3; n++) await connect(hosts);
  expect([first, second].map(searches)).toEqual([1, 1]);
});

test('when a connection is lost, the next one goes to the new primary at once', async () => {
  const [first, second] = [await FakeServer.start(primary), await FakeServer.start(standby)];
  const hosts = hostsOf(first, second);
  const lost = untilEnd(await connect(hosts));
  [first.settings, second.settings] = [standby, primary];
  first.disconnectAll();
  await lost;
  expect(await connect(hosts)).toMatchObject(second.address);
});

test('when a new connection is rejected because the host is a standby now, the next one goes to the new primary', async () => {
  const [first, second] = [await FakeServer.start(primary), await FakeServer.start(standby)];
  const hosts = hostsOf(first, second);
  await connect(hosts);
  [first.settings, second.settings] = [standby, primary];
  await expect(connect(hosts)).rejects.toMatchObject(readOnly);
  expect(await connect(hosts)).toMatchObject(second.address);
});

/** A frozen primary with one open connection and one that is being opened, after another host has been found. */
async function failOver() {
  const [old, next] = [await FakeServer.start(primary), await FakeServer.start(standby)];
  const hosts = hostsOf(old, next);
  const open = await connect(hosts);
  old.isFrozen = true;
  const opening = connect(hosts);
  opening.catch(() => {}); // Each test decides what it expects.
  await expect.poll(() => old.requested).toHaveLength(3);
  next.settings = primary;
  hosts.forget(old.address);
  const closed = untilEnd(open);
  expect(await connect(hosts)).toMatchObject(next.address);
  return { old, next, hosts, opening, closed };
}

test('when another host is found, the connections to the old primary are closed, although it is frozen', async () => {
  const { closed } = await failOver();
  await closed;
});

test('a connection to the old primary that is opened after another host was found is rejected, although it accepts writes', async () => {
  const { old, opening } = await failOver();
  old.thaw();
  await expect(opening).rejects.toMatchObject(readOnly);
});

test('an old connection that fails does not make the service forget the new primary', async () => {
  const { old, next, hosts, opening, closed } = await failOver();
  old.disconnectAll();
  await closed;
  await expect(opening).rejects.toThrow();
  const before = searches(next);
  expect(await connect(hosts)).toMatchObject(next.address);
  expect(searches(next)).toBe(before);
});

test('while no host accepts writes, all who ask share a search, which takes a moment, and the next one finds a new primary', async () => {
  const [first, second] = [await FakeServer.start(standby), await FakeServer.start(standby)];
  const hosts = hostsOf(first, second);
  const startMs = performance.now();
  const found = await Promise.allSettled(Array.from({ length: 20 }, () => hosts.find()));
  expect(found.map(({ status }) => status)).toEqual(found.map(() => 'rejected'));
  expect([first, second].map(searches)).toEqual([1, 1]);
  // Otherwise requests that fail at once would search again and again. Timers can be a millisecond early.
  expect(performance.now() - startMs).toBeGreaterThan(245);
  second.settings = primary;
  expect(await hosts.find()).toEqual(second.address);
});

test('a host that begins no session is given up, so that a search without a primary ends', async () => {
  const [first, second] = [await FakeServer.start(standby), await FakeServer.start(primary)];
  second.isFrozen = true;
  const { message } = await hostsOf(first, second)
    .find()
    .then(
      () => new Error('A host was found.'),
      (error: Error) => error,
    );
  expect(message).toMatch(/^No host accepts writes \(127\.0\.0\.1:\d+: the server does not accept writes; 127\.0\.0\.1:\d+: timeout /);
}, 20_000);

test('the error of a search has the code of a host that is broken rather than that of a standby', async () => {
  const [first, second] = [await FakeServer.start(standby), await FakeServer.start(primary)];
  const hosts = hostsOf(first, second);
  second.close();
  await expect(hosts.find()).rejects.toMatchObject({ code: 'ECONNREFUSED' });
});
