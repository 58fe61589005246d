// Clients that are slow, send too much, or do not speak HTTP.

import type { Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect } from 'vitest';
import type { Database } from '../../src/db/database.ts';
import { createDatabase, urlOf } from '../support/database.ts';
import { guarantee } from '../support/guarantee.ts';
import { expectRawProblem, rawExchange } from '../support/raw-http.ts';
import { slowest, startStopwatch } from '../support/stall.ts';
import { Deployment, type RunningService } from './support/deployment.ts';
import { memoryOf, reportMemoryOnSignal } from './support/memory.ts';

let database: Database;
let deployment: Deployment;
let service: RunningService;
let authorization: string;
let post: string;

beforeAll(async () => {
  database = await createDatabase();
  deployment = await Deployment.create({ DATABASE_URL: urlOf(database) });
  service = await deployment.serve({ NODE_OPTIONS: reportMemoryOnSignal });
  authorization = `Authorization: Bearer ${deployment.key}`;
  post = `POST /api/monitors HTTP/1.1\r\nHost: x\r\n${authorization}\r\nContent-Type: application/json\r\n`;
});
afterAll(async () => {
  await deployment?.remove();
  await database?.close();
});

guarantee(9, '500 slow clients that send single bytes are disconnected within 10 s, and other clients are served', async () => {
  const beginnings = {
    'half a request line': 'GET /api/mon',
    'headers without an end': 'GET /api/monitors HTTP/1.1\r\nX-Slow: ',
    'half a body': `${post}Content-Length: 10000\r\n\r\n{"`,
    'half an anonymous body': 'POST /api/monitors HTTP/1.1\r\nHost: x\r\nContent-Length: 10000\r\n\r\n{"',
    'half a chunk': `${post}Transfer-Encoding: chunked\r\n\r\nffff\r\n{"`,
  };
  const exchange = async (beginning: string) => {
    const elapsed = startStopwatch();
    const response = await rawExchange(service.url, drip(beginning), { allowHalfOpen: true });
    return { ...response, elapsed: elapsed() };
  };
  const clients = Object.values(beginnings).flatMap((beginning) => Array.from({ length: 100 }, () => exchange(beginning)));
  let open = clients.length;
  for (const client of clients) client.finally(() => open--);
  const latencies: number[] = [];
  let servedBeside500 = 0;
  while (open > 0) {
    const start = performance.now();
    expect((await service.api.get('/api/monitors')).status).toBe(200);
    latencies.push(performance.now() - start);
    if (open === clients.length) servedBeside500++;
    await delay(50); // Without a pause, this client would be the one that keeps the service busy.
  }
  const responses = await Promise.all(clients);
  // If they waited for the slow clients, only the first one would have started beside all of them.
  expect(servedBeside500).toBeGreaterThan(10);
  // Anonymous requests are rejected before their body is read.
  for (const response of responses.filter(({ status }) => status !== 401)) expectRawProblem(response, 408, 'request_timeout', 'slow');
  expect(responses.filter(({ status }) => status === 401)).toHaveLength(100);
  latencies.sort((a, b) => a - b);
  const [median, longest] = [latencies[latencies.length >> 1] ?? 0, latencies.at(-1) ?? 0];
  return {
    elapsed: [slowest(responses.map(({ elapsed }) => elapsed))],
    measured: `${responses.length} closed; ${latencies.length} other requests served, ${servedBeside500} of them beside all 500, median ${median.toFixed(1)} ms, longest ${longest.toFixed(0)} ms`,
  };
});

guarantee(10, 'Bodies of 10 MB and endless chunked bodies get 413, and memory does not grow', async () => {
  const declaredBytes = 10_000_000;
  const rounds = 3;
  const flood = async () => {
    const clients = Array.from({ length: 80 }, (_, index) =>
      index % 2 === 0
        ? rawExchange(service.url, pour(`${post}Content-Length: ${declaredBytes}\r\n\r\n`, 'x'.repeat(65_536), declaredBytes))
        : rawExchange(service.url, pour(`${post}Transfer-Encoding: chunked\r\n\r\n`, `10000\r\n${'x'.repeat(65_536)}\r\n`)),
    );
    const responses = await Promise.all(clients);
    for (const response of responses) expectRawProblem(response, 413, 'body_too_large', 'flood');
    return Math.max(...responses.map(({ bytesSent }) => bytesSent)) / 1e6;
  };
  const start = await memoryOf(service);
  await flood(); // The first requests of a process allocate memory that it keeps.
  const warm = await memoryOf(service);
  const mostSent: number[] = [];
  for (let round = 0; round < rounds; round++) mostSent.push(await flood());
  const end = await memoryOf(service);
  const kept = end.heap + end.buffers - warm.heap - warm.buffers;
  const peak = end.peak - start.peak;
  expect(kept).toBeLessThan(30); // It would be 20 more for each round if each body left behind the 256 KiB that can be read of it.
  expect(peak).toBeLessThan(400); // The bodies of one flood have 800 MB in total.
  return `${80 * rounds} bodies rejected, at most ${Math.max(...mostSent).toFixed(1)} MB of one accepted; peak ${peak.toFixed(0)} MB above the start, ${kept.toFixed(1)} MB kept`;
});

guarantee(11, '1,000 headers or 17 KiB of headers get 431, and whatever the HTTP parser rejects gets a problem as well', async () => {
  const get = `GET /api/monitors HTTP/1.1\r\nHost: x\r\n${authorization}\r\n`;
  const headers = (count: number) => Array.from({ length: count }, (_, index) => `h${index}: 1\r\n`).join('');
  const close = 'Connection: close\r\n\r\n';
  const tooLarge = {
    '1,000 headers': `${get}${headers(1000)}${close}`,
    '201 headers': `${get}${headers(198)}${close}`,
    'the key after 1,000 headers': `GET /api/monitors HTTP/1.1\r\nHost: x\r\n${headers(1000)}${authorization}\r\n${close}`,
    '17 KiB in one header': `${get}X-Long: ${'x'.repeat(17 * 1024)}\r\n${close}`,
    '17 KiB in many headers': `${get}${Array.from({ length: 100 }, (_, index) => `h${index}: ${'x'.repeat(170)}\r\n`).join('')}${close}`,
    'a path of 17 KiB': `GET /${'x'.repeat(17 * 1024)} HTTP/1.1\r\nHost: x\r\n${close}`,
  };
  for (const [name, request] of Object.entries(tooLarge)) {
    expectRawProblem(await rawExchange(service.url, request), 431, 'headers_too_large', name);
  }
  expect((await rawExchange(service.url, `${get}${headers(197)}${close}`)).status).toBe(200);

  const chunked = `${post}Transfer-Encoding: chunked\r\n\r\n`;
  const malformed = {
    garbage: 'NOT HTTP\r\n\r\n',
    'a TLS handshake': '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03',
    'HTTP/2': 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
    'HTTP/9.9': 'GET / HTTP/9.9\r\n\r\n',
    'an unknown method': `FETCH / HTTP/1.1\r\nHost: x\r\n${close}`,
    'a space in the path': `GET /a b HTTP/1.1\r\nHost: x\r\n${close}`,
    'a path that is not ASCII': `GET /b\xfccher HTTP/1.1\r\nHost: x\r\n${close}`,
    'no Host': `GET /api/monitors HTTP/1.1\r\n${close}`,
    'a proxy request': 'CONNECT example.com:443 HTTP/1.1\r\nHost: example.com\r\n\r\n',
    'NUL in a header': `${get}X-Nul: a\0b\r\n${close}`,
    'a folded header': `${get}X-Folded: a\r\n b\r\n${close}`,
    'a space before the colon': `${get}X-Space : a\r\n${close}`,
    'line ends without CR': 'GET /api/monitors HTTP/1.1\nHost: x\n\n',
    'two Content-Length headers': `${post}Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}`,
    'a Content-Length that is not a number': `${post}Content-Length: many\r\n\r\n{}`,
    'a negative Content-Length': `${post}Content-Length: -1\r\n\r\n{}`,
    'Content-Length and chunks': `${post}Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
    'an unknown Transfer-Encoding': `${post}Transfer-Encoding: chunked, x\r\n\r\n0\r\n\r\n`,
    'a chunk without a size': `${chunked}zz\r\n{}\r\n0\r\n\r\n`,
    'a chunk larger than its size': `${chunked}1\r\n{}\r\n0\r\n\r\n`,
    'a chunk of 2^64 bytes': `${chunked}10000000000000000\r\n{}`,
    '64 KiB of chunk extensions': `${chunked}1;${'x'.repeat(65_536)}\r\n{\r\n0\r\n\r\n`,
  };
  for (const [name, request] of Object.entries(malformed)) {
    expectRawProblem(await rawExchange(service.url, request), 400, 'malformed_request', name);
  }
  // RFC 9110 allows a server to ignore an expectation that it does not know.
  expect((await rawExchange(service.url, `${get}Expect: miracles\r\n${close}`)).status).toBe(200);
  expect((await service.api.get('/api/monitors')).status).toBe(200);
  return `${Object.keys(tooLarge).length} × 431, ${Object.keys(malformed).length} × 400, each with one problem`;
});

/** Sends a byte every 250 ms until the server closes the connection, whatever it responds. */
function drip(beginning: string) {
  return (socket: Socket) => {
    socket.write(beginning);
    const timer = setInterval(() => socket.write('x'), 250);
    socket.once('close', () => clearInterval(timer));
  };
}

/** Sends as fast as the server reads: the given number of bytes, or endlessly. */
function pour(beginning: string, portion: string, bytes = Number.POSITIVE_INFINITY) {
  return (socket: Socket) => {
    socket.write(beginning);
    let left = bytes;
    const more = () => {
      while (left > 0 && !socket.destroyed) {
        left -= portion.length;
        if (!socket.write(portion)) return;
      }
    };
    socket.on('drain', more);
    more();
  };
}
