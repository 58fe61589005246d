import { connect, createServer, type Socket } from 'node:net';

/** A TCP proxy between the service and PostgreSQL that can stop forwarding at a chosen moment. */
export interface DatabaseProxy {
  url: string;
  /**
   * Resolves once the service has sent all of these patterns, in this order, on one connection. From then on nothing is
   * forwarded on that connection. The packet with the last pattern is withheld, or forwarded with `forwardLast`.
   */
  holdAt(patterns: RegExp[], options?: { forwardLast?: boolean }): Promise<void>;
  /**
   * Withholds everything that the server sends on connections whose first packet matches, existing ones and new ones. The
   * service cannot tell, because the connections stay open.
   */
  silence(pattern: RegExp): void;
  /** Takes the database away: closes every connection, and each new one at once. */
  cut(): void;
  restore(): void;
  close(): Promise<void>;
}

interface ProxiedConnection {
  service: Socket;
  server: Socket;
  /** Contains the user, the database and the application name. */
  startupPacket: string;
}

export async function startProxy(target: string): Promise<DatabaseProxy> {
  const { hostname, port } = new URL(target);
  const connections = new Set<ProxiedConnection>();
  let hold: { patterns: RegExp[]; forwardLast: boolean; onReached(): void } | undefined;
  let silenced: RegExp | undefined;
  let isCut = false;

  const closeAll = () => {
    for (const { service } of connections) service.destroy();
  };
  const listener = createServer((service) => {
    if (isCut) return void service.destroy();
    const server = connect(Number(port), hostname);
    const connection = { service, server, startupPacket: '' };
    connections.add(connection);
    let isHeld = false;
    let matched = 0;
    service.on('data', (data) => {
      const text = data.toString('latin1');
      connection.startupPacket ||= text;
      if (hold?.patterns[matched]?.test(text)) matched++;
      if (hold && matched === hold.patterns.length) {
        isHeld = true;
        if (hold.forwardLast) server.write(data);
        hold.onReached();
        hold = undefined;
      } else if (!isHeld) server.write(data);
    });
    server.on('data', (data) => {
      if (!isHeld && !silenced?.test(connection.startupPacket)) service.write(data);
    });
    for (const [one, other] of [
      [service, server],
      [server, service],
    ] as const) {
      one.on('error', () => {});
      one.on('close', () => {
        connections.delete(connection);
        other.destroy();
      });
    }
  });
  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve));
  const url = new URL(target);
  url.port = String((listener.address() as { port: number }).port);
  return {
    url: url.href,
    holdAt: (patterns, { forwardLast = false } = {}) =>
      new Promise((resolve) => {
        hold = { patterns, forwardLast, onReached: resolve };
      }),
    silence(pattern) {
      silenced = pattern;
    },
    cut() {
      isCut = true;
      closeAll();
    },
    restore() {
      isCut = false;
    },
    async close() {
      closeAll();
      await new Promise((resolve) => listener.close(resolve));
    },
  };
}
