import http2, { type IncomingHttpHeaders, type ServerHttp2Stream } from 'node:http2';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import tls from 'node:tls';
import type { Certificate } from './certificates.ts';

type Script = (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => void;

/** A server that speaks only HTTP/2. It is replaceable like that of web-server.ts. */
export interface Http2Server {
  port: number;
  connections: number;
  /** How many connections are open. */
  open(): number;
  requests: { headers: IncomingHttpHeaders; body: string }[];
  script: Script;
  close(): Promise<void>;
}

/** Without a certificate, clients must know that the server speaks HTTP/2 ("prior knowledge"). */
export async function startHttp2Server(host: string, certificate?: Certificate): Promise<Http2Server> {
  const inner = certificate ? http2.createSecureServer(certificate) : http2.createServer();
  inner.on('session', (session) => session.on('error', () => {}));
  inner.on('stream', async (stream, headers) => {
    stream.on('error', () => {});
    let body = '';
    for await (const chunk of stream.setEncoding('utf8')) body += chunk;
    server.requests.push({ headers, body });
    server.script(stream, headers);
  });
  const listening = await listen(inner as unknown as Server, host);
  const server: Http2Server = {
    ...listening,
    requests: [],
    script(stream) {
      stream.respond({ ':status': 200 });
      stream.end('ok');
    },
  };
  inner.on('connection', () => server.connections++);
  return server;
}

/** Like HTTP/2 servers in Go: it ends the handshake with a client of HTTP/1.1, but closes the connection without a response. */
export async function startSilentHttp2Server(host: string, certificate: Certificate) {
  const refusing = tls.createServer(certificate, (socket) => socket.on('error', () => {}).destroy());
  const serving = http2.createSecureServer(certificate, (_, response) => response.end('ok'));
  const chooser = createServer((socket) => {
    socket.on('error', () => {});
    socket.once('data', (hello) => {
      socket.pause();
      socket.unshift(hello);
      (hello.includes('\x02h2') ? serving : refusing).emit('connection', socket);
    });
  });
  return listen(chooser, host);
}

/** Accepts connections and leaves the rest to the script. */
export async function startTcpServer(host: string, script: (socket: Socket) => void) {
  return listen(
    createServer((socket) => {
      socket.on('error', () => {});
      script(socket);
    }),
    host,
  );
}

async function listen(server: Server, host: string) {
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, host, resolve));
  return {
    port: (server.address() as AddressInfo).port,
    connections: 0,
    open: () => sockets.size,
    async close() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

export const frameTypes = {
  data: 0,
  headers: 1,
  resetStream: 3,
  settings: 4,
  pushPromise: 5,
  ping: 6,
  goaway: 7,
  windowUpdate: 8,
  continuation: 9,
};

/** A frame of HTTP/2. */
export function frame(type: keyof typeof frameTypes | number, payload: Buffer = Buffer.alloc(0), { flags = 0, stream = 0 } = {}): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head[3] = typeof type === 'number' ? type : frameTypes[type];
  head[4] = flags;
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

/** Headers that are sent as they are, and kept by the receiver for repetitions. */
export function literalHeader(name: string, value: string): Buffer {
  const length = value.length < 127 ? [value.length] : [127, ((value.length - 127) & 127) | 128, (value.length - 127) >> 7];
  return Buffer.concat([Buffer.from([0x40, name.length]), Buffer.from(name), Buffer.from(length), Buffer.from(value)]);
}

/** Responds to HTTP/1.1 with SETTINGS, and to HTTP/2 with SETTINGS, then `first`, and then `rest` again and again. */
export function floodHttp2(first: Buffer, rest: Buffer, onRequest = (_socket: Socket) => {}) {
  return (socket: Socket) => {
    socket.write(frame('settings'));
    socket.once('data', (request) => {
      if (!request.toString('latin1').startsWith('PRI * HTTP/2')) return;
      onRequest(socket);
      socket.write(first);
      flood(socket, rest);
    });
    socket.resume();
  };
}

/** Sends the bytes again and again, as fast as the receiver takes them. */
export function flood(socket: Socket, bytes: Buffer) {
  if (!socket.writable) return;
  if (socket.write(bytes)) setImmediate(() => flood(socket, bytes));
  else socket.once('drain', () => flood(socket, bytes));
}

const repeat = (bytes: Buffer, times: number) => Buffer.concat(Array.from({ length: times }, () => bytes));
const manyHeaders = Buffer.concat(Array.from({ length: 100 }, (_, i) => literalHeader(`x-${i}`, 'y'.repeat(100))));
const status200 = Buffer.from([0x88]);
const endHeaders = { flags: 4, stream: 1 };

/** The first bytes of an attack, and what is repeated if it is something else. */
export const http2Attacks: Record<string, [Buffer, Buffer?]> = {
  'endless settings': [repeat(frame('settings'), 1000)],
  'endless pings': [repeat(frame('ping', Buffer.alloc(8)), 1000)],
  'a few pings at a time': [repeat(frame('ping', Buffer.alloc(8)), 100)],
  'endless frames of an unknown type': [frame(0xbb, Buffer.alloc(16_384))],
  'endless window updates': [repeat(frame('windowUpdate', Buffer.from([0, 0, 0, 1])), 1000)],
  'endless headers': [frame('headers', status200, { stream: 1 }), frame('continuation', manyHeaders, { stream: 1 })],
  'too long headers': [frame('headers', Buffer.concat([status200, manyHeaders, manyHeaders]), endHeaders)],
  // The first header has 4000 bytes and is then repeated by its index, with one byte each.
  'a header bomb': [
    frame('headers', Buffer.concat([status200, literalHeader('x', 'y'.repeat(4000)), Buffer.alloc(10_000, 0xbe)]), endHeaders),
  ],
  'endless informational responses': [frame('headers', Buffer.from([0x08, 3, 0x31, 0x30, 0x33]), endHeaders)],
  'a push': [frame('pushPromise', Buffer.from([0, 0, 0, 2, 0x82, 0x84, 0x86, 0x41, 1, 0x61]), endHeaders)],
  'an invalid frame': [frame('settings', Buffer.alloc(5))],
};

export const endlessHttp2Body: [Buffer, Buffer] = [
  frame('headers', status200, endHeaders),
  frame('data', Buffer.alloc(16_384), { stream: 1 }),
];
