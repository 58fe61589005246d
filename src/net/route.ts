import { createSocket } from 'node:dgram';
import { isIPv6 } from 'node:net';
import { toNetworkError } from './network-error.ts';

const discardPort = 9;

/** Throws if this machine has no route to an address. Connecting a datagram socket sends nothing; it only asks the kernel. */
export async function assertRoute(address: string): Promise<void> {
  const socket = createSocket(isIPv6(address) ? 'udp6' : 'udp4');
  try {
    await new Promise<void>((resolve, reject) => {
      socket.once('error', reject);
      socket.connect(discardPort, address, (error?: Error) => (error ? reject(error) : resolve()));
    });
  } catch (error) {
    throw toNetworkError(error);
  } finally {
    socket.close();
  }
}
