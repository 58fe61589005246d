import { EventEmitter } from 'node:events';
import type { ServerHttp2Stream } from 'node:http2';
import { type AddressInfo, connect } from 'node:net';
import { createServer } from 'node:tls';
import { afterEach, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { parseRanges } from '../../src/net/addresses.ts';
import { BodyBuffer } from '../../src/net/body-buffer.ts';
import { type GuardedRequest, guardedRequest } from '../../src/net/guarded-request.ts';
import type { Net } from '../../src/net/resolve.ts';
import { type Authority, createAuthority, trust } from '../support/certificates.ts';
import {
  endlessHttp2Body,
  floodHttp2,
  frame,
  type Http2Server,
  http2Attacks,
  literalHeader,
  startHttp2Server,
  startSilentHttp2Server,
  startTcpServer,
} from '../support/http2-server.ts';
import { startTestClock } from '../support/test-clock.ts';
import { startWebServer } from '../support/web-server.ts';

const host = '127.0.0.2';
let lookups = 0;
const net: Net = {
  allow: parseRanges([host]),
  async lookup() {
    lookups++;
    return [{ address: host, family: 4 }];
  },
};
const limits = { timeoutMs: 20_000, maxBytes: 1000, maxRedirects: 5 };
const get = (url: string, options: Partial<GuardedRequest> = {}) => guardedRequest(url, { ...limits, ...options }, net);

let authority: Authority;
const started: { close(): unknown }[] = [];

beforeAll(async () => {
  authority = await createAuthority();
  trust(authority);
});
afterEach(async () => {
  lookups = 0;
  for (const server of started.splice(0)) await server.close();
});

async function keep<T extends { close(): unknown }>(starting: Promise<T>): Promise<T> {
  const server = await starting;
  started.push(server);
  return server;
}

const startSecure = async (name = 'shop.example') => keep(startHttp2Server(host, await authority.issue(name)));
const startCleartext = () => keep(startHttp2Server(host));

const respond =
  (status: number, headers = {}, body = '') =>
  (stream: ServerHttp2Stream) => {
    stream.respond({ ':status': status, ...headers });
    stream.end(body);
  };

/** Both ways to reach a server that speaks only HTTP/2. */
const servers: [string, () => Promise<[Http2Server, string]>][] = [
  ['with TLS', async () => startSecure().then((server) => [server, `https://shop.example:${server.port}`])],
  ['in cleartext', async () => startCleartext().then((server) => [server, `http://shop.example:${server.port}`])],
];

describe.each(servers)('a server that speaks only HTTP/2, %s,', (_, start) => {
  test('gets the request over HTTP/2, at the addresses that were checked for HTTP/1.1', async () => {
    const [server, url] = await start();
    server.script = respond(404, { 'x-own': 'yes' }, 'hello');
    const response = await get(`${url}/a/b?c=d#e`, { headers: { 'X-Mine': '1' } });
    expect(response).toMatchObject({ status: 404, url: `${url}/a/b?c=d#e` });
    expect(response.body.toString()).toBe('hello');
    expect(response.headers).toMatchObject({ 'x-own': 'yes' });
    expect(response.headers).not.toHaveProperty(':status');
    expect(server.requests.map(({ headers }) => headers)).toEqual([
      expect.objectContaining({
        ':method': 'GET',
        ':path': '/a/b?c=d',
        ':scheme': new URL(url).protocol.slice(0, -1),
        ':authority': new URL(url).host,
        'user-agent': 'Sitekeeper',
        'accept-encoding': 'identity',
        'x-mine': '1',
      }),
    ]);
    expect(lookups).toBe(1);
    expect(server.connections).toBe(2);
    await expect.poll(() => server.open(), { timeout: 10_000 }).toBe(0);
  });

  test('can redirect, also to HTTP/1.1', async () => {
    const [server, url] = await start();
    const other = await keep(startWebServer({ host }));
    server.script = (stream, { ':path': path }) => respond(302, { location: path === '/' ? '/next' : `${other.url}/end` })(stream);
    expect(await get(`${url}/`)).toMatchObject({ status: 200, url: `${other.url}/end` });
    expect(server.requests.map(({ headers }) => headers[':path'])).toEqual(['/', '/next']);
    await expect.poll(() => server.open(), { timeout: 10_000 }).toBe(0);
  });

  test('sends as much of the body as is wanted', async () => {
    const [server, url] = await start();
    server.script = respond(200, {}, 'x'.repeat(3_000_000));
    expect((await get(url)).body).toHaveLength(1000);
    server.script = (stream) => stream.respond({ ':status': 200, 'content-type': 'text/event-stream' });
    expect(await get(url, { endsWithHead: () => true })).toMatchObject({ status: 200 });
    await expect.poll(() => server.open(), { timeout: 10_000 }).toBe(0);
  });

  test.each([
    ['waiting for the response', () => {}],
    ['while reading the body', (stream: ServerHttp2Stream) => sendPart(stream)],
  ])('can time out %s', async (phase, script) => {
    const [server, url] = await start();
    const clock = startTestClock();
    onTestFinished(() => clock.stop());
    const reached = Promise.withResolvers<void>();
    server.script = (stream) => {
      script(stream);
      if (phase === 'waiting for the response') reached.resolve();
    };
    const response = get(url, { onResponse: reached.resolve });
    void reached.promise.then(() => clock.advance(limits.timeoutMs));
    await expect(response).rejects.toMatchObject({ kind: 'timeout', message: `timed out after 20 s ${phase}` });
    await clock.until(() => server.open() === 0);
  });

  test.each([
    ['the stream without a response', (stream: ServerHttp2Stream) => stream.close(0)],
    ['the stream with an error', (stream: ServerHttp2Stream) => stream.close(2)],
    ['the stream within the body', (stream: ServerHttp2Stream) => sendPart(stream).close(8)],
    ['the stream within the body without an error', (stream: ServerHttp2Stream) => sendPart(stream).close(0)],
    ['the session within the body', (stream: ServerHttp2Stream) => sendPart(stream).session?.destroy()],
    ['the connection within the body', (stream: ServerHttp2Stream) => void stream.write('x', () => stream.session?.socket.destroy())],
  ])('can close %s', async (__, script) => {
    const [server, url] = await start();
    server.script = script;
    const message = 'connection closed before the response was complete';
    await expect(get(url)).rejects.toMatchObject({ kind: 'reset', message });
    await expect.poll(() => server.open(), { timeout: 10_000 }).toBe(0);
  });
});

function sendPart(stream: ServerHttp2Stream): ServerHttp2Stream {
  stream.respond({ ':status': 200, 'content-length': 100 });
  stream.write('so far');
  return stream;
}

describe('the certificate of a server that speaks only HTTP/2', () => {
  test('is verified', async () => {
    const { port } = await startSecure('other.example');
    await expect(get(`https://shop.example:${port}/`)).rejects.toMatchObject({ message: 'TLS certificate is for another name' });
  });

  test('is reported with its date if it has expired', async () => {
    const validity = { from: new Date('2025-01-31T00:00:00Z'), to: new Date('2026-01-31T12:00:00Z') };
    const { port } = await keep(startHttp2Server(host, await authority.issue('shop.example', validity)));
    await expect(get(`https://shop.example:${port}/`)).rejects.toMatchObject({ message: 'TLS certificate expired on 2026-01-31' });
  });
});

describe('a server that closes connections with HTTP/1.1 after the TLS handshake', () => {
  test('gets the request over HTTP/2 if it speaks that', async () => {
    const { port } = await keep(startSilentHttp2Server(host, await authority.issue('shop.example')));
    expect(await get(`https://shop.example:${port}/`)).toMatchObject({ status: 200 });
  });

  test('is reported as such if it does not', async () => {
    const certificate = await authority.issue('shop.example');
    const { port } = await keep(startWebServer({ host, certificate, script: (_, response) => response.socket?.destroy() }));
    const message = 'connection closed before the response was complete';
    await expect(get(`https://shop.example:${port}/`)).rejects.toMatchObject({ kind: 'reset', message });
  });
});

describe('a request with a body', () => {
  const post = { method: 'POST', body: 'grüße', headers: { 'Content-Type': 'text/plain' } };

  test('is repeated over HTTP/2 if the TLS handshake failed before it was sent', async () => {
    const server = await startSecure();
    expect(await get(`https://shop.example:${server.port}/`, post)).toMatchObject({ status: 200 });
    const headers = expect.objectContaining({ ':method': 'POST', 'content-type': 'text/plain', 'content-length': '7' });
    expect(server.requests).toEqual([{ headers, body: 'grüße' }]);
  });

  test('is not repeated otherwise', async () => {
    const cleartext = await startCleartext();
    await expect(get(`http://shop.example:${cleartext.port}/`, post)).rejects.toMatchObject({ message: 'the response is not valid HTTP' });
    const silent = await keep(startSilentHttp2Server(host, await authority.issue('shop.example')));
    await expect(get(`https://shop.example:${silent.port}/`, post)).rejects.toMatchObject({ kind: 'reset' });
    expect(cleartext.connections).toBe(1);
  });
});

test('20 informational responses over HTTP/2 are accepted, and 21 are not', async () => {
  const server = await startCleartext();
  let count = 20;
  server.script = (stream) => {
    for (let sent = 0; sent < count; sent++) stream.additionalHeaders({ ':status': 103 });
    respond(200)(stream);
  };
  expect(await get(`http://shop.example:${server.port}/`)).toMatchObject({ status: 200 });
  count++;
  await expect(get(`http://shop.example:${server.port}/`)).rejects.toMatchObject({ message: 'the response is not valid HTTP' });
});

test('a complete response over HTTP/2 with 100 headers is accepted, and one with more than 256 is not', async () => {
  const getWithHeaders = async (count: number) => {
    const headers = Array.from({ length: count }, (_, index) => literalHeader(`x-${index}`, 'y'));
    const response = frame('headers', Buffer.concat([Buffer.from([0x88]), ...headers]), { flags: 5, stream: 1 });
    const { port } = await keep(
      startTcpServer(host, (socket) => {
        socket.write(frame('settings'));
        socket.once('data', (request) => request.toString('latin1').startsWith('PRI * HTTP/2') && socket.write(response));
      }),
    );
    return get(`http://shop.example:${port}/`).catch((error: unknown) => error);
  };
  expect(await getWithHeaders(100)).toMatchObject({ status: 200 });
  expect(await getWithHeaders(300)).toMatchObject({ kind: 'reset' });
});

describe('a server that attacks the client with', () => {
  async function startFlood(first: Buffer, rest = first) {
    const sent: number[] = [];
    const attack = floodHttp2(first, rest, (socket) => socket.once('close', () => sent.push(socket.bytesWritten)));
    const server = await keep(startTcpServer(host, attack));
    return { sent, url: `http://shop.example:${server.port}/` };
  }

  test.each(Object.entries(http2Attacks))('%s violates the protocol', async (_, attack) => {
    const { sent, url } = await startFlood(...attack);
    await expect(get(url)).rejects.toMatchObject({ message: expect.stringMatching(/^the response is not valid HTTP$|^connection closed/) });
    await expect.poll(() => sent.length, { timeout: 10_000 }).toBe(1);
    expect(sent[0]).toBeLessThan(10 * 2 ** 20); // This includes the socket buffers of both sides.
  });

  test('pings is disconnected after little more than 128 KiB', async () => {
    const pings = Buffer.concat(Array.from({ length: 100 }, () => frame('ping', Buffer.alloc(8))));
    let answered = 0;
    const attack = floodHttp2(pings, pings, (socket) => socket.on('data', (bytes) => (answered += bytes.length)));
    const server = await keep(startTcpServer(host, attack));
    await expect(get(`http://shop.example:${server.port}/`)).rejects.toMatchObject({ message: 'the response is not valid HTTP' });
    await expect.poll(() => server.open()).toBe(0);
    expect(answered).toBeGreaterThan(10_000);
    expect(answered).toBeLessThan(140 * 1024);
  });

  test('informational responses is disconnected soon, because the parser occupies the process', async () => {
    const one = frame('headers', Buffer.from([0x08, 3, 0x31, 0x30, 0x33]), { flags: 4, stream: 1 });
    const { url } = await startFlood(Buffer.concat(Array.from({ length: 4000 }, () => one)));
    const emit = vi.spyOn(EventEmitter.prototype, 'emit');
    onTestFinished(() => emit.mockRestore());
    await expect(get(url)).rejects.toMatchObject({ message: 'the response is not valid HTTP' });
    const parsed = emit.mock.calls.filter(([event]) => event === 'headers').length;
    expect(parsed).toBeGreaterThan(20);
    expect(parsed).toBeLessThan(200);
  });

  const head = frame('headers', Buffer.from([0x88]), { flags: 4, stream: 1 });
  const tiny = frame('data', Buffer.from('x'), { stream: 1 });

  test('tiny frames of a body gets no further than 128 KiB of frames', async () => {
    const { url } = await startFlood(head, Buffer.concat(Array.from({ length: 1000 }, () => tiny)));
    const { status, body } = await get(url, { maxBytes: 1024 * 1024 });
    expect(status).toBe(200);
    expect(body.length).toBeGreaterThan(10_000);
    expect(body.length).toBeLessThan(20_000);
  });

  test('tiny frames of a body is parsed in turns, between which other work goes on', async () => {
    const add = vi.spyOn(BodyBuffer.prototype, 'add');
    let [nowMs, most, isDone] = [0, 0, false];
    // Each piece seems to take the time of a whole turn.
    const now = vi.spyOn(performance, 'now').mockImplementation(() => (nowMs += 20));
    onTestFinished(() => {
      add.mockRestore();
      now.mockRestore();
    });
    const { url } = await startFlood(head, Buffer.concat(Array.from({ length: 1000 }, () => tiny)));
    const response = get(url, { maxBytes: 10_000 }).finally(() => {
      isDone = true;
    });
    while (!isDone) {
      const before = add.mock.calls.length;
      await new Promise(setImmediate);
      most = Math.max(most, add.mock.calls.length - before);
    }
    expect((await response).body).toHaveLength(10_000);
    expect(most).toBeGreaterThan(10);
    expect(most).toBeLessThan(500);
  });

  test('an endless body gets no further than the maximum size', async () => {
    const { sent, url } = await startFlood(...endlessHttp2Body);
    expect((await get(url, { maxBytes: 64 * 1024 })).body).toHaveLength(64 * 1024);
    await expect.poll(() => sent.length, { timeout: 10_000 }).toBe(1);
  });
});

test('a server that refuses HTTP/1.1 with GOAWAY gets the request over HTTP/2', async () => {
  const inner = await startCleartext();
  const server = await keep(
    startTcpServer(host, (socket) => {
      socket.once('data', (request) => {
        if (!request.toString('latin1').startsWith('PRI * HTTP/2')) return socket.end(frame('goaway', Buffer.alloc(8)));
        const upstream = connect(inner.port, host);
        upstream.on('error', () => {}).write(request);
        socket.pipe(upstream).pipe(socket);
      });
    }),
  );
  expect(await get(`http://shop.example:${server.port}/`)).toMatchObject({ status: 200 });
});

test('a server without ALPN that closes the connection is asked for HTTP/2 only if it chooses it', async () => {
  const server = createServer(await authority.issue('shop.example'), (socket) => {
    socket.on('error', () => {});
    // It would be silent if it got HTTP/2.
    socket.once('data', (bytes) => bytes.toString().startsWith('GET') && socket.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, host, resolve));
  started.push(server);
  const { port } = server.address() as AddressInfo;
  await expect(get(`https://shop.example:${port}/`)).rejects.toMatchObject({
    kind: 'reset',
    message: 'connection closed before the response was complete',
  });
}, 10_000);

describe('a server that does not wait for the client and ends the connection', () => {
  const [settings, response] = [frame('settings'), frame('headers', Buffer.from([0x88]), { flags: 5, stream: 1 })];
  const reset = frame('resetStream', Buffer.from([0, 0, 0, 2]), { stream: 1 });

  // What the client writes has often not left when the last packet arrives. An exception then would end the process.
  test.each([
    ['with its response', response, { status: 200 }],
    ['with an error', reset, { kind: 'reset' }],
    ['after its settings', frame('settings', Buffer.alloc(0), { flags: 1 }), { kind: 'reset' }],
  ])('%s causes no exception', async (_, last, expected) => {
    const exceptions: unknown[] = [];
    const onException = (error: unknown) => exceptions.push(error);
    process.on('uncaughtException', onException);
    onTestFinished(() => void process.off('uncaughtException', onException));
    const server = createServer({ ...(await authority.issue('shop.example')), ALPNProtocols: ['h2'] }, (socket) => {
      socket.on('error', () => {}).write(settings);
      socket.end(last);
    });
    await new Promise<void>((resolve) => server.listen(0, host, resolve));
    started.push(server);
    const { port } = server.address() as AddressInfo;
    for (let count = 0; count < 10; count++) {
      expect(await get(`https://shop.example:${port}/`).catch((error: unknown) => error)).toMatchObject(expected);
    }
    await new Promise(setImmediate);
    expect(exceptions).toEqual([]);
  });
});
