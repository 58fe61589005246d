// Servers that attack the check, in a thread of their own, so that their memory is not that of the check.
import type { Socket } from 'node:net';
import { parentPort, workerData } from 'node:worker_threads';
import { gzipSync } from 'node:zlib';
import { endlessHttp2Body, flood, floodHttp2, frame, http2Attacks, startTcpServer } from '../../support/http2-server.ts';

const host: string = workerData;

/** Sends one byte per second. */
function drip(socket: Socket, bytes: string) {
  let sent = 0;
  const timer = setInterval(() => socket.write(bytes[sent++ % bytes.length] ?? '', 'latin1'), 1000);
  socket.once('close', () => clearInterval(timer));
}

/** Responds with a head, and then does something else. */
const afterHead = (head: string, then: (socket: Socket) => void) => (socket: Socket) => {
  socket.once('data', () => {
    socket.write(`${head}\r\n\r\n`);
    then(socket);
  });
};

const redirect =
  (location: (socket: Socket) => string, headers = '') =>
  (socket: Socket) => {
    socket.once('data', () => socket.end(`HTTP/1.1 302 Found\r\nLocation: ${location(socket)}\r\n${headers}\r\n`));
  };

/** 10 KB that decompress to 10 MB. Repeated, they are still one valid gzip stream. */
const bomb = gzipSync(Buffer.alloc(10_000_000));
const handshake = '\x16\x03\x03\x40\x00\x02\x00\x3f\xfc\x03\x03'; // The beginning of a ServerHello of 16 KB.
const cookies = Array.from({ length: 7 }, (_, index) => `Set-Cookie: c${index}=${'x'.repeat(2000)}\r\n`).join('');

/** They make a check wait until its timeout. */
const slow: Record<string, (socket: Socket) => void> = {
  'http: tarpit': () => {},
  'http: slow headers': (socket) => drip(socket, `HTTP/1.1 200 OK\r\nx: ${'y'.repeat(1000)}`),
  'http: slow body': afterHead('HTTP/1.1 200 OK', (socket) => drip(socket, 'x')),
  'http: redirect to a tarpit': redirect(() => `http://tarpit.example:${ports['http: tarpit']}/`),
  'https: silent TLS': () => {},
  'https: slow TLS': (socket) => drip(socket, handshake),
  'http: silent HTTP/2': (socket) => void socket.write(frame('settings')),
};

/** They send as much as they can. */
const floods: Record<string, (socket: Socket) => void> = {
  'http: endless body': afterHead('HTTP/1.1 200 OK', (socket) => flood(socket, Buffer.alloc(64 * 1024))),
  'http: compression bomb': afterHead('HTTP/1.1 200 OK\r\nContent-Encoding: gzip', (socket) => flood(socket, bomb)),
  'http: endless headers': (socket) => flood(socket, Buffer.from(`HTTP/1.1 200 OK\r\n${'x: y\r\n'.repeat(1000)}`)),
  'http: endless informational responses': (socket) => flood(socket, Buffer.from('HTTP/1.1 102 Processing\r\n\r\n'.repeat(1000))),
  'http: endless redirects': redirect((socket) => `http://${socket.remotePort}.example:${socket.localPort}/`),
  'http: endless redirects with cookies': redirect(() => '/', cookies),
  'https: endless TLS': (socket) => flood(socket, Buffer.from(`\x16\x03\x03\x40\x00\x02\xff\xff\xff${'\0'.repeat(16_379)}`, 'latin1')),
  'http: endless body over HTTP/2': floodHttp2(...endlessHttp2Body),
  ...Object.fromEntries(
    Object.entries(http2Attacks).map(([name, [first, rest = first]]) => [`http: ${name} over HTTP/2`, floodHttp2(first, rest)]),
  ),
};

const ports: Record<string, number> = {};
const openCounts: (() => number)[] = [];
for (const [name, script] of Object.entries({ ...slow, ...floods })) {
  const { port, open } = await startTcpServer(host, (socket) => {
    script(socket);
    socket.resume(); // Otherwise the server does not notice that the connection was closed.
  });
  ports[name] = port;
  openCounts.push(open);
}
const urlsOf = (scripts: object) => Object.keys(scripts).map((name) => `${name.split(':')[0]}://hostile.example:${ports[name]}/`);
parentPort?.postMessage({ slow: [...urlsOf(slow), `http://slow.example:${ports['http: tarpit']}/`], floods: urlsOf(floods) });
// Any message is the question how many connections are open.
parentPort?.on('message', () => parentPort?.postMessage(openCounts.reduce((sum, open) => sum + open(), 0)));
