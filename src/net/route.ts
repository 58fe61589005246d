import { createSocket } from 'node:dgram';
import { isIPv6 } from 'node:net';
import { toNetFault } from './net-fault.ts';

const anyPort = 9;

/** Fails where this machine knows no way to an address. Nothing is sent: to connect a datagram socket is a question to the kernel. */
export async function assertRoute(address: string): Promise<void> {
  const socket = createSocket(isIPv6(address) ? 'udp6' : 'udp4');
  try {
    await new Promise<void>((resolve, reject) => {
      socket.once('error', reject);
      socket.connect(anyPort, address, (error?: Error) => (error ? reject(error) : resolve()));
    });
  } catch (error) {
    throw toNetFault(error);
  } finally {
    socket.close();
  }
}
