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
        headers: {
          authorization: scenario.authorization ?? `Bearer ${key}`,
          ...(scenario.form && { 'content-type': 'application/x-www-form-urlencoded' }),
        },
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
