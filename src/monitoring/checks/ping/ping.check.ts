import { setTimeout as delay } from 'node:timers/promises';
import { hostError } from '../../../net/addresses.ts';
import { timedOut } from '../../../net/deadline.ts';
import { NetworkError } from '../../../net/network-error.ts';
import { resolveHost } from '../../../net/resolve.ts';
import { assertRoute } from '../../../net/route.ts';
import type { MonitorCheck } from '../check.ts';
import { classifyFailure } from '../local-failure.ts';
import { pingHost } from './ping-host.ts';

const timeoutMs = 10_000;

/** Sends three echo requests to a host. */
export const pingCheck: MonitorCheck = {
  targetError(target, allowed) {
    const host = pingHost(target);
    if (host === undefined) return { code: 'invalid_target', message: 'must be a host name, an IP address or an http(s) URL' };
    const message = hostError(host, allowed);
    return message === undefined ? undefined : { code: 'address_not_allowed', message };
  },

  hostOf: (target) => pingHost(target)?.replace(/\.$/, '') ?? '',

  /** Reports up if one of the echo requests gets a reply. */
  async run({ url }, { net, pinger }) {
    try {
      const addresses = await Promise.race([resolveHost(pingHost(url) ?? '', net), dnsTimeout()]);
      const address = await firstWithRoute(addresses.map((resolved) => resolved.address));
      const response = await pinger.ping(address);
      if (response instanceof NetworkError) return classifyFailure(response);
      if (response !== undefined) return { up: true, responseTimeMs: response };
      return { up: false, cause: 'no reply to 3 echo requests', statusCode: null, reply: 'none' };
    } catch (error) {
      return classifyFailure(error);
    }
  },
};

async function dnsTimeout(): Promise<never> {
  await delay(timeoutMs, undefined, { ref: false });
  throw timedOut(timeoutMs, 'dns');
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
