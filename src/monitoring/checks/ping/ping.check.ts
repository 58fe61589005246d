import { hostError } from '../../../net/addresses.ts';
import { Deadline } from '../../../net/deadline.ts';
import { NetworkError } from '../../../net/network-error.ts';
import { replySeconds } from '../../../net/ping.ts';
import { resolveHost } from '../../../net/resolve.ts';
import { assertRoute } from '../../../net/route.ts';
import type { MonitorCheck } from '../check.ts';
import { classifyFailure } from '../local-failure.ts';
import { pingHost } from './ping-host.ts';

/** Sends three echo requests to a host. */
export const pingCheck: MonitorCheck = {
  targetError(target, allowed) {
    const host = pingHost(target);
    if (host === undefined) return { code: 'invalid_target', message: 'must be a host name, an IP address or an http(s) URL' };
    const message = hostError(host, allowed);
    return message === undefined ? undefined : { code: 'address_not_allowed', message };
  },

  hostOf: (target) => pingHost(target)?.replace(/\.$/, '') ?? '',

  describe: ({ url, timeoutSeconds }) =>
    `Send 3 echo requests to ${pingHost(url)} and expect a reply within ${Math.min(timeoutSeconds, replySeconds)} s.`,

  /** Reports up if one of the echo requests gets a reply in time. The program that pings waits no longer than some seconds. */
  async run({ url, timeoutSeconds }, { net, pinger }) {
    const deadline = new Deadline(timeoutSeconds * 1000);
    try {
      const addresses = await deadline.limit(resolveHost(pingHost(url) ?? '', net), () => 'dns');
      const address = await firstWithRoute(addresses.map((resolved) => resolved.address));
      const response = await pinger.ping(address);
      if (response instanceof NetworkError) return classifyFailure(response);
      if (response === undefined) return { up: false, cause: 'no reply to 3 echo requests', statusCode: null, reply: 'none' };
      if (response <= timeoutSeconds * 1000) return { up: true, responseTimeMs: response };
      return { up: false, cause: `the reply took longer than ${timeoutSeconds} s`, statusCode: null, responseTimeMs: response };
    } catch (error) {
      return classifyFailure(error);
    } finally {
      deadline.clear();
    }
  },
};

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
