import { once } from 'node:events';
import { createServer } from 'node:net';

/**
 * Returns free ports below the range from which outgoing connections get theirs. Otherwise such a connection could take the port
 * of a server while it restarts.
 */
export async function reservePorts(count: number): Promise<number[]> {
  const ports = new Set<number>();
  while (ports.size < count) {
    const port = 20_000 + Math.floor(Math.random() * 12_000);
    if (await isFree(port)) ports.add(port);
  }
  return [...ports];
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer().listen(port, '127.0.0.1');
  try {
    await once(server, 'listening');
    return true;
  } catch {
    return false;
  } finally {
    server.close();
  }
}
