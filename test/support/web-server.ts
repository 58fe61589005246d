import http, { type IncomingMessage, type ServerResponse } from 'node:http';
import https from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import type { Certificate } from './certificates.ts';

export interface SeenRequest {
  method: string;
  path: string;
  headers: http.IncomingHttpHeaders;
  body: string;
}

type Script = (request: SeenRequest, response: ServerResponse) => void;

/** A real HTTP server on loopback that does what a test tells it to, and remembers who came. */
export interface WebServer {
  port: number;
  /** `http://127.0.0.1:port`, or https. */
  url: string;
  /** Connections that reached it, whether a request followed or not. */
  connections: number;
  requests: SeenRequest[];
  /** What it does with a request from now on. */
  script: Script;
  close(): Promise<void>;
}

interface Options {
  host?: string;
  /** A free one, if absent. */
  port?: number;
  certificate?: Certificate;
  script?: Script;
}

export async function startWebServer({
  host = '127.0.0.1',
  port: wanted = 0,
  certificate,
  script = scripts.accept(),
}: Options = {}): Promise<WebServer> {
  const sockets = new Set<Socket>();
  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    response.on('error', () => {});
    let body = '';
    for await (const chunk of request.setEncoding('utf8')) body += chunk;
    const seen = { method: request.method ?? '', path: request.url ?? '', headers: request.headers, body };
    server.requests.push(seen);
    server.script(seen, response);
  };
  const listener = (request: IncomingMessage, response: ServerResponse) => void answer(request, response).catch(() => response.destroy());
  const inner = certificate ? https.createServer(certificate, listener) : http.createServer(listener);
  inner.on('connection', (socket: Socket) => {
    server.connections++;
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => inner.listen(wanted, host, resolve));
  const { port } = inner.address() as AddressInfo;
  const server: WebServer = {
    port,
    url: `${certificate ? 'https' : 'http'}://${host.includes(':') ? `[${host}]` : host}:${port}`,
    connections: 0,
    requests: [],
    script,
    async close() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => inner.close(resolve));
    },
  };
  return server;
}

/** What a server may do to us. */
export const scripts = {
  accept:
    (body = 'ok', status = 200, headers: http.OutgoingHttpHeaders = {}): Script =>
    (_, response) =>
      response.writeHead(status, headers).end(body),
  redirect:
    (location: string, status = 302): Script =>
    (_, response) =>
      response.writeHead(status, { location }).end('moved'),
  /** Takes the request and says nothing. */
  hang: (): Script => () => {},
  reset: (): Script => (_, response) => void response.socket?.resetAndDestroy(),
  /** Breaks off in the middle of the body. */
  breakOff: (): Script => (_, response) => {
    response.writeHead(200, { 'content-length': 1000 });
    response.write('so far', () => response.socket?.destroy());
  },
  endless:
    (status = 200, chunk = Buffer.alloc(64 * 1024, 'x')): Script =>
    (_, response) => {
      response.writeHead(status);
      const more = () => {
        if (response.destroyed) return;
        if (response.write(chunk)) setImmediate(more);
        else response.once('drain', more);
      };
      more();
    },
  switchProtocols: (): Script => (_, response) => {
    response.socket?.end('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n');
  },
  /** A status that HTTP does not have. */
  status:
    (code: string): Script =>
    (_, response) => {
      response.socket?.end(`HTTP/1.1 ${code} ?\r\nContent-Length: 0\r\n\r\n`);
    },
  /** A byte now and then, for ever. */
  drip: (): Script => (_, response) => {
    response.writeHead(200);
    const timer = setInterval(() => (response.destroyed ? clearInterval(timer) : response.write('x')), 20);
  },
};
