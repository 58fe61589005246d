import { once } from 'node:events';
import { Connection, hostOf } from './connection.ts';
import { Deadline } from './deadline.ts';
import { toNetworkError } from './network-error.ts';
import { type Net, resolveHost } from './resolve.ts';

/** Opens a connection to the host and port of a URL from a user, and closes it. Throws NetworkError if it does not open. */
export async function openTcpConnection(url: URL, timeoutMs: number, net: Net): Promise<void> {
  const deadline = new Deadline(timeoutMs);
  try {
    const addresses = await deadline.limit(resolveHost(hostOf(url), net), () => 'dns');
    const { socket } = new Connection(url, addresses);
    await deadline.limit(once(socket, 'connect'), () => 'connect').finally(() => socket.destroy());
  } catch (error) {
    throw toNetworkError(error);
  } finally {
    deadline.clear();
  }
}
