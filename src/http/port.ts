import { lookup } from 'node:dns/promises';
import { connect, createServer, type Server } from 'node:net';

/** The server cannot listen. The message tells the operator what to change. */
export class ListenError extends Error {
  /** Whether another process listens on the port. */
  readonly isInUse: boolean;

  constructor(message: string, { isInUse }: { isInUse: boolean }) {
    super(message);
    this.isInUse = isInUse;
  }
}

export interface ListenOptions {
  host: string;
  port: number;
  publicUrl?: string;
  /** What the operator can do if the port is in use. */
  remedy?: string;
}

/**
 * Checks that the port is free before anything is changed, and chooses one for port 0. It does not listen yet: until the
 * service is ready, connections should be refused, so that proxies try another process. Workers of a cluster share a port that was checked.
 */
export async function chooseAddress({ host, port, publicUrl }: ListenOptions, isShared = false) {
  if (port !== 0 && !isShared) await requireFreePort({ host, port });
  const chosen = port === 0 && !isShared ? await findFreePort(host) : port;
  return { host, port: chosen, publicUrl: publicUrl ?? urlOf(host, chosen) };
}

/** They are below those that systems choose for outgoing connections, which could take the port before the service listens on it. */
const choosablePorts = { first: 10_000, count: 20_000 };

async function findFreePort(host: string, attempts = 20): Promise<number> {
  const port = choosablePorts.first + Math.floor(Math.random() * choosablePorts.count);
  const server = createServer();
  try {
    await bind(server, { host, port, exclusive: true });
  } catch (error) {
    if (!(error instanceof ListenError && error.isInUse) || attempts === 1) throw error;
    return findFreePort(host, attempts - 1);
  }
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/**
 * Binds the port, but does not listen on it: a proxy that connects in this moment would send a request, and lose it when the
 * port is closed again. Node binds without listening only for an outgoing connection, so this one is to the port itself.
 * Whether it succeeds does not matter.
 */
async function requireFreePort(options: ListenOptions): Promise<void> {
  const { host, port } = options;
  const { address } = await lookup(host).catch((error: Error) => {
    throw listenError(error, options);
  });
  const socket = connect({ host: address, port, localAddress: address, localPort: port });
  const error = await new Promise<NodeJS.ErrnoException | undefined>((resolve) => {
    socket.once('error', resolve).once('connect', () => resolve(undefined));
  });
  socket.resetAndDestroy(); // A normal close would keep the port in use for a minute.
  if (error?.syscall === 'bind') throw listenError(error, options);
}

export function bind(server: Server, { exclusive, ...options }: ListenOptions & { exclusive?: boolean }): Promise<void> {
  const { host, port } = options;
  return new Promise((resolve, reject) => {
    server.once('error', (error) => reject(listenError(error, options)));
    server.listen({ host, port, ...(exclusive && { exclusive }) }, resolve);
  });
}

function listenError(
  error: NodeJS.ErrnoException,
  { host, port, remedy = 'set HOST or PORT to another value' }: ListenOptions,
): ListenError {
  const isInUse = error.code === 'EADDRINUSE';
  const message = isInUse
    ? `Port ${port} on ${host} is already in use. Stop the other process, or ${remedy}.`
    : `Cannot listen on port ${port} of ${host}: ${error.message}. HOST must be an address of this machine.`;
  return new ListenError(message, { isInUse });
}

/** A server that listens on all addresses is reached as localhost on this machine. */
export function urlOf(host: string, port: number): string {
  if (host === '0.0.0.0' || host === '::') return `http://localhost:${port}`;
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
}
