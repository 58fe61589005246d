import { setTimeout as delay } from 'node:timers/promises';
import { NetworkError } from '../../net/network-error.ts';
import type { Pinger } from '../../net/ping.ts';
import { type Net, resolveHost } from '../../net/resolve.ts';
import { assertRoute } from '../../net/route.ts';
import type { CheckResult } from '../engine/transition.ts';
import { pingHost } from '../monitors/monitor.target.ts';
import { classifyFailure, type LocalFailure } from './local-failure.ts';

const timeoutMs = 10_000;

/** Reports up if one of three echo requests gets a reply. */
export async function checkPing(target: string, net: Net, pinger: Pinger): Promise<CheckResult | LocalFailure> {
  try {
    const addresses = await Promise.race([resolveHost(pingHost(target) ?? '', net), dnsTimeout()]);
    const address = await firstWithRoute(addresses.map((resolved) => resolved.address));
    const response = await pinger.ping(address);
    if (response instanceof NetworkError) return classifyFailure(response);
    if (response !== undefined) return { up: true, responseTimeMs: response };
    return { up: false, cause: 'no reply to 3 echo requests', statusCode: null };
  } catch (error) {
    return classifyFailure(error);
  }
}

async function dnsTimeout(): Promise<never> {
  await delay(timeoutMs, undefined, { ref: false });
  throw new NetworkError('local', `DNS did not respond within ${timeoutMs / 1000} s`);
}

/** Returns the first address with a route. Ping programs report a missing route and a silent host in the same way. */
async function firstWithRoute([first = '', ...others]: string[]): Promise<string> {
  try {
    await assertRoute(first);
    return first;
  } catch (error) {
    if (others.length > 0) return firstWithRoute(others);
    throw error;
  }
}
