import { connect, createServer, type Socket } from 'node:net';

/** Stands between the service and PostgreSQL, and stops at a chosen moment. */
export interface DatabaseProxy {
  url: string;
  /**
   * Resolves when the service has sent all of these, in this order, on one connection. From then on that connection is
   * silent: the last is not passed on, or, with `passOn`, only its answer is kept back.
   */
  holdAt(patterns: RegExp[], options?: { passOn?: boolean }): Promise<void>;
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

export async function startProxy(target: string): Promise<DatabaseProxy> {
  const { hostname, port } = new URL(target);
  const pairs = new Set<Pair>();
  let hold: { patterns: RegExp[]; passOn: boolean; reached(): void } | undefined;
  let silenced: RegExp | undefined;

  const listener = createServer((service) => {
    const server = connect(Number(port), hostname);
    const pair = { service, server, opening: '' };
    pairs.add(pair);
    let isSilent = false;
    let seen = 0;
    service.on('data', (data) => {
      const text = data.toString('latin1');
      pair.opening ||= text;
      if (hold?.patterns[seen]?.test(text)) seen++;
      if (hold && seen === hold.patterns.length) {
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
    holdAt: (patterns, { passOn = false } = {}) =>
      new Promise((resolve) => {
        hold = { patterns, passOn, reached: resolve };
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
