import http, { ClientRequest, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import https from 'node:https';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { parseRanges } from '../../src/net/addresses.ts';
import { BodyBuffer } from '../../src/net/body-buffer.ts';
import { type GuardedRequest, guardedRequest } from '../../src/net/guarded-request.ts';
import { NetworkError, type NetworkErrorKind } from '../../src/net/network-error.ts';
import { lookUpAll, type Net } from '../../src/net/resolve.ts';
import { type Authority, createAuthority, trust } from '../support/certificates.ts';
import { startDnsServer } from '../support/dns-server.ts';
import { startFullServer } from '../support/full-server.ts';
import { startTcpServer } from '../support/http2-server.ts';
import { startTestClock } from '../support/test-clock.ts';
import { scripts, startWebServer, type WebServer } from '../support/web-server.ts';

// 127.0.0.2 represents the public internet, 127.0.0.1 the operator's network.
const [externalAddress, internalAddress] = ['127.0.0.2', '127.0.0.1'];
const names: Record<string, string[]> = {
  'shop.example': [externalAddress],
  'external-first.example': [externalAddress, internalAddress],
  'internal-first.example': [internalAddress, externalAddress],
  'mapped.example': [`::ffff:${internalAddress}`],
  'private.example': ['10.0.0.1'],
  'empty.example': [],
  'dead-first.example': ['127.0.0.3', externalAddress],
};
const lookups: string[] = [];
const net: Net = {
  allow: parseRanges([externalAddress, '127.0.0.3']),
  async lookup(hostname) {
    lookups.push(hostname);
    const addresses = names[hostname];
    if (!addresses) throw Object.assign(new Error(`getaddrinfo ENOTFOUND ${hostname}`), { code: 'ENOTFOUND' });
    return addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }));
  },
};
const limits = { timeoutMs: 20_000, maxBytes: 1000, maxRedirects: 5 };

const startedServers: { close(): unknown }[] = [];
let authority: Authority;
let external: WebServer;
let internal: WebServer;

beforeAll(async () => {
  authority = await createAuthority();
  trust(authority);
  external = await startWebServer({ host: externalAddress });
  internal = await startWebServer({ host: internalAddress });
});

afterEach(async () => {
  for (const server of [external, internal]) Object.assign(server, { connections: 0, requests: [], script: scripts.respond() });
  lookups.length = 0;
  for (const server of startedServers.splice(0)) await server.close();
});

afterAll(async () => {
  await external.close();
  await internal.close();
});

const get = (url: string, options: Partial<GuardedRequest> = {}, through = net) => guardedRequest(url, { ...limits, ...options }, through);

async function errorOf(request: Promise<unknown>): Promise<NetworkError> {
  const error = await request.then(
    () => new Error('The request succeeded.'),
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(NetworkError);
  return error as NetworkError;
}

async function expectError(request: Promise<unknown>, kind: NetworkErrorKind, message: string) {
  const error = await errorOf(request);
  expect({ kind: error.kind, message: error.message }).toEqual({ kind, message });
}

async function startExternal(script = scripts.respond()): Promise<WebServer> {
  const server = await startWebServer({ host: externalAddress, script });
  startedServers.push(server);
  return server;
}

describe('request', () => {
  test('returns status, headers, body and URL of the response', async () => {
    external.script = scripts.respond('hello', 404, { 'x-own': 'yes' });
    const url = `http://shop.example:${external.port}/a/b?c=d#e`;
    const response = await get(url);
    expect(response).toMatchObject({ status: 404, url });
    expect(response.body.toString()).toBe('hello');
    expect(response.headers['x-own']).toBe('yes');
    expect(external.requests[0]).toMatchObject({ method: 'GET', path: '/a/b?c=d' });
    expect(external.requests[0]?.headers).toMatchObject({
      host: `shop.example:${external.port}`,
      'accept-encoding': 'identity',
      'user-agent': 'Sitekeeper',
      connection: 'close',
    });
  });

  test('sends a method, headers and a body', async () => {
    await get(`${external.url}/`, { method: 'POST', headers: { 'Content-Type': 'text/plain', 'User-Agent': 'own' }, body: 'grüße' });
    expect(external.requests[0]).toMatchObject({ method: 'POST', body: 'grüße' });
    expect(external.requests[0]?.headers).toMatchObject({ 'content-type': 'text/plain', 'content-length': '7', 'user-agent': 'own' });
  });

  test('uses a new connection for each request', async () => {
    await get(`${external.url}/`);
    await get(`${external.url}/`);
    expect(external.connections).toBe(2);
  });

  test('tries the next address if one does not respond', async () => {
    const response = await get(`http://dead-first.example:${external.port}/`);
    expect(response.status).toBe(200);
  });

  test.each([
    ['a text that is not a URL', 'example', 'the URL is not http or https'],
    ['another scheme', 'ftp://shop.example/', 'the URL is not http or https'],
    ['a URL with a user name', 'http://me:secret@shop.example/', 'the URL contains a user name or password'],
  ])('rejects %s', async (_, url, message) => expectError(get(url), 'protocol', message));
});

describe('addresses', () => {
  test('resolves a name once and connects to the address that was checked', async () => {
    let count = 0;
    const rebinding: Net = { ...net, lookup: async () => [{ address: count++ === 0 ? externalAddress : internalAddress, family: 4 }] };
    await get(`http://shop.example:${external.port}/`, {}, rebinding);
    expect(count).toBe(1);
    expect(external.connections).toBe(1);
  });

  test.each([
    ['an address that is not allowed', () => internal.url],
    ['another notation of it', () => `http://0x7f.1:${internal.port}/`],
    ['its IPv4-mapped form', () => `http://[::ffff:127.0.0.1]:${internal.port}/`],
    ['localhost', () => `http://localhost:${internal.port}/`],
    ['a name below localhost', () => `http://db.localhost.:${internal.port}/`],
    ['a name with a public and then a private address', () => `http://external-first.example:${internal.port}/`],
    ['a name with a private and then a public address', () => `http://internal-first.example:${internal.port}/`],
    ['a name with an IPv4-mapped address', () => `http://mapped.example:${internal.port}/`],
    ['a name with a private address', () => `http://private.example:${internal.port}/`],
  ])('does not connect to %s', async (_, url) => {
    await expectError(get(url()), 'address_not_allowed', 'address not allowed: it is private, local or reserved');
    expect([internal.connections, external.connections]).toEqual([0, 0]);
  });

  test('does not look up localhost, and connects to it if it is allowed', async () => {
    const response = await get(`http://localhost:${internal.port}/`, {}, { ...net, allow: parseRanges([internalAddress]) });
    expect(response.status).toBe(200);
    expect(lookups).toEqual([]);
  });
});

describe('DNS', () => {
  test('a name that does not exist or has no address is an error of the name', async () => {
    await expectError(get('http://unknown.example/'), 'dns', 'DNS name not found');
    await expectError(get('http://empty.example/'), 'dns', 'DNS name has no address');
  });

  test('an invalid name is an error with the resolver of this machine as well', async () => {
    const error = await errorOf(guardedRequest('http://a..b/', limits, { allow: [] }));
    // Without DNS, the resolver cannot tell whether the name exists.
    expect(error.kind).toBe('dns');
  });

  test('a resolver that fails is an error of the name', async () => {
    const failing = { ...net, lookup: () => Promise.reject(Object.assign(new Error('getaddrinfo'), { code: 'EAI_AGAIN' })) };
    await expectError(get('http://shop.example/', {}, failing), 'dns', 'DNS lookup failed: no response');
  });
});

describe('a timeout says what the request was waiting for:', () => {
  const timeoutMs = 700;

  /** Accepts connections, and leaves the rest to the script. */
  async function startTcp(script: (socket: Socket) => void = () => {}): Promise<number> {
    const sockets = new Set<Socket>();
    const server = createServer((socket) => {
      sockets.add(socket.on('error', () => {}));
      script(socket);
    });
    await new Promise<void>((resolve) => server.listen(0, externalAddress, resolve));
    startedServers.push({
      close() {
        for (const socket of sockets) socket.destroy();
        server.close();
      },
    });
    return (server.address() as AddressInfo).port;
  }

  function dripping(bytes: string) {
    return (socket: Socket) => {
      let sent = 0;
      const timer = setInterval(() => socket.write(bytes[sent++ % bytes.length] ?? ''), 20);
      socket.once('close', () => clearInterval(timer));
    };
  }

  test('DNS, with a server that responds too late', async () => {
    const dns = await startDnsServer(() => undefined);
    startedServers.push(dns);
    const slow = { ...net, lookup: (name: string) => lookUpAll(name, dns.resolver) };
    await expectError(get('http://shop.example/', { timeoutMs }, slow), 'unreachable', 'timed out after 0.7 s waiting for DNS');
    expect(external.connections).toBe(0);
  });

  test('the connection', async () => {
    const full = await startFullServer(externalAddress);
    startedServers.push(full);
    const { port } = full;
    await expectError(get(`http://${externalAddress}:${port}/`, { timeoutMs }), 'unreachable', 'timed out after 0.7 s while connecting');
  });

  test.each([
    ['is silent', () => {}],
    ['sends a handshake byte by byte', dripping('\x16\x03\x03\x40\x00\x02\x00\x3f\xfc')],
  ])('the TLS handshake, with a server that %s', async (_, script) => {
    const url = `https://shop.example:${await startTcp(script)}/`;
    await expectError(get(url, { timeoutMs }), 'timeout', 'timed out after 0.7 s during the TLS handshake');
  });

  test.each([
    ['is silent', () => {}],
    ['sends the headers byte by byte', dripping(`HTTP/1.1 200 OK\r\nx: ${'y'.repeat(1000)}`)],
  ])('the response, with a server that %s', async (_, script) => {
    const url = `http://shop.example:${await startTcp(script)}/`;
    await expectError(get(url, { timeoutMs }), 'timeout', 'timed out after 0.7 s waiting for the response');
  });

  test.each([
    ['drips', scripts.drip()],
    ['stalls before its end', scripts.stall()],
  ])('the body, if it %s', async (_, script) => {
    external.script = script;
    await expectError(get(external.url, { timeoutMs }), 'timeout', 'timed out after 0.7 s while reading the body');
  });

  test('each of them again after a redirect', async () => {
    external.script = ({ path }, response) => (path === '/' ? response.writeHead(302, { location: '/end' }).end('moved') : undefined);
    await expectError(get(external.url, { timeoutMs }), 'timeout', 'timed out after 0.7 s waiting for the response');
    external.script = scripts.redirect('http://slow.example/');
    const slow = { ...net, lookup: () => new Promise<never>(() => {}) };
    await expectError(get(external.url, { timeoutMs }, slow), 'unreachable', 'timed out after 0.7 s waiting for DNS');
    external.script = scripts.redirect(`https://shop.example:${await startTcp()}/`);
    await expectError(get(external.url, { timeoutMs }), 'timeout', 'timed out after 0.7 s during the TLS handshake');
  });
});

describe('a server that', () => {
  test('does not listen refuses the connection', async () => {
    const closed = await startWebServer({ host: externalAddress });
    await closed.close();
    await expectError(get(closed.url), 'refused', 'connection refused');
  });

  test.each([
    ['resets the connection', scripts.reset()],
    ['closes the connection within the body', scripts.truncate()],
  ])('%s causes an error', async (_, script) => {
    external.script = script;
    await expectError(get(external.url), 'reset', 'connection closed before the response was complete');
  });

  test.each([
    ['switches to another protocol', scripts.switchProtocols(), 'the response switches to another protocol'],
    ['returns the status 000', scripts.status('000'), 'the response is not valid HTTP'],
    ['returns the status 099', scripts.status('099'), 'the response is not valid HTTP'],
  ] as const)('%s violates the protocol', async (_, script, message) => {
    external.script = script;
    await expectError(get(external.url), 'protocol', message);
  });

  test.each([
    ['speaks another protocol', 'SSH-2.0-OpenSSH_9.9\r\n'],
    ['sends endless headers', `HTTP/1.1 200 OK\r\nx: ${'y'.repeat(100_000)}`],
    ['sends endless informational responses', 'HTTP/1.1 102 Processing\r\n\r\n'.repeat(1000)],
  ])('%s violates the protocol', async (_, bytes) => {
    const server = createServer((socket) => socket.on('error', () => {}).write(bytes)).listen(0, externalAddress);
    startedServers.push(server);
    await new Promise((resolve) => server.once('listening', resolve));
    const { port } = server.address() as AddressInfo;
    await expectError(get(`http://${externalAddress}:${port}/`), 'protocol', 'the response is not valid HTTP');
  });
});

describe('response body', () => {
  test('is read up to the maximum size, and the connection is closed', async () => {
    let closed: Promise<void> | undefined;
    external.script = (request, response) => {
      closed = new Promise((resolve) => void response.once('close', resolve));
      scripts.endless()(request, response);
    };
    const response = await get(external.url);
    expect(response.status).toBe(200);
    expect(response.body).toHaveLength(1000);
    await closed;
  });

  test('that stalls after exactly the maximum size is complete', async () => {
    external.script = (_, response) => void response.writeHead(200).write(Buffer.alloc(1000, 'x'));
    const { body, isCut } = await get(external.url);
    expect(body).toHaveLength(1000);
    expect(isCut).toBe(false);
  });

  const sendTinyChunks = (count: number) => {
    const head = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n';
    external.script = (_, response) => void response.socket?.end(`${head}${'1\r\nx\r\n'.repeat(count)}0\r\n\r\n`);
  };

  test('in tiny chunks is not kept as one buffer for each of them', async () => {
    const [bytes, maxBytes] = [60_000, 1024 * 1024];
    sendTinyChunks(bytes);
    const concat = vi.spyOn(Buffer, 'concat');
    onTestFinished(() => concat.mockRestore());
    const { body } = await get(external.url, { maxBytes });
    const kept = Math.max(0, ...concat.mock.calls.map(([list]) => list.length));
    expect(body).toHaveLength(bytes);
    expect(kept).toBeLessThan(10_000);
  });

  test('whose chunks have much more than 320 KiB of frames is cut off', async () => {
    sendTinyChunks(300_000);
    const { status, body, isCut } = await get(external.url, { maxBytes: 1024 * 1024 });
    expect([status, isCut]).toEqual([200, true]);
    expect(body.length).toBeGreaterThan(10_000);
    expect(body.length).toBeLessThan(100_000);
  });

  test('in tiny chunks is parsed in turns, between which other work goes on', async () => {
    const original = BodyBuffer.prototype.add;
    const add = vi.spyOn(BodyBuffer.prototype, 'add');
    let [nowMs, inThisTurn, most] = [0, 0, 0];
    // Each piece seems to take the time of a whole turn.
    const now = vi.spyOn(performance, 'now').mockImplementation(() => (nowMs += 20));
    onTestFinished(() => {
      add.mockRestore();
      now.mockRestore();
    });
    add.mockImplementation(function (this: BodyBuffer, chunk) {
      if (inThisTurn++ === 0)
        queueMicrotask(() => {
          inThisTurn = 0;
        });
      most = Math.max(most, inThisTurn);
      return original.call(this, chunk);
    });
    sendTinyChunks(50_000);
    await get(external.url, { maxBytes: 1024 * 1024 });
    expect(most).toBeGreaterThan(500);
    expect(most).toBeLessThan(1500);
  });

  test('is not decompressed', async () => {
    external.script = scripts.respond('not really gzip', 200, { 'content-encoding': 'gzip' });
    expect((await get(external.url)).body.toString()).toBe('not really gzip');
  });

  test('is not waited for if the request ends with the head', async () => {
    external.script = scripts.stall();
    const endsWithHead = ({ 'content-length': length }: IncomingHttpHeaders) => length === '1000';
    expect(await get(external.url, { endsWithHead })).toMatchObject({ status: 200, body: Buffer.alloc(0) });
  });
});

test('authorities that become trusted later are known', async () => {
  const later = await createAuthority();
  const server = await startWebServer({ host: externalAddress, certificate: await later.issue('shop.example') });
  startedServers.push(server);
  const url = `https://shop.example:${server.port}/`;
  await expectError(get(url), 'tls', 'TLS certificate signed by an unknown authority');
  trust(later);
  expect(await get(url)).toMatchObject({ status: 200 });
});

test('20 informational responses are accepted, and 21 are not', async () => {
  let count = 20;
  external.script = (_, response) =>
    void response.socket?.end(`${'HTTP/1.1 103 ?\r\n\r\n'.repeat(count)}HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n`);
  expect(await get(external.url)).toMatchObject({ status: 200 });
  count++;
  await expectError(get(external.url), 'protocol', 'the response is not valid HTTP');
});

test('the parser is stopped soon after there were too many informational responses, because it occupies the process', async () => {
  external.script = (_, response) => void response.socket?.end('HTTP/1.1 100\r\n\r\n'.repeat(4000));
  const emit = vi.spyOn(ClientRequest.prototype, 'emit');
  onTestFinished(() => emit.mockRestore());
  await expectError(get(external.url), 'protocol', 'the response is not valid HTTP');
  const parsed = emit.mock.calls.filter(([event]) => (event as string) === 'information').length;
  expect(parsed).toBeLessThanOrEqual(100);
});

describe('redirects', () => {
  test('are followed, including relative ones, and the last response is returned', async () => {
    external.script = ({ path }, response) => (path === '/end' ? response.end() : response.writeHead(302, { location: 'end' }).end());
    const response = await get(`http://shop.example:${external.port}/start`);
    expect(response).toMatchObject({ status: 200, url: `http://shop.example:${external.port}/end` });
    expect(lookups).toEqual(['shop.example', 'shop.example']);
  });

  test('share one timeout', async () => {
    const clock = startTestClock();
    onTestFinished(() => clock.stop());
    external.script = (_, response) => {
      clock.advance(150);
      response.writeHead(302, { location: '/again' }).end();
    };
    await expectError(get(external.url, { timeoutMs: 400 }), 'timeout', 'timed out after 0.4 s waiting for the response');
  });

  test.each([
    ['an address that is not allowed', () => `${internal.url}/secret`],
    ['a name with a private address', () => `http://private.example:${internal.port}/`],
    ['a name with a public and a private address', () => `//external-first.example:${internal.port}/`],
    ['localhost', () => `http://localhost:${internal.port}/`],
  ])('to %s are rejected without a connection', async (_, location) => {
    external.script = scripts.redirect(location());
    await expectError(get(external.url), 'address_not_allowed', 'address not allowed: it is private, local or reserved');
    expect(internal.connections).toBe(0);
    expect(external.connections).toBe(1);
  });

  test.each([
    ['another scheme', 'file:///etc/passwd', 'the redirect is not http or https'],
    ['a URL with a password', 'http://a:b@shop.example/', 'the redirect contains a user name or password'],
  ])('to %s are rejected', async (_, location, message) => {
    external.script = scripts.redirect(location);
    await expectError(get(external.url), 'redirect', message);
  });

  test('in a loop end after the maximum number', async () => {
    external.script = scripts.redirect('/');
    await expectError(get(external.url, { maxRedirects: 5 }), 'redirect', 'too many redirects');
    expect(external.requests).toHaveLength(6);
  });

  test.each([
    ['without a Location', scripts.respond('', 302)],
    ['with an invalid Location', scripts.redirect('http://[')],
  ])('%s are returned as the response', async (_, script) => {
    external.script = script;
    expect(await get(external.url)).toMatchObject({ status: 302 });
  });

  test('are returned as the response if maxRedirects is 0', async () => {
    external.script = scripts.redirect(internal.url);
    expect(await get(external.url, { maxRedirects: 0 })).toMatchObject({ status: 302 });
    expect(internal.connections).toBe(0);
  });

  test('to another origin lose the credentials, even if they lead back to the first origin', async () => {
    const other = await startExternal(scripts.redirect(`${external.url}/back`));
    external.script = ({ path }, response) => {
      if (path === '/back') response.end('back');
      else response.writeHead(302, { location: path === '/' ? '/same' : `${other.url}/` }).end();
    };
    const headers = { Authorization: 'Bearer secret', Cookie: 'a=b', 'X-Api-Key': 'secret', 'Accept-Language': 'de' };
    expect(await get(`${external.url}/`, { headers })).toMatchObject({ status: 200 });
    const [first, sameOrigin, back] = external.requests;
    for (const request of [first, sameOrigin])
      expect(request?.headers).toMatchObject({ authorization: 'Bearer secret', cookie: 'a=b', 'x-api-key': 'secret' });
    for (const request of [other.requests[0], back]) {
      expect(JSON.stringify(request)).not.toMatch(/secret|a=b/);
      expect(request?.headers['accept-language']).toBe('de');
    }
  });

  const post = { method: 'POST', body: 'secret', headers: { 'Content-Type': 'text/plain' } };

  test.each([301, 302, 303])('with status %i turn a POST into a GET without a body', async (status) => {
    external.script = ({ path }, response) => (path === '/' ? response.writeHead(status, { location: '/next' }).end() : response.end());
    await get(`${external.url}/`, post);
    expect(external.requests[1]).toMatchObject({ method: 'GET', body: '' });
    expect(external.requests[1]?.headers).not.toHaveProperty('content-type');
    expect(external.requests[1]?.headers).not.toHaveProperty('content-length');
  });

  test.each([307, 308])('with status %i keep a POST on the same origin and are rejected to another one', async (status) => {
    const other = await startExternal();
    external.script = ({ path }, response) => (path === '/' ? response.writeHead(status, { location: '/next' }).end() : response.end());
    await get(`${external.url}/`, post);
    expect(external.requests[1]).toMatchObject({ method: 'POST', body: 'secret' });
    external.script = scripts.redirect(other.url, status);
    await expectError(get(`${external.url}/`, post), 'redirect', 'a redirect to another origin cannot repeat the request body');
    expect(other.connections).toBe(0);
  });
});

describe('redirects of requests with secrets', () => {
  const headers = { Authorization: 'top-secret', Accept: 'hidden/type', 'X-Plain': 'plain', 'User-Agent': 'own' };
  const secretNames = ['AUTHORIZATION', 'Accept'];

  /** Redirects every request but those to /end. */
  const redirectTo =
    (location: string, status = 302) =>
    ({ path }: { path: string }, response: ServerResponse) =>
      path === '/end' ? response.end() : response.writeHead(status, { location }).end();

  test('to another origin lose the secret headers, whatever their names are, and keep the others', async () => {
    const other = await startExternal();
    external.script = scripts.redirect(`${other.url}/end`);
    await get(external.url, { headers, secretNames });
    expect(external.requests[0]?.headers).toMatchObject({ authorization: 'top-secret', accept: 'hidden/type' });
    expect(other.requests[0]?.headers).toMatchObject({ accept: '*/*', 'x-plain': 'plain', 'user-agent': 'own' });
    expect(JSON.stringify(other.requests)).not.toMatch(/top-secret|hidden/);
  });

  test('to the same origin keep all headers', async () => {
    external.script = redirectTo('/end');
    await get(`${external.url}/`, { headers, secretNames });
    const sent = { authorization: 'top-secret', accept: 'hidden/type', 'x-plain': 'plain' };
    expect(external.requests.map((request) => request.headers)).toEqual([expect.objectContaining(sent), expect.objectContaining(sent)]);
  });

  test('that lead back to the first origin do not get the secrets back', async () => {
    const other = await startExternal(scripts.redirect(`${external.url}/end`));
    external.script = redirectTo(`${other.url}/`);
    await get(`${external.url}/`, { headers, secretNames });
    expect(external.requests.map(({ path }) => path)).toEqual(['/', '/end']);
    expect(JSON.stringify([other.requests, external.requests[1]])).not.toMatch(/top-secret|hidden/);
    expect(external.requests[1]?.headers['x-plain']).toBe('plain');
  });

  test('to another name of the same address lose the secrets', async () => {
    external.script = redirectTo(`http://shop.example:${external.port}/end`);
    await get(`${external.url}/`, { headers, secretNames });
    expect(external.requests).toHaveLength(2);
    expect(JSON.stringify(external.requests[1])).not.toMatch(/top-secret|hidden/);
  });

  test('from http to https of the same host and port lose the secrets', async () => {
    const received: IncomingHttpHeaders[] = [];
    const secure = https.createServer(await authority.issue('shop.example'), (request, response) => {
      received.push(request.headers);
      response.end();
    });
    const plain = http.createServer((request, response) => {
      response.writeHead(301, { location: `https://${request.headers.host}/` }).end();
    });
    const isTls = (bytes: Buffer) => bytes[0] === 0x16;
    const server = await startTcpServer(externalAddress, (socket) =>
      socket.once('data', (bytes) => {
        socket.pause();
        socket.unshift(bytes);
        if (isTls(bytes)) secure.emit('connection', socket);
        else plain.emit('connection', socket) && socket.resume();
      }),
    );
    startedServers.push(server);
    expect(await get(`http://shop.example:${server.port}/`, { headers, secretNames })).toMatchObject({ status: 200 });
    expect(received).toEqual([expect.objectContaining({ 'x-plain': 'plain', accept: '*/*' })]);
    expect(JSON.stringify(received)).not.toMatch(/top-secret|hidden/);
  });

  test('with an empty list of secrets keep all headers', async () => {
    const other = await startExternal();
    external.script = scripts.redirect(`${other.url}/end`);
    await get(external.url, { headers, secretNames: [] });
    expect(other.requests[0]?.headers).toMatchObject({ authorization: 'top-secret', accept: 'hidden/type' });
  });

  test('send a secret cookie beside the cookies of redirects, and not to another origin', async () => {
    const other = await startExternal();
    external.script = ({ path }, response) => {
      const location = path === '/' ? '/next' : `${other.url}/end`;
      response.writeHead(302, { location, 'set-cookie': 'fresh=1' }).end();
    };
    await get(`${external.url}/`, { headers: { Cookie: 'own=top-secret' }, secretNames: ['Cookie'], keepsCookies: true });
    expect(external.requests.map((request) => request.headers.cookie)).toEqual(['own=top-secret', 'own=top-secret; fresh=1']);
    // The rules of browsers: a cookie is for a host, not for a port.
    expect(other.requests[0]?.headers.cookie).toBe('fresh=1');
  });

  test('send a cookie that is no secret to another origin as well', async () => {
    const other = await startExternal();
    external.script = scripts.redirect(`${other.url}/end`);
    await get(external.url, { headers: { Cookie: 'theme=dark' }, secretNames: [], keepsCookies: true });
    expect(other.requests[0]?.headers.cookie).toBe('theme=dark');
  });
});

describe('a redirect of the method', () => {
  const isGet = { method: 'GET', body: '' };
  const body = 'sent text';
  const redirectOnce =
    (status: number, location = '/next') =>
    ({ path }: { path: string }, response: ServerResponse) =>
      path === '/' ? response.writeHead(status, { location }).end() : response.end();
  const withBody = { body, headers: { 'Content-Type': 'text/plain', 'Content-Language': 'de', 'X-Plain': 'kept' } };

  test.each([
    ['POST', 301, isGet],
    ['POST', 302, isGet],
    ['POST', 303, isGet],
    ['POST', 307, { method: 'POST', body }],
    ['POST', 308, { method: 'POST', body }],
    ['PUT', 301, { method: 'PUT', body }],
    ['PUT', 302, { method: 'PUT', body }],
    ['PUT', 303, isGet],
    ['PUT', 307, { method: 'PUT', body }],
    ['PUT', 308, { method: 'PUT', body }],
    ['PATCH', 302, { method: 'PATCH', body }],
    ['PATCH', 303, isGet],
    ['DELETE', 301, { method: 'DELETE', body }],
    ['DELETE', 303, isGet],
  ])('%s with status %i arrives as it should, with its body or without', async (method, status, expected) => {
    external.script = redirectOnce(status);
    await get(`${external.url}/`, { method, ...withBody });
    expect(external.requests).toEqual([expect.objectContaining({ method, body }), expect.objectContaining(expected)]);
    const second = external.requests[1]?.headers;
    expect(second?.['x-plain']).toBe('kept');
    const keepsBody = expected.method === method;
    expect(['content-type', 'content-language', 'content-length'].map((name) => second?.[name] !== undefined)).toEqual(
      Array(3).fill(keepsBody),
    );
  });

  test.each([301, 302, 303, 307, 308])('HEAD with status %i stays HEAD', async (status) => {
    external.script = redirectOnce(status);
    await get(`${external.url}/`, { method: 'HEAD' });
    expect(external.requests.map(({ method }) => method)).toEqual(['HEAD', 'HEAD']);
  });

  test.each([
    ['DELETE', 302, 'DELETE'],
    ['DELETE', 303, 'GET'],
    ['POST', 307, 'POST'],
    ['POST', 302, 'GET'],
    ['OPTIONS', 301, 'OPTIONS'],
  ])('%s without a body and with status %i goes to another origin as %s', async (method, status, expected) => {
    const other = await startExternal();
    external.script = redirectOnce(status, `${other.url}/next`);
    await get(`${external.url}/`, { method });
    expect(other.requests).toEqual([expect.objectContaining({ method: expected, body: '' })]);
  });

  test.each([
    ['PUT', 301],
    ['PUT', 302],
    ['DELETE', 308],
    ['GET', 302],
    ['GET', 303],
  ])('%s with a body and with status %i is rejected to another origin, without a connection', async (method, status) => {
    const other = await startExternal();
    external.script = redirectOnce(status, `${other.url}/next`);
    const request = get(`${external.url}/`, { method, ...withBody });
    await expectError(request, 'redirect', 'a redirect to another origin cannot repeat the request body');
    expect(other.connections).toBe(0);
  });

  test('PUT with a body and with status 303 goes to another origin as GET without it', async () => {
    const other = await startExternal();
    external.script = redirectOnce(303, `${other.url}/next`);
    await get(`${external.url}/`, { method: 'PUT', ...withBody, secretNames: [] });
    expect(other.requests).toEqual([expect.objectContaining(isGet)]);
    expect(other.requests[0]?.headers).not.toHaveProperty('content-type');
  });
});

describe('TLS', () => {
  async function startHttps(certificate: { key: string; cert: string }): Promise<string> {
    const server = await startWebServer({ host: externalAddress, certificate });
    startedServers.push(server);
    return `https://shop.example:${server.port}/`;
  }

  test('accepts a certificate of a trusted authority', async () => {
    expect(await get(await startHttps(await authority.issue('shop.example')))).toMatchObject({ status: 200 });
  });

  test('asks for the certificate of a name without the dot at its end', async () => {
    const server = await startWebServer({
      host: externalAddress,
      certificate: await authority.issue('shop.example'),
      script: (_, response) => void response.end(String((response.socket as TLSSocket).servername)),
    });
    startedServers.push(server);
    const { body } = await get(
      `https://shop.example.:${server.port}/`,
      {},
      { ...net, lookup: async () => [{ address: externalAddress, family: 4 }] },
    );
    expect(body.toString()).toBe('shop.example');
  });

  test('rejects an expired certificate and reports its date', async () => {
    const expired = await authority.issue('shop.example', { from: new Date('2025-01-31T00:00:00Z'), to: new Date('2026-01-31T12:00:00Z') });
    await expectError(get(await startHttps(expired)), 'tls', 'TLS certificate expired on 2026-01-31');
  });

  test('reports no date if the certificate of its issuer has expired', async () => {
    const issuer = await createAuthority({ hasExpired: true });
    trust(issuer);
    await expectError(get(await startHttps(await issuer.issue('shop.example'))), 'tls', 'TLS certificate expired');
  });

  test('rejects a certificate that is not valid yet', async () => {
    const year = 365 * 24 * 60 * 60 * 1000;
    const future = await authority.issue('shop.example', { from: new Date(Date.now() + year), to: new Date(Date.now() + 2 * year) });
    await expectError(get(await startHttps(future)), 'tls', 'TLS certificate not valid yet');
  });

  test('rejects a certificate for another name', async () => {
    await expectError(get(await startHttps(await authority.issue('other.example'))), 'tls', 'TLS certificate is for another name');
  });

  test('rejects self-signed certificates and unknown authorities, even with NODE_TLS_REJECT_UNAUTHORIZED=0', async () => {
    const unknownAuthority = await createAuthority();
    const before = process.env.NODE_TLS_REJECT_UNAUTHORIZED;
    process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0';
    try {
      await expectError(get(await startHttps(unknownAuthority)), 'tls', 'TLS certificate is self-signed');
      await expectError(
        get(await startHttps(await unknownAuthority.issue('shop.example'))),
        'tls',
        'TLS certificate signed by an unknown authority',
      );
    } finally {
      if (before === undefined) delete process.env.NODE_TLS_REJECT_UNAUTHORIZED;
      else process.env.NODE_TLS_REJECT_UNAUTHORIZED = before;
    }
  });

  test('accepts every certificate if it is not verified, also after a redirect', async () => {
    const url = await startHttps(await createAuthority());
    expect(await get(url, { verifiesTls: false })).toMatchObject({ status: 200 });
    external.script = scripts.redirect(url);
    expect(await get(external.url, { verifiesTls: false })).toMatchObject({ status: 200 });
    await expectError(get(url, { verifiesTls: true }), 'tls', 'TLS certificate is self-signed');
  });

  test('that is not verified does not allow other addresses', async () => {
    const server = await startWebServer({ host: internalAddress, certificate: await createAuthority() });
    startedServers.push(server);
    const message = 'address not allowed: it is private, local or reserved';
    await expectError(get(server.url, { verifiesTls: false }), 'address_not_allowed', message);
  });

  test('reports a server that does not support it', async () => {
    await expectError(get(`https://shop.example:${external.port}/`), 'tls', 'TLS handshake failed');
  });
});
