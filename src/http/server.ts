import { createServer, type IncomingMessage, type RequestListener, Server, type ServerResponse } from 'node:http';
import { type AddressInfo, type Socket, Server as TcpServer } from 'node:net';
import { ProblemError } from '../errors.ts';
import { OpenConnections } from './open-connections.ts';
import { bind, type ListenOptions, urlOf } from './port.ts';
import { problemBody, serializeProblem } from './problems.ts';
import { newRequestId } from './request-id.ts';
import { type EarlyProblem, findRequestProblem } from './request-line.ts';
import { UnreadResponses } from './unread-responses.ts';

export interface HttpServer {
  /** The public URL: PUBLIC_URL, or the address it listens on. */
  url: string;
  /** Sets the request handler. Before the first call, every request gets 503. */
  setHandler(handler: RequestListener): void;
  /** Makes /readyz fail, so that load balancers send requests elsewhere. Other requests are handled as before. */
  drain(): void;
  /**
   * Stops accepting connections and finishes in-flight requests. Those that take too long are aborted. A connection that has no
   * request in progress is closed when it has been idle for `maxIdleMs`: the client may be about to send one.
   */
  close(maxIdleMs?: number): Promise<void>;
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
/**
 * How long responses keep connections open after the port was closed. The workers of a cluster do not close their common port at
 * the same moment, and a client that opens a new connection just when the last one closes it could be reset.
 */
const keepConnectionsMs = 250;
/** How long a client has to read the last response before the connection is destroyed. */
const lingerMs = 1500;

export async function listen({ host, port, publicUrl, remedy }: ListenOptions): Promise<HttpServer> {
  let url = publicUrl ?? '';
  let handler: RequestListener = (request, response) => respondUnavailable(request, response, 'The service is starting.', url);
  let isDraining = false;
  let isClosing = false;
  let accepted = 0;
  const unread = new UnreadResponses();
  const connections = new OpenConnections(isBusy);
  const onRequest: RequestListener = oneAtATime((request, response) => {
    unread.watch(response);
    if (isClosing) response.setHeader('Connection', 'close');
    const problem = findRequestProblem(request);
    if (problem) respondWithProblem(request, response, problem, url);
    else if (isDraining && pathOf(request) === '/readyz') respondUnavailable(request, response, 'The service is shutting down.', url);
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
    accepted++;
    connections.add(socket);
    socket.destroySoon = () => closeGracefully(socket); // Node calls it after a response with Connection: close.
  });
  server.on('checkExpectation', onRequest); // Node would respond 417; RFC 9110 allows ignoring unknown expectations.
  server.on('connect', (_, socket) => rejectSocket(socket as Socket, ['malformed_request', 'This service is not a proxy.'], url));
  server.on('clientError', (error, socket) => handleClientError(error, socket as Socket, url));
  // Node calls it in a worker of a cluster when the primary releases the port. The worker listens until its own shutdown closes it.
  server.close = () => server;
  await bind(server, { host, port, ...(remedy !== undefined && { remedy }) });
  url ||= urlOf(host, (server.address() as AddressInfo).port);
  return {
    url,
    setHandler(next) {
      handler = next;
    },
    drain() {
      isDraining = true;
      connections.watch();
    },
    async close(maxIdleMs = 0) {
      await waitForQuietTurn(() => accepted);
      // Node's own close of an HTTP server also closes connections whose first or next request is in transit.
      const closed = new Promise((resolve) => TcpServer.prototype.close.call(server, resolve));
      setTimeout(
        () => {
          isClosing = true;
        },
        Math.min(keepConnectionsMs, maxIdleMs),
      ).unref();
      connections.closeIdle(maxIdleMs);
      const timeout = setTimeout(() => server.closeAllConnections(), closeTimeoutMs);
      await closed;
      Server.prototype.close.call(server); // Ends Node's timer that looks for slow requests.
      unread.stop();
      connections.stop();
      clearTimeout(timeout);
    },
  };
}

const quietTurnMs = 0.2;
/** A server that is busy all the time has no such turn. */
const maxWaitMs = 500;
const endOfTurn = () => new Promise((resolve) => setImmediate(resolve));

/**
 * Resolves right after a turn of the event loop that accepted no connection and had little else to do. Whoever connects between
 * such a turn and the closing of the port would be reset by the operating system, so this time must be as short as possible.
 */
async function waitForQuietTurn(countAccepted: () => number) {
  await endOfTurn();
  for (const deadline = performance.now() + maxWaitMs; performance.now() < deadline; ) {
    const [start, before] = [performance.now(), countAccepted()];
    await endOfTurn();
    if (countAccepted() === before && performance.now() - start < quietTurnMs) return;
  }
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

/** Whether a request of the connection is in progress. */
function isBusy(socket: Socket): boolean {
  const response = lastResponses.get(socket);
  return response !== undefined && !isClosed(response);
}

function isClosed(response: ServerResponse): boolean {
  return response.writableFinished || response.destroyed;
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
