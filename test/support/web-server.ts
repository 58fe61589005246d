import { once } from 'node:events';
import http, { type IncomingMessage, type ServerResponse } from 'node:http';
import https from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import type { Certificate } from './certificates.ts';

export interface ReceivedRequest {
  method: string;
  path: string;
  headers: http.IncomingHttpHeaders;
  body: string;
}

type Script = (request: ReceivedRequest, response: ServerResponse) => void;

/** A real HTTP server on loopback that runs a script for each request and records the requests. */
export interface WebServer {
  port: number;
  /** `http://127.0.0.1:port`, or https. */
  url: string;
  /** The number of connections, including those without a request. */
  connections: number;
  requests: ReceivedRequest[];
  /** Handles all further requests. A test can replace it at any time. */
  script: Script;
  close(): Promise<void>;
}

interface Options {
  host?: string;
  /** The default is a free port. */
  port?: number;
  certificate?: Certificate;
  script?: Script;
}

export async function startWebServer({
  host = '127.0.0.1',
  port: requestedPort = 0,
  certificate,
  script = scripts.respond(),
}: Options = {}): Promise<WebServer> {
  const sockets = new Set<Socket>();
  const handle = async (request: IncomingMessage, response: ServerResponse) => {
    response.on('error', () => {});
    let body = '';
    for await (const chunk of request.setEncoding('utf8')) body += chunk;
    const received = { method: request.method ?? '', path: request.url ?? '', headers: request.headers, body };
    server.requests.push(received);
    server.script(received, response);
  };
  const listener = (request: IncomingMessage, response: ServerResponse) => void handle(request, response).catch(() => response.destroy());
  const inner = certificate ? https.createServer(certificate, listener) : http.createServer(listener);
  inner.on('connection', (socket: Socket) => {
    server.connections++;
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  await once(inner.listen(requestedPort, host), 'listening');
  const { port } = inner.address() as AddressInfo;
  const server: WebServer = {
    port,
    url: `${certificate ? 'https' : 'http'}://${host.includes(':') ? `[${host}]` : host}:${port}`,
    connections: 0,
    requests: [],
    script,
    async close() {
      const closed = new Promise((resolve) => inner.close(resolve));
      for (const socket of sockets) socket.destroy(); // Afterwards, so that none is accepted in between.
      await closed;
    },
  };
  return server;
}

/** The behaviors of a server that tests need. */
export const scripts = {
  respond:
    (body = 'ok', status = 200, headers: http.OutgoingHttpHeaders = {}): Script =>
    (_, response) =>
      response.writeHead(status, headers).end(body),
  redirect:
    (location: string, status = 302): Script =>
    (_, response) =>
      response.writeHead(status, { location }).end('moved'),
  /** Accepts the request and never responds. */
  hang: (): Script => () => {},
  reset: (): Script => (_, response) => void response.socket?.resetAndDestroy(),
  /** Closes the connection in the middle of the body. */
  truncate: (): Script => (_, response) => {
    response.writeHead(200, { 'content-length': 1000 });
    response.write('so far', () => response.socket?.destroy());
  },
  /** Sends the beginning of the body, and then nothing more. */
  stall: (): Script => (_, response) => void response.writeHead(200, { 'content-length': 1000 }).write('so far'),
  endless:
    (status = 200, chunk = Buffer.alloc(64 * 1024, 'x')): Script =>
    (_, response) => {
      response.writeHead(status);
      const writeMore = () => {
        if (response.destroyed) return;
        if (response.write(chunk)) setImmediate(writeMore);
        else response.once('drain', writeMore);
      };
      writeMore();
    },
  switchProtocols: (): Script => (_, response) => {
    response.socket?.end('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n');
  },
  /** Responds with a status line that need not be valid. */
  status:
    (code: string): Script =>
    (_, response) => {
      response.socket?.end(`HTTP/1.1 ${code} ?\r\nContent-Length: 0\r\n\r\n`);
    },
  /** Sends one byte every 20 ms and never ends. */
  drip: (): Script => (_, response) => {
    response.writeHead(200);
    const timer = setInterval(() => (response.destroyed ? clearInterval(timer) : response.write('x')), 20);
  },
};
