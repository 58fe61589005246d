import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
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

/** Listens at once, so that a port that is taken is noticed before anything is changed. */
export async function listen({ host, port, publicUrl }: { host: string; port: number; publicUrl?: string }): Promise<Listening> {
  let url = publicUrl ?? '';
  let listener: RequestListener = (request, response) => answerWhileStarting(request, response, url);
  const server = createServer(
    { maxHeaderSize: 16 * 1024, headersTimeout: 10_000, requestTimeout: 30_000, connectionsCheckingInterval: 1000 },
    (request, response) => listener(request, response),
  );
  server.maxHeadersCount = 200;
  server.on('clientError', (error, socket) => answerClientError(error, socket as Socket, url));
  await bind(server, host, port);
  const { port: bound } = server.address() as AddressInfo;
  url ||= `http://${host.includes(':') ? `[${host}]` : host}:${bound}`;
  return {
    url,
    answerWith(next) {
      listener = next;
    },
    sendAway() {
      const answer = listener;
      listener = (request, response) => {
        response.setHeader('Connection', 'close');
        if (request.url === '/readyz') answerUnavailable(request, response, 'The service is stopping.', url);
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

function bind(server: Server, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      const why = error.code === 'EADDRINUSE' ? 'it is taken by another process' : error.message;
      reject(new CannotListen(`Cannot listen on ${host}:${port}: ${why}. Set HOST or PORT to something else (the mock takes --port).`));
    });
    server.listen(port, host, resolve);
  });
}

function answerWhileStarting(request: IncomingMessage, response: ServerResponse, publicUrl: string) {
  if (request.url === '/healthz') {
    response.writeHead(200, { 'Content-Type': 'application/json' }).end('{"status":"ok"}');
    return;
  }
  answerUnavailable(request, response, 'The service is starting. Try again in a second.', publicUrl);
}

function answerUnavailable(request: IncomingMessage, response: ServerResponse, detail: string, publicUrl: string) {
  const body = bareProblem('unavailable', detail, request.url ?? '/', publicUrl);
  response.writeHead(body.status, { 'Content-Type': 'application/problem+json', 'Retry-After': '1', 'X-Request-Id': body.request_id });
  response.end(JSON.stringify(body));
}

const parserProblems: Record<string, [ProblemCode, string]> = {
  HPE_HEADER_OVERFLOW: ['headers_too_large', 'The headers may have at most 16 KiB in all.'],
  ERR_HTTP_REQUEST_TIMEOUT: ['request_timeout', 'The request did not arrive in time.'],
};

/** What the HTTP parser itself refuses is answered in the same shape as everything else. */
function answerClientError(error: NodeJS.ErrnoException, socket: Socket, publicUrl: string) {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const [code, detail] = parserProblems[error.code ?? ''] ?? ['malformed_request', 'The request could not be read as HTTP.'];
  const body = bareProblem(code, detail, '/', publicUrl);
  const text = JSON.stringify(body);
  socket.end(
    `HTTP/1.1 ${body.status} ${body.title}\r\nContent-Type: application/problem+json\r\nX-Request-Id: ${body.request_id}\r\n` +
      `Content-Length: ${Buffer.byteLength(text)}\r\nConnection: close\r\n\r\n${text}`,
  );
}

function bareProblem(code: ProblemCode, detail: string, instance: string, publicUrl: string) {
  return problemBody(new Refusal(code, detail), { publicUrl, instance, requestId: newRequestId() });
}
