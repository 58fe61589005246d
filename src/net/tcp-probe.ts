import { connect } from 'node:net';
import { NetworkError, toNetworkError } from './network-error.ts';
import { anywhere, lookUpAll, type Net, resolveHost } from './resolve.ts';

/** A host and a port that the operator has named. */
export type TcpAddress = Readonly<{ host: string; port: number }>;

/** Whether anything replies at an address in time: accepting a connection counts, and so does refusing it. */
export async function repliesToTcp({ host, port }: TcpAddress, timeoutMs: number, lookup: Net['lookup'] = lookUpAll): Promise<boolean> {
  const deadline = AbortSignal.timeout(timeoutMs);
  const interrupted = new Promise<never>((_, reject) => deadline.addEventListener('abort', () => reject(deadline.reason), { once: true }));
  // Not with getaddrinfo, which would block a thread as long as DNS is silent.
  const resolved = await Promise.race([resolveHost(host, { allow: anywhere.allow, lookup }), interrupted]).catch(() => []);
  // The other addresses of a host may be silent, such as those of IPv6 on a machine without it.
  const replies = resolved.map(({ address }) => replyFrom(address, port, deadline));
  return Promise.any(replies).then(
    () => true,
    () => false,
  );
}

/** Rejects if there is none. */
function replyFrom(host: string, port: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port, signal });
    socket.once('connect', () => {
      socket.destroy();
      resolve();
    });
    socket.once('error', (error) => {
      const converted = toNetworkError(error);
      if (converted instanceof NetworkError && converted.isReply) resolve();
      else reject(error);
    });
  });
}
