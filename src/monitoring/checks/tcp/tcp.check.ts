import { hostError } from '../../../net/addresses.ts';
import { NetworkError } from '../../../net/network-error.ts';
import { openTcpConnection } from '../../../net/tcp-connection.ts';
import type { MonitorCheck } from '../check.ts';
import { classifyFailure } from '../local-failure.ts';

/** Opens a TCP connection. */
export const tcpCheck: MonitorCheck = {
  targetError(target, allowed) {
    const url = tcpUrl(target);
    if (!url) return { code: 'invalid_target', message: 'must be tcp://, a host, a colon and a port, such as tcp://db.example.org:5432' };
    const message = hostError(url.hostname, allowed);
    return message === undefined ? undefined : { code: 'address_not_allowed', message };
  },

  hostOf: (target) => tcpUrl(target)?.hostname.replace(/\.$/, '') ?? '',

  describe: ({ url, timeoutSeconds }) => `Open a TCP connection to ${url.replace(/^tcp:\/\/|\/$/gi, '')} within ${timeoutSeconds} s.`,

  /** Reports up if the connection opens. */
  async run({ url, timeoutSeconds }, { net }) {
    const start = performance.now();
    try {
      const address = tcpUrl(url);
      if (!address) throw new NetworkError('protocol', 'the URL is not a TCP address');
      await openTcpConnection(address, timeoutSeconds * 1000, net);
      return { up: true, responseTimeMs: performance.now() - start };
    } catch (error) {
      return classifyFailure(error);
    }
  },
};

/** Returns a URL with the host and the port. It is one of http, because a URL parser normalizes only hosts that it knows. */
function tcpUrl(text: string): URL | undefined {
  const [, host = '', port = ''] = /^tcp:\/\/([^/?#@%\\\s]+):(\d{1,5})\/?$/i.exec(text) ?? [];
  const url = URL.parse(`http://${host}:${port}`);
  // An IPv6 address without brackets would lose its last part to the port.
  const isAmbiguous = host.includes(':') && !host.startsWith('[');
  return url && !isAmbiguous && host !== '' && Number(port) > 0 ? url : undefined;
}
