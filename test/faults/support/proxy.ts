import { connect, createServer, type Socket } from 'node:net';

/** Stands between the service and PostgreSQL, and stops at a chosen moment. */
export interface Proxy {
  url: string;
  /**
   * Resolves when the service sends what matches. From then on that connection is silent: what matched is not passed on,
   * or, with `passOn`, only its answer is kept back.
   */
  holdAt(pattern: RegExp, options?: { passOn?: boolean }): Promise<void>;
  /** Connections that sent what matches, now or later, hear nothing any more and do not notice. */
  silence(pattern: RegExp): void;
  close(): Promise<void>;
}

interface Pair {
  service: Socket;
  server: Socket;
  /** The first packet: who connects, and by what name. */
  opening: string;
}

export async function startProxy(target: string): Promise<Proxy> {
  const { hostname, port } = new URL(target);
  const pairs = new Set<Pair>();
  let hold: { pattern: RegExp; passOn: boolean; reached(): void } | undefined;
  let silenced: RegExp | undefined;

  const listener = createServer((service) => {
    const server = connect(Number(port), hostname);
    const pair = { service, server, opening: '' };
    pairs.add(pair);
    let isSilent = false;
    service.on('data', (data) => {
      pair.opening ||= data.toString('latin1');
      if (hold?.pattern.test(data.toString('latin1'))) {
        isSilent = true;
        if (hold.passOn) server.write(data);
        hold.reached();
        hold = undefined;
      } else if (!isSilent) server.write(data);
    });
    server.on('data', (data) => {
      if (!isSilent && !silenced?.test(pair.opening)) service.write(data);
    });
    for (const [one, other] of [
      [service, server],
      [server, service],
    ] as const) {
      one.on('error', () => {});
      one.on('close', () => {
        pairs.delete(pair);
        other.destroy();
      });
    }
  });
  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve));
  const url = new URL(target);
  url.port = String((listener.address() as { port: number }).port);
  return {
    url: url.href,
    holdAt: (pattern, { passOn = false } = {}) =>
      new Promise((resolve) => {
        hold = { pattern, passOn, reached: resolve };
      }),
    silence(pattern) {
      silenced = pattern;
    },
    async close() {
      for (const { service } of pairs) service.destroy();
      await new Promise((resolve) => listener.close(resolve));
    },
  };
}
