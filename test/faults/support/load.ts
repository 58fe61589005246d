import { Agent, type IncomingMessage, request } from 'node:http';
import { text } from 'node:stream/consumers';
import { setTimeout as pause } from 'node:timers/promises';

export interface Answered {
  status: number;
  contentType: string;
  body: string;
  ms: number;
}

/** What a load has brought about so far. */
export interface Outcome {
  answers: number;
  /** How many of each status; 0 where the connection was refused or broke. */
  statuses: Record<number, number>;
  /** Answers of 500 and above that are no problem+json. */
  shapeless: number;
  slowestMs: number;
  /** Domains of websites whose creation was answered with 201. */
  created: string[];
}

export interface Load {
  outcome: Outcome;
  /** Resolves when everything under way is answered. */
  stop(): Promise<Outcome>;
}

interface LoadOptions {
  connections?: number;
  perSecond?: number;
  /** Deletes what it made, so that lists do not grow. */
  tidy?: boolean;
}

let loads = 0;

/** Readers, writers and those who are refused, over a few kept connections, as quickly as answers come or at a set rate. */
export function startLoad(
  url: string,
  key: string,
  { connections = 16, perSecond = Number.POSITIVE_INFINITY, tidy = false }: LoadOptions = {},
): Load {
  const name = `load-${process.pid}-${++loads}`;
  const agent = new Agent({ keepAlive: true, maxSockets: connections });
  const outcome: Outcome = { answers: 0, statuses: {}, shapeless: 0, slowestMs: 0, created: [] };
  const start = performance.now();
  let sent = 0;
  let stopped = false;

  async function one(turn: number) {
    const domain = `${name}-${turn}.example`;
    const [method, path, form, sentKey = key] = kinds[turn % kinds.length]?.(domain) ?? ['GET', '/healthz'];
    const answer = await send(agent, url + path, { method, key: sentKey, ...(form && { form }) });
    note(answer);
    if (answer.status === 201) outcome.created.push(domain);
    if (answer.status === 201 && tidy) {
      note(await send(agent, `${url}/api/v1/websites/${JSON.parse(answer.body).data.id}`, { method: 'DELETE', key }));
    }
    if (answer.status === 0) await pause(20); // refused at once: not to spin
  }

  function note({ status, contentType, ms }: Answered) {
    outcome.answers++;
    outcome.statuses[status] = (outcome.statuses[status] ?? 0) + 1;
    outcome.slowestMs = Math.max(outcome.slowestMs, ms);
    if (status >= 500 && !contentType.startsWith('application/problem+json')) outcome.shapeless++;
  }

  const clients = Array.from({ length: connections }, async () => {
    while (!stopped) {
      const turn = sent++;
      const aheadMs = (turn / perSecond) * 1000 - (performance.now() - start);
      if (aheadMs > 0) await pause(aheadMs);
      await one(turn);
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

type Kind = (domain: string) => [method: string, path: string, form?: string | undefined, key?: string];

const kinds: Kind[] = [
  () => ['GET', '/api/v1/websites?per_page=25'],
  (domain) => ['POST', '/api/v1/websites', `domain=${domain}`],
  () => ['GET', '/api/monitors'],
  (domain) => ['GET', `/api/v1/domains/${domain}`], // 404
  () => ['GET', '/api/keys'],
  () => ['POST', '/api/v1/websites', 'domain=localhost&privacy=3'], // 422
  () => ['GET', '/api/v1/websites?search=load&sort_by=domain&sort=asc'],
  () => ['GET', '/api/monitors', undefined, 'stkp_unknown'], // 401
];

/** One request. Where no answer comes the status is 0. */
export async function send(
  agent: Agent | undefined,
  url: string,
  { method = 'GET', key, form, headers = {} }: { method?: string; key?: string; form?: string; headers?: Record<string, string> } = {},
): Promise<Answered> {
  const start = performance.now();
  try {
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      const sending = request(url, {
        method,
        ...(agent && { agent }),
        headers: {
          ...(key && { Authorization: `Bearer ${key}` }),
          ...(form !== undefined && { 'Content-Type': 'application/x-www-form-urlencoded' }),
          ...headers,
        },
      });
      sending.on('response', resolve).on('error', reject).end(form);
    });
    const body = await text(response);
    const contentType = response.headers['content-type'] ?? '';
    return { status: response.statusCode ?? 0, contentType, body, ms: performance.now() - start };
  } catch {
    return { status: 0, contentType: '', body: '', ms: performance.now() - start };
  }
}
