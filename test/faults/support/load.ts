import { Agent, type IncomingMessage, request } from 'node:http';
import { text } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import { type Elapsed, slowest, startStopwatch } from '../../support/stall.ts';

export interface TimedResponse extends Elapsed {
  /** 0 if there was no response. */
  status: number;
  contentType: string;
  body: string;
}

/** The results of a load so far. */
export interface LoadOutcome {
  responses: number;
  /** The number of responses by status. Status 0 means that the connection was refused or lost. */
  statuses: Record<number, number>;
  /** The number of 5xx responses that are not problem+json. */
  malformedErrors: number;
  slowest: Elapsed;
  /** The domains of the websites whose creation returned 201. */
  created: string[];
}

export interface Load {
  outcome: LoadOutcome;
  /** Sends no more requests, and resolves once every in-flight request is finished. */
  stop(): Promise<LoadOutcome>;
}

interface LoadOptions {
  connections?: number;
  perSecond?: number;
  /** Deletes each website right after its creation, so that lists do not grow. */
  deleteCreated?: boolean;
}

let loads = 0;

/** Sends reads, writes and invalid requests over persistent connections: at the given rate, or as fast as responses arrive. */
export function startLoad(
  url: string,
  key: string,
  { connections = 16, perSecond = Number.POSITIVE_INFINITY, deleteCreated = false }: LoadOptions = {},
): Load {
  const name = `load-${process.pid}-${++loads}`;
  const agent = new Agent({ keepAlive: true, maxSockets: connections });
  const outcome: LoadOutcome = { responses: 0, statuses: {}, malformedErrors: 0, slowest: { ms: 0, stallMs: 0 }, created: [] };
  const start = performance.now();
  let sent = 0;
  let stopped = false;

  async function sendNext(index: number) {
    const domain = `${name}-${index}.example`;
    const [method, path, form, otherKey = key] = requestKinds[index % requestKinds.length]?.(domain) ?? ['GET', '/healthz'];
    const response = await send(agent, url + path, { method, key: otherKey, ...(form && { form }) });
    count(response);
    if (response.status === 201) outcome.created.push(domain);
    if (response.status === 201 && deleteCreated) {
      count(await send(agent, `${url}/api/v1/websites/${JSON.parse(response.body).data.id}`, { method: 'DELETE', key }));
    }
    if (response.status === 0) await delay(20); // A refused connection fails at once. Without a delay this would be a busy loop.
  }

  function count({ status, contentType, ms, stallMs }: TimedResponse) {
    outcome.responses++;
    outcome.statuses[status] = (outcome.statuses[status] ?? 0) + 1;
    outcome.slowest = slowest([outcome.slowest, { ms, stallMs }]);
    if (status >= 500 && !contentType.startsWith('application/problem+json')) outcome.malformedErrors++;
  }

  const clients = Array.from({ length: connections }, async () => {
    while (!stopped) {
      const index = sent++;
      const aheadMs = (index / perSecond) * 1000 - (performance.now() - start);
      if (aheadMs > 0) await delay(aheadMs);
      await sendNext(index);
    }
  });
  return {
    outcome,
    async stop() {
      stopped = true;
      await Promise.all(clients);
      agent.destroy();
      return outcome;
    },
  };
}

type RequestKind = (domain: string) => [method: string, path: string, form?: string | undefined, key?: string];

const requestKinds: RequestKind[] = [
  () => ['GET', '/api/v1/websites?per_page=25'],
  (domain) => ['POST', '/api/v1/websites', `domain=${domain}`],
  () => ['GET', '/api/monitors'],
  (domain) => ['GET', `/api/v1/domains/${domain}`], // 404
  () => ['GET', '/api/keys'],
  () => ['POST', '/api/v1/websites', 'domain=localhost&privacy=3'], // 422
  () => ['GET', '/api/v1/websites?search=load&sort_by=domain&sort=asc'],
  () => ['GET', '/api/monitors', undefined, 'stkp_unknown'], // 401
];

/** Sends one request. The status is 0 if there is no response. */
export async function send(
  agent: Agent | undefined,
  url: string,
  { method = 'GET', key, form, headers = {} }: { method?: string; key?: string; form?: string; headers?: Record<string, string> } = {},
): Promise<TimedResponse> {
  const elapsed = startStopwatch();
  try {
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      const outgoing = request(url, {
        method,
        ...(agent && { agent }),
        headers: {
          ...(key && { Authorization: `Bearer ${key}` }),
          ...(form !== undefined && { 'Content-Type': 'application/x-www-form-urlencoded' }),
          ...headers,
        },
      });
      outgoing.on('response', resolve).on('error', reject).end(form);
    });
    const body = await text(response);
    const contentType = response.headers['content-type'] ?? '';
    return { status: response.statusCode ?? 0, contentType, body, ...elapsed() };
  } catch {
    return { status: 0, contentType: '', body: '', ...elapsed() };
  }
}
