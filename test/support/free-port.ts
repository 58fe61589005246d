import { once } from 'node:events';
import { createServer } from 'node:net';

/**
 * Returns a port that nobody listens on at the moment. It is below those that systems choose for outgoing connections, so it stays free,
 * also while the server that it is for restarts.
 */
export async function freePort(attempts = 20): Promise<number> {
  const port = 10_000 + Math.floor(Math.random() * 20_000);
  const server = createServer().listen(port, '127.0.0.1');
  try {
    await once(server, 'listening');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE' || attempts === 1) throw error;
    return freePort(attempts - 1);
  }
  server.close();
  await once(server, 'close');
  return port;
}
