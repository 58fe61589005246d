// A Unix domain socket over which operator commands reach the running service. A request is one line of JSON. The response is a
// line for each message of the command, and one with its output or its error. Empty lines show that the command is still running.
import { chmod, rm } from 'node:fs/promises';
import { createConnection, createServer, type Socket } from 'node:net';
import { createInterface } from 'node:readline';
import { OperatorError, UsageError } from '../errors.ts';

/** What a command can do besides returning its output. */
export interface CommandConnection {
  /** Sends a line that the client prints while the command runs. */
  progress(line: string): void;
  /** Aborted when the client has gone or the service stops. */
  signal: AbortSignal;
}

export type RequestHandler = (request: unknown, connection: CommandConnection) => Promise<unknown>;

interface ResponseLine {
  progress?: string;
  output?: unknown;
  error?: { message: string; isUsage: boolean };
}

const maxRequestBytes = 64 * 1024;
const maxClients = 32;
/** How long a client may take to send its request, and to close the connection after the response. */
const clientTimeoutMs = 5000;
const keepAliveMs = 5000;
/** The embedded database runs in the thread of the service, which sends nothing during a long statement. */
const silenceMs = 60_000;

/** Serves requests at this path, to the user of this process and to root, until it is closed. */
export async function serveCommands(path: string, handle: RequestHandler): Promise<{ close(): Promise<void> }> {
  const stopping = new AbortController();
  const running = new Set<Promise<void>>();
  const server = createServer((socket) => {
    const served = serveClient(socket, handle, stopping.signal).finally(() => running.delete(served));
    running.add(served);
  });
  server.maxConnections = maxClients;
  // A killed process leaves its socket behind. Only the process that has locked the directory gets here.
  await rm(path, { force: true });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(path, resolve);
  });
  await chmod(path, 0o600);
  return {
    async close() {
      stopping.abort(new OperatorError('The service is shutting down.'));
      // This also deletes the file.
      server.close();
      await Promise.all(running);
    },
  };
}

/** Serves one request. Whatever the client does, only its own connection ends. */
async function serveClient(socket: Socket, handle: RequestHandler, stopping: AbortSignal): Promise<void> {
  const gone = new AbortController();
  socket.on('error', () => {}); // A 'close' event follows.
  socket.once('close', () => gone.abort(new OperatorError('The client has closed the connection.')));
  const send = (line: ResponseLine) => socket.write(`${JSON.stringify(line)}\n`);
  socket.setTimeout(clientTimeoutMs, () => socket.destroy());
  const dropIdle = () => socket.destroy();
  stopping.addEventListener('abort', dropIdle);
  const text = await readRequest(socket);
  stopping.removeEventListener('abort', dropIdle);
  if (text === undefined) return;
  socket.setTimeout(0);
  const keepAlive = setInterval(() => socket.write('\n'), keepAliveMs);
  try {
    const connection = { progress: (line: string) => send({ progress: line }), signal: AbortSignal.any([stopping, gone.signal]) };
    send({ output: await handle(JSON.parse(text), connection) });
  } catch (error) {
    send({ error: { message: error instanceof Error ? error.message : String(error), isUsage: error instanceof UsageError } });
  } finally {
    clearInterval(keepAlive);
    socket.setTimeout(clientTimeoutMs);
    socket.end();
  }
}

/** Resolves with the first line, or with undefined if there is none or if it is too long. */
function readRequest(socket: Socket): Promise<string | undefined> {
  return new Promise((resolve) => {
    let text = '';
    socket.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk;
      const end = text.indexOf('\n');
      if (end < 0 && text.length <= maxRequestBytes) return;
      socket.removeAllListeners('data').resume();
      if (end < 0) socket.destroy();
      resolve(end < 0 ? undefined : text.slice(0, end));
    });
    socket.once('close', () => resolve(undefined));
  });
}

/** Returns whether a service listens at this path. None ever does if the path is too long for a socket. */
export async function isListening(path: string): Promise<'yes' | 'no' | 'never'> {
  try {
    (await connect(path)).destroy();
    return 'yes';
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    if (isPathTooLong(error)) return 'never';
    if (['ENOENT', 'ECONNREFUSED', 'ENOTDIR', 'ENOTSOCK'].includes(code)) return 'no';
    throw error;
  }
}

/** Whether a socket cannot be used because of its path. Linux allows 107 bytes, other systems less. */
export function isPathTooLong(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === 'EINVAL';
}

/** Sends a request to the service and returns its output. Throws what the command has thrown. */
export async function sendCommand(path: string, request: object, onProgress: (line: string) => void): Promise<unknown> {
  const socket = await connect(path);
  socket.setTimeout(silenceMs, () => socket.destroy(new OperatorError(`The service has not responded for ${silenceMs / 1000} seconds.`)));
  const failed = new Promise<never>((_, reject) => socket.once('error', reject));
  failed.catch(() => {}); // It is awaited below, but can fail before.
  socket.write(`${JSON.stringify(request)}\n`);
  try {
    return await Promise.race([readResponse(socket, onProgress), failed]);
  } finally {
    socket.destroy();
  }
}

async function readResponse(socket: Socket, onProgress: (line: string) => void): Promise<unknown> {
  for await (const text of createInterface({ input: socket })) {
    if (text === '') continue;
    const line: ResponseLine = JSON.parse(text);
    if (line.progress !== undefined) onProgress(line.progress);
    else if (line.error) throw line.error.isUsage ? new UsageError(line.error.message) : new OperatorError(line.error.message);
    else return line.output;
  }
  throw new OperatorError('The service closed the connection before it responded. Check whether it is still running, then try again.');
}

function connect(path: string): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = createConnection(path, () => {
      socket.off('error', reject);
      resolve(socket);
    });
    socket.once('error', reject);
  });
}
