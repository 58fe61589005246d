// What monitors of every type watch, with a way to break it and to repair it.
import { createServer } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { scripts, startWebServer } from '../../support/web-server.ts';

export interface Watched {
  name: string;
  /** What its monitor is created with. */
  fields: Record<string, unknown>;
  /** The cause of its incidents. */
  cause: string;
  break(): void | Promise<void>;
  repair(): void | Promise<void>;
}

/** Starts a web server whose pages break one by one: a plain one with its status, and one with options with its body. */
export async function startPages() {
  const broken = new Set<string>();
  const [fine, failing, apology] = [scripts.respond('{"pong":true}'), scripts.respond('broken', 503), scripts.respond('sorry')];
  const server = await startWebServer({
    script(request, response) {
      const whenBroken = request.headers['x-secret'] === 'hidden' ? apology : failing;
      (broken.has(request.path) ? whenBroken : fine)(request, response);
    },
  });
  const page = (name: string, http: object | undefined, cause: string): Watched => ({
    name,
    fields: { url: `${server.url}/${name}`, ...(http && { http, confirmations: 1, timeout_seconds: 5 }) },
    cause,
    break: () => void broken.add(`/${name}`),
    repair: () => void broken.delete(`/${name}`),
  });
  const options = {
    method: 'POST',
    headers: [{ name: 'X-Secret', value: 'hidden', secret: true }],
    body: 'ping',
    body_contains: 'pong',
    json: { pointer: '/pong', equals: true },
  };
  return {
    plain: (name: string) => page(name, undefined, 'HTTP 503'),
    withOptions: (name: string) => page(name, options, 'the body does not contain "pong"'),
    close: () => server.close(),
  };
}

/** Starts a server whose port is closed while it is broken. No other program uses its address. */
export async function startPort(name: string): Promise<Watched & { close(): void }> {
  const host = '127.0.0.77';
  const server = createServer((socket) => socket.on('error', () => {}).end());
  const listen = (port: number) => new Promise<void>((resolve) => server.listen(port, host, resolve));
  await listen(0);
  const { port } = server.address() as { port: number };
  return {
    name,
    fields: { type: 'tcp', url: `tcp://${host}:${port}` },
    cause: 'connection refused',
    break: () => void server.close(),
    repair: () => listen(port),
    close: () => void server.close(),
  };
}

export const answersPing = (name: string): Watched => ({
  name,
  fields: { type: 'ping', url: '127.0.0.1' },
  cause: '',
  break: () => Promise.reject(new Error('Loopback always answers.')),
  repair: () => {},
});

const betweenHeartbeatsMs = 5000;
/** A request that was given up may still be processed, once a frozen database continues. It must not follow the next one. */
const settleMs = 8000;

/** A job that sends heartbeats. A broken one is silent, or reports its failure. */
export class Job implements Watched {
  readonly name: string;
  readonly fields = { type: 'heartbeat', heartbeat: { grace_seconds: 30 } };
  readonly cause: string;
  readonly #services: string[];
  readonly #reports: boolean;
  #path = '';
  #sending = Promise.resolve();
  #isBroken = false;
  #isStopped = false;

  /** Sends to the first of the services that accepts a heartbeat. */
  constructor(name: string, { services, reports }: { services: string[]; reports: boolean }) {
    this.name = name;
    this.#services = services;
    this.#reports = reports;
    this.cause = reports ? 'the job reported a failure' : 'no heartbeat for 1 min';
  }

  async run(heartbeatUrl: string) {
    this.#path = new URL(heartbeatUrl).pathname;
    while (!this.#isStopped) {
      if (!this.#isBroken) await this.#send('');
      await delay(betweenHeartbeatsMs);
    }
  }

  async break() {
    this.#isBroken = true;
    if (!this.#reports) return;
    await delay(settleMs);
    await this.#send('/fail');
  }

  async repair() {
    await delay(settleMs);
    this.#isBroken = false;
  }

  stop() {
    this.#isStopped = true;
  }

  /** One after the other, in the order of the calls. */
  #send(suffix: string): Promise<void> {
    this.#sending = this.#sending.then(() => this.#sendUntilAccepted(suffix));
    return this.#sending;
  }

  async #sendUntilAccepted(suffix: string) {
    for (let attempt = 0; !this.#isStopped; attempt++) {
      const url = this.#services[attempt % this.#services.length] + this.#path + suffix;
      const response = await fetch(url, { method: 'POST', signal: AbortSignal.timeout(3000) }).catch(() => undefined);
      if (response?.ok) return;
      await delay(200);
    }
  }
}
