import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import { type AddressInfo, createServer as createTcpServer, type Socket, type Server as TcpServer } from 'node:net';
import { ProblemError } from '../errors.ts';
import { problemBody, serializeProblem } from './problems.ts';
import { newRequestId } from './request-id.ts';
import { type EarlyProblem, findRequestProblem } from './request-line.ts';
import { UnreadResponses } from './unread-responses.ts';

/** The server cannot listen. The message tells the operator what to change. */
export class ListenError extends Error {}

export interface HttpServer {
  /** The public URL: PUBLIC_URL, or the address it listens on. */
  url: string;
  /** Sets the request handler. Before the first call, every request gets 503. */
  setHandler(handler: RequestListener): void;
  /** Makes /readyz fail and closes connections after each response, so that load balancers and clients go elsewhere. */
  drain(): void;
  /** Stops accepting connections and finishes in-flight requests. Those that take too long are aborted. */
  close(): Promise<void>;
}

const closeTimeoutMs = 6000;
/** A request must arrive completely within this time, so that slow clients do not occupy connections. */
const requestTimeoutMs = 6000;
const maxHeaderBytes = 16 * 1024;
/**
 * How long an idle connection stays open. Proxies keep theirs for a minute; if the service closed first, a request in transit
 * would be lost.
 */
const keepAliveMs = 65_000;
/** How long a client has to read the last response before the connection is destroyed. */
const lingerMs = 1500;

interface ListenOptions {
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
  const bound = isShared ? port : await findFreePort(host, port);
  return { host, port: bound, publicUrl: publicUrl ?? urlOf(host, bound) };
}

async function findFreePort(host: string, port: number): Promise<number> {
  const server = createTcpServer();
  await bind(server, { host, port, exclusive: true });
  const { port: bound } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return bound;
}

export async function listen({ host, port, publicUrl, remedy }: ListenOptions): Promise<HttpServer> {
  let url = publicUrl ?? '';
  let handler: RequestListener = (request, response) => respondUnavailable(request, response, 'The service is starting.', url);
  const unread = new UnreadResponses();
  const onRequest: RequestListener = oneAtATime((request, response) => {
    unread.watch(response);
    const problem = findRequestProblem(request);
    if (problem) respondWithProblem(request, response, problem, url);
    else handler(request, response);
  });
  const server = createServer(
    {
      maxHeaderSize: maxHeaderBytes,
      headersTimeout: requestTimeoutMs,
      requestTimeout: requestTimeoutMs,
      keepAliveTimeout: keepAliveMs,
      connectionsCheckingInterval: 500,
      requireHostHeader: false, // Checked by findRequestProblem, because Node's own response has no body.
    },
    onRequest,
  );
  // A client that closes its sending side after the request still waits for the response. Node's types lack this property.
  (server as { httpAllowHalfOpen?: boolean }).httpAllowHalfOpen = true;
  server.on('connection', (socket: Socket) => {
    socket.destroySoon = () => closeGracefully(socket); // Node calls it after a response with Connection: close.
  });
  server.on('checkExpectation', onRequest); // Node would respond 417; RFC 9110 allows ignoring unknown expectations.
  server.on('connect', (_, socket) => rejectSocket(socket as Socket, ['malformed_request', 'This service is not a proxy.'], url));
  server.on('clientError', (error, socket) => handleClientError(error, socket as Socket, url));
  await bind(server, { host, port, ...(remedy !== undefined && { remedy }) });
  url ||= urlOf(host, (server.address() as AddressInfo).port);
  return {
    url,
    setHandler(next) {
      handler = next;
    },
    drain() {
      const current = handler;
      handler = (request, response) => {
        response.setHeader('Connection', 'close');
        if (pathOf(request) === '/readyz') respondUnavailable(request, response, 'The service is shutting down.', url);
        else current(request, response);
      };
    },
    async close() {
      const closed = new Promise((resolve) => server.close(resolve));
      // A connection becomes idle after its last response and would otherwise be kept open for more requests.
      const idle = setInterval(() => server.closeIdleConnections(), 50);
      const timeout = setTimeout(() => server.closeAllConnections(), closeTimeoutMs);
      await closed;
      unread.stop();
      clearInterval(idle);
      clearTimeout(timeout);
    },
  };
}

/**
 * Handles the requests of a connection one after the other. A client can send the next one before it has read the response, and
 * Node would handle all of them at once and keep the responses in memory.
 */
function oneAtATime(handle: RequestListener): RequestListener {
  return (request, response) => {
    const { socket } = request;
    const previous = lastResponses.get(socket);
    lastResponses.set(socket, response);
    // The client could not read a response after one that closes the connection, so the request must have no effect.
    const next = () => {
      if (!socket.destroyed && previous?.getHeader('Connection') !== 'close') handle(request, response);
    };
    if (!previous || isClosed(previous)) return next();
    socket.pause();
    previous.once('close', () => {
      socket.resume();
      next();
    });
  };
}

/** The latest response of each connection. */
const lastResponses = new WeakMap<Socket, ServerResponse>();

function isClosed(response: ServerResponse): boolean {
  return response.writableFinished || response.destroyed;
}

function bind(
  server: TcpServer,
  { host, port, exclusive, remedy = 'set HOST or PORT to another value' }: ListenOptions & { exclusive?: boolean },
): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      const message =
        error.code === 'EADDRINUSE'
          ? `Port ${port} on ${host} is already in use. Stop the other process, or ${remedy}.`
          : `Cannot listen on port ${port} of ${host}: ${error.message}.`;
      reject(new ListenError(message));
    });
    server.listen({ host, port, ...(exclusive && { exclusive }) }, resolve);
  });
}

/** A server that listens on all addresses is reached as localhost on this machine. */
function urlOf(host: string, port: number): string {
  if (host === '0.0.0.0' || host === '::') return `http://localhost:${port}`;
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
}

function respondUnavailable(request: IncomingMessage, response: ServerResponse, detail: string, publicUrl: string) {
  response.setHeader('Retry-After', '1');
  respondWithProblem(request, response, ['unavailable', detail], publicUrl);
}

function respondWithProblem(request: IncomingMessage, response: ServerResponse, problem: EarlyProblem, publicUrl: string) {
  const body = bodyOf(problem, pathOf(request), publicUrl);
  response.statusCode = body.status;
  response.setHeader('Content-Type', 'application/problem+json').setHeader('X-Request-Id', body.request_id);
  response.setHeader('X-Content-Type-Options', 'nosniff').setHeader('Cache-Control', 'no-store');
  response.end(serializeProblem(body));
}

function pathOf({ url = '/' }: IncomingMessage): string {
  return url.startsWith('/') ? (url.split('?')[0] ?? '/') : '/';
}

const parserProblems: Record<string, EarlyProblem> = {
  HPE_HEADER_OVERFLOW: ['headers_too_large', `The headers can be at most ${maxHeaderBytes / 1024} KiB in total.`],
  ERR_HTTP_REQUEST_TIMEOUT: ['request_timeout', `The request did not arrive within ${requestTimeoutMs / 1000} seconds.`],
};

const notHttp: EarlyProblem = [
  'malformed_request',
  'The request is not valid HTTP. If its URL contains characters that are not ASCII, percent-encode them.',
];

/** Errors of Node's HTTP parser get the same problem+json body as all others. */
function handleClientError(error: NodeJS.ErrnoException, socket: Socket, publicUrl: string) {
  const reject = () => {
    if (error.code === 'ECONNRESET' || !socket.writable) socket.destroy();
    else rejectSocket(socket, parserProblems[error.code ?? ''] ?? notHttp, publicUrl);
  };
  // If an earlier request arrived completely, its response comes first.
  const earlier = lastResponses.get(socket);
  if (earlier?.req.complete && !isClosed(earlier)) earlier.once('close', reject);
  else reject();
}

function rejectSocket(socket: Socket, problem: EarlyProblem, publicUrl: string) {
  const body = bodyOf(problem, '/', publicUrl);
  const text = serializeProblem(body);
  socket.end(
    `HTTP/1.1 ${body.status} ${body.title}\r\nContent-Type: application/problem+json\r\nX-Request-Id: ${body.request_id}\r\n` +
      'X-Content-Type-Options: nosniff\r\nCache-Control: no-store\r\n' +
      `Content-Length: ${Buffer.byteLength(text)}\r\nConnection: close\r\n\r\n${text}`,
  );
  closeGracefully(socket);
}

/**
 * Closes the sending side now and the whole connection a moment later. Closing both at once while the client still sends
 * would reset the connection, and the client would lose the response. Waiting for the client could take forever.
 */
function closeGracefully(socket: Socket) {
  socket.end();
  setTimeout(() => socket.destroy(), lingerMs).unref();
}

function bodyOf([code, detail]: EarlyProblem, instance: string, publicUrl: string) {
  return problemBody(new ProblemError(code, detail), { publicUrl, instance, requestId: newRequestId() });
}
