import autocannon from 'autocannon';
import type { Contender } from './contender.ts';
import type { Scenario } from './scenarios.ts';

export interface Measured {
  perSecond: number;
  cpuMicroseconds: number;
}

const connections = 16;

/** Fires at one contender for a while; any other answer than the expected one is a fault of the bench. */
export async function fire(contender: Contender, scenario: Scenario, key: string, seconds: number): Promise<Measured> {
  const isLimit = contender.name === 'limit';
  const before = contender.cpuSeconds();
  const result = await autocannon({
    url: contender.url,
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
  const cpu = contender.cpuSeconds() - before;
  const expected = isLimit && scenario.limitPath ? 200 : scenario.status;
  const others = Object.entries(result.statusCodeStats ?? {})
    .filter(([status]) => Number(status) !== expected)
    .reduce((sum, [, { count = 0 }]) => sum + count, 0);
  // One a minute is within the limit.
  if (others > (scenario.overLimit ? 1 : 0) || result.errors > 0) {
    const headers = { Authorization: scenario.authorization ?? `Bearer ${key}` };
    const sample = await (await fetch(contender.url + scenario.path, { headers })).text();
    throw new Error(`${contender.name}, ${scenario.name}: ${JSON.stringify(result.statusCodeStats)}, such as ${sample}`);
  }
  return { perSecond: result.requests.total / result.duration, cpuMicroseconds: (cpu / result.requests.total) * 1e6 };
}
