import { Agent, request } from 'node:http';
import autocannon from 'autocannon';
import type { Scenario } from './scenarios.ts';

export interface Measured {
  perSecond: number;
  cpuMicroseconds: number;
  p99Ms: number;
}

/** What receives the requests: a contender, or a proxy in front of several. */
export interface Target {
  name: string;
  url: string;
  cpuSeconds(): number;
}

const connections = 16;
const agent = new Agent({ keepAlive: true, maxSockets: connections });

export type Burst = Pick<Measured, 'perSecond' | 'cpuMicroseconds'>;

/** Sends a number of requests to one target. It starts and stops at once, unlike autocannon, which counts in whole seconds. */
export async function fireBurst(target: Target, scenario: Scenario, key: string, requests: number): Promise<Burst> {
  const [cpuBefore, startedMs] = [target.cpuSeconds(), performance.now()];
  let left = requests;
  const worker = async () => {
    while (left-- > 0) {
      const status = await send(target, scenario, key);
      // The first request of each minute is within the limit.
      const isExpected = status === scenario.status || (scenario.overLimit && status === 200);
      if (!isExpected) throw new Error(`${target.name}, ${scenario.name}: status ${status}`);
    }
  };
  await Promise.all(Array.from({ length: connections }, worker));
  const seconds = (performance.now() - startedMs) / 1000;
  return { perSecond: requests / seconds, cpuMicroseconds: ((target.cpuSeconds() - cpuBefore) / requests) * 1e6 };
}

function send(target: Target, scenario: Scenario, key: string): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const sent = request(target.url + scenario.path, { agent, method: scenario.method, headers: headersOf(scenario, key) }, (response) => {
      response.resume().on('end', () => resolve(response.statusCode));
    });
    sent.on('error', reject).end(scenario.form?.());
  });
}

function headersOf(scenario: Scenario, key: string): Record<string, string> {
  return {
    authorization: scenario.authorization ?? `Bearer ${key}`,
    ...(scenario.form && { 'content-type': 'application/x-www-form-urlencoded' }),
  };
}

/** Sends requests to one target for the given time. An unexpected status makes the measurement useless, so it throws. */
export async function fire(target: Target, scenario: Scenario, key: string, maxSeconds: number): Promise<Measured> {
  const seconds = Math.min(maxSeconds, scenario.atMostSeconds ?? maxSeconds);
  const isLimit = target.name === 'limit';
  const before = target.cpuSeconds();
  const result = await autocannon({
    url: target.url,
    connections,
    duration: seconds,
    requests: [
      {
        method: scenario.method,
        path: isLimit ? (scenario.limitPath ?? scenario.path) : scenario.path,
        headers: headersOf(scenario, key),
        ...(scenario.form && { setupRequest: (request: object) => ({ ...request, body: scenario.form?.() }) }),
      },
    ],
  });
  const cpu = target.cpuSeconds() - before;
  const expected = isLimit && scenario.limitPath ? 200 : scenario.status;
  const unexpected = Object.entries(result.statusCodeStats ?? {})
    .filter(([status]) => Number(status) !== expected)
    .reduce((sum, [, { count = 0 }]) => sum + count, 0);
  // The first request of each minute is within the limit.
  if (unexpected > (scenario.overLimit ? 1 : 0) || result.errors > 0) {
    const headers = { Authorization: scenario.authorization ?? `Bearer ${key}` };
    const sample = await (await fetch(target.url + scenario.path, { headers })).text();
    throw new Error(`${target.name}, ${scenario.name}: ${JSON.stringify(result.statusCodeStats)}. A request now returns: ${sample}`);
  }
  return {
    perSecond: result.requests.total / result.duration,
    cpuMicroseconds: (cpu / result.requests.total) * 1e6,
    p99Ms: result.latency.p99,
  };
}
