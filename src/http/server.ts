import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import { type AddressInfo, createServer as createTcpServer, type Socket, type Server as TcpServer } from 'node:net';
import { type ProblemCode, Refusal } from '../errors.ts';
import { problemBody } from './problems.ts';
import { newRequestId } from './request-id.ts';

/** The port cannot be had; said so that an operator can mend it. */
export class CannotListen extends Error {}

export interface Listening {
  /** Where the service is reached from outside: what the operator says, else the address it listens on. */
  url: string;
  /** From now on requests are answered by this; before, they are told to come back. */
  answerWith(listener: RequestListener): void;
  /** From now on readyz refuses and connections are not kept, so that load balancers and clients turn elsewhere. */
  sendAway(): void;
  /** Answers what is under way, takes nothing new, and resolves when all is done; what takes too long is broken off. */
  close(): Promise<void>;
}

const breakOffMs = 6000;
/** How long a whole request may take to arrive, so that slow clients hold nothing for long. */
const arrivalMs = 6000;
const maxHeaders = 200;
/**
 * How long a connection may rest between requests. Proxies rest theirs for a minute; if we were the first to close, a request
 * that is just being sent would be lost.
 */
const restMs = 65_000;
/** How long a client has to read the last answer. */
const lingerMs = 1500;

interface Place {
  host: string;
  port: number;
  publicUrl?: string;
  /** Which settings say so, for whoever has to change them. */
  settings?: string;
}

/**
 * Where to listen later, free for now. A port that is taken is noticed before anything is changed; and until we listen,
 * proxies are refused, and turn to another process. A shared one is that of other workers, and has been tried.
 */
export async function findPlace({ host, port, publicUrl }: Place, isShared = false) {
  const bound = isShared ? port : await freePort(host, port);
  return { host, port: bound, publicUrl: publicUrl ?? urlOf(host, bound) };
}

async function freePort(host: string, port: number): Promise<number> {
  const server = createTcpServer();
  await bind(server, { host, port, exclusive: true });
  const { port: bound } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return bound;
}

/** Listens, and tells everybody to come back until it is known how to answer. */
export async function listen({ host, port, publicUrl, settings }: Place): Promise<Listening> {
  let url = publicUrl ?? '';
  let listener: RequestListener = (request, response) => answerUnavailable(request, response, 'The service is starting.', url);
  const answer: RequestListener = (request, response) => {
    const refusal = refusalOf(request);
    if (refusal) answerBare(request, response, refusal, url);
    else listener(request, response);
  };
  const server = createServer(
    {
      maxHeaderSize: 16 * 1024,
      headersTimeout: arrivalMs,
      requestTimeout: arrivalMs,
      keepAliveTimeout: restMs,
      connectionsCheckingInterval: 500,
      requireHostHeader: false, // judged below: Node's own answer has no body
    },
    answer,
  );
  server.on('connection', (socket: Socket) => {
    socket.destroySoon = () => hangUp(socket); // what Node calls after an answer with Connection: close
  });
  server.on('checkExpectation', answer); // Node would answer 417; an expectation that nobody knows may be ignored
  server.on('connect', (_, socket) => refuseSocket(socket as Socket, ['malformed_request', 'This service is no proxy.'], url));
  server.on('clientError', (error, socket) => answerClientError(error, socket as Socket, url));
  await bind(server, { host, port, ...(settings !== undefined && { settings }) });
  url ||= urlOf(host, (server.address() as AddressInfo).port);
  return {
    url,
    answerWith(next) {
      listener = next;
    },
    sendAway() {
      const answer = listener;
      listener = (request, response) => {
        response.setHeader('Connection', 'close');
        if (pathOf(request) === '/readyz') answerUnavailable(request, response, 'The service is stopping.', url);
        else answer(request, response);
      };
    },
    async close() {
      const closed = new Promise((resolve) => server.close(resolve));
      // A connection whose last answer is out would be kept for more.
      const idle = setInterval(() => server.closeIdleConnections(), 50);
      const late = setTimeout(() => server.closeAllConnections(), breakOffMs);
      await closed;
      clearInterval(idle);
      clearTimeout(late);
    },
  };
}

function bind(
  server: TcpServer,
  { host, port, exclusive, settings = 'HOST or PORT' }: { host: string; port: number; exclusive?: boolean; settings?: string },
): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      const why = error.code === 'EADDRINUSE' ? 'it is taken by another process' : error.message;
      reject(new CannotListen(`Cannot listen on ${host}:${port}: ${why}. Set ${settings} to something else (the mock takes --port).`));
    });
    server.listen({ host, port, ...(exclusive && { exclusive }) }, resolve);
  });
}

/** Who listens everywhere is found on this machine under its own name. */
function urlOf(host: string, port: number): string {
  if (host === '0.0.0.0' || host === '::') return `http://localhost:${port}`;
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
}

type BareRefusal = [code: ProblemCode, detail: string];

/** What is refused before anybody looks at the path. */
function refusalOf({ rawHeaders, headers, httpVersion }: IncomingMessage): BareRefusal | undefined {
  if (rawHeaders.length / 2 > maxHeaders) return ['headers_too_large', `A request may have at most ${maxHeaders} headers.`];
  if (headers.host === undefined && httpVersion === '1.1') return ['malformed_request', 'The Host header is missing.'];
  return undefined;
}

function answerUnavailable(request: IncomingMessage, response: ServerResponse, detail: string, publicUrl: string) {
  response.setHeader('Retry-After', '1');
  answerBare(request, response, ['unavailable', detail], publicUrl);
}

function answerBare(request: IncomingMessage, response: ServerResponse, refusal: BareRefusal, publicUrl: string) {
  const body = bareProblem(refusal, pathOf(request), publicUrl);
  response.statusCode = body.status;
  response.setHeader('Content-Type', 'application/problem+json').setHeader('X-Request-Id', body.request_id);
  response.end(JSON.stringify(body));
}

function pathOf({ url = '/' }: IncomingMessage): string {
  return url.split('?')[0] ?? '/';
}

const parserProblems: Record<string, BareRefusal> = {
  HPE_HEADER_OVERFLOW: ['headers_too_large', 'The headers may have at most 16 KiB in all.'],
  ERR_HTTP_REQUEST_TIMEOUT: ['request_timeout', 'The request did not arrive in time.'],
};

/** What the HTTP parser itself refuses is answered in the same shape as everything else. */
function answerClientError(error: NodeJS.ErrnoException, socket: Socket, publicUrl: string) {
  if (error.code === 'ECONNRESET' || !socket.writable) socket.destroy();
  else refuseSocket(socket, parserProblems[error.code ?? ''] ?? ['malformed_request', 'The request could not be read as HTTP.'], publicUrl);
}

function refuseSocket(socket: Socket, refusal: BareRefusal, publicUrl: string) {
  const body = bareProblem(refusal, '/', publicUrl);
  const text = JSON.stringify(body);
  socket.end(
    `HTTP/1.1 ${body.status} ${body.title}\r\nContent-Type: application/problem+json\r\nX-Request-Id: ${body.request_id}\r\n` +
      `Content-Length: ${Buffer.byteLength(text)}\r\nConnection: close\r\n\r\n${text}`,
  );
  hangUp(socket);
}

/**
 * Closes for writing at once, and altogether a moment later. Closed altogether while the client still sends, the connection
 * would be reset and the answer lost; left to a client that does not hang up itself, it would stay for ever.
 */
function hangUp(socket: Socket) {
  socket.end();
  setTimeout(() => socket.destroy(), lingerMs).unref();
}

function bareProblem([code, detail]: BareRefusal, instance: string, publicUrl: string) {
  return problemBody(new Refusal(code, detail), { publicUrl, instance, requestId: newRequestId() });
}
