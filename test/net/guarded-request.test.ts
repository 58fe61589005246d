import { createServer } from 'node:net';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { parseRanges } from '../../src/net/addresses.ts';
import { type GuardedRequest, guardedRequest } from '../../src/net/guarded-request.ts';
import { NetworkError, type NetworkErrorKind, toNetworkError } from '../../src/net/network-error.ts';
import type { Net } from '../../src/net/resolve.ts';
import { type Authority, createAuthority, trust } from '../support/certificates.ts';
import { scripts, startWebServer, type WebServer } from '../support/web-server.ts';

// 127.0.0.2 stands for the public internet, 127.0.0.1 for the operator's network.
const [outside, inside] = ['127.0.0.2', '127.0.0.1'];
const names: Record<string, string[]> = {
  'shop.example': [outside],
  'rebind.example': [outside, inside],
  'sneaky.example': [inside, outside],
  'mapped.example': [`::ffff:${inside}`],
  'private.example': ['10.0.0.1'],
  'empty.example': [],
  'dead-and-alive.example': ['127.0.0.3', outside],
};
const asked: string[] = [];
const net: Net = {
  allow: parseRanges([outside, '127.0.0.3']),
  async lookup(hostname) {
    asked.push(hostname);
    const addresses = names[hostname];
    if (!addresses) throw Object.assign(new Error(`getaddrinfo ENOTFOUND ${hostname}`), { code: 'ENOTFOUND' });
    return addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }));
  },
};
const limits = { timeoutMs: 20_000, maxBytes: 1000, maxRedirects: 5 };

const started: { close(): unknown }[] = [];
let authority: Authority;
let outer: WebServer;
let inner: WebServer;

beforeAll(async () => {
  authority = await createAuthority();
  trust(authority);
  outer = await startWebServer({ host: outside });
  inner = await startWebServer({ host: inside });
});

afterEach(async () => {
  for (const server of [outer, inner]) Object.assign(server, { connections: 0, requests: [], script: scripts.accept() });
  asked.length = 0;
  for (const server of started.splice(0)) await server.close();
});

afterAll(async () => {
  await outer.close();
  await inner.close();
});

const get = (url: string, options: Partial<GuardedRequest> = {}, through = net) => guardedRequest(url, { ...limits, ...options }, through);

async function faultOf(request: Promise<unknown>): Promise<NetworkError> {
  const error = await request.then(
    () => new Error('no fault'),
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(NetworkError);
  return error as NetworkError;
}

async function expectFault(request: Promise<unknown>, kind: NetworkErrorKind, message: string) {
  const fault = await faultOf(request);
  expect({ kind: fault.kind, message: fault.message }).toEqual({ kind, message });
}

async function httpsServer(certificate: { key: string; cert: string }): Promise<string> {
  const server = await startWebServer({ host: outside, certificate });
  started.push(server);
  return `https://shop.example:${server.port}/`;
}

test('the answer of a name: status, headers, body, where it came from', async () => {
  outer.script = scripts.accept('hello', 404, { 'x-own': 'yes' });
  const url = `http://shop.example:${outer.port}/a/b?c=d#e`;
  const answer = await get(url);
  expect(answer).toMatchObject({ status: 404, truncated: false, url });
  expect(answer.body.toString()).toBe('hello');
  expect(answer.headers['x-own']).toBe('yes');
  expect(outer.requests[0]).toMatchObject({ method: 'GET', path: '/a/b?c=d' });
  expect(outer.requests[0]?.headers).toMatchObject({
    host: `shop.example:${outer.port}`,
    'accept-encoding': 'identity',
    'user-agent': 'Sitekeeper',
    connection: 'close',
  });
});

test('the name is resolved once, and the judged address is the one connected to', async () => {
  let times = 0;
  const rebinding: Net = { ...net, lookup: async () => [{ address: times++ === 0 ? outside : inside, family: 4 }] };
  await get(`http://shop.example:${outer.port}/`, {}, rebinding);
  expect(times).toBe(1);
  expect(outer.connections).toBe(1);
});

test('each request has a connection of its own', async () => {
  await get(`${outer.url}/`);
  await get(`${outer.url}/`);
  expect(outer.connections).toBe(2);
});

test('a method, headers and a body are sent', async () => {
  await get(`${outer.url}/`, { method: 'POST', headers: { 'Content-Type': 'text/plain', 'User-Agent': 'own' }, body: 'grüße' });
  expect(outer.requests[0]).toMatchObject({ method: 'POST', body: 'grüße' });
  expect(outer.requests[0]?.headers).toMatchObject({ 'content-type': 'text/plain', 'content-length': '7', 'user-agent': 'own' });
});

test('of several addresses the next is tried when one does not answer', async () => {
  const answer = await get(`http://dead-and-alive.example:${outer.port}/`);
  expect(answer.status).toBe(200);
});

test.each([
  ['an address', () => inner.url],
  ['another notation of it', () => `http://0x7f.1:${inner.port}/`],
  ['its mapped form', () => `http://[::ffff:127.0.0.1]:${inner.port}/`],
  ['localhost', () => `http://localhost:${inner.port}/`],
  ['a name below localhost', () => `http://db.localhost.:${inner.port}/`],
  ['a name with a public address first and a private one next', () => `http://rebind.example:${inner.port}/`],
  ['a name with a private address first', () => `http://sneaky.example:${inner.port}/`],
  ['a name with a mapped address', () => `http://mapped.example:${inner.port}/`],
  ['a name with a private address', () => `http://private.example:${inner.port}/`],
])('%s that is not allowed gets no connection', async (_, url) => {
  await expectFault(get(url()), 'address_not_allowed', 'address not allowed: it is private, local or reserved');
  expect([inner.connections, outer.connections]).toEqual([0, 0]);
});

test('localhost is not looked up, and works where it is allowed', async () => {
  const answer = await get(`http://localhost:${inner.port}/`, {}, { ...net, allow: parseRanges([inside]) });
  expect(answer.status).toBe(200);
  expect(asked).toEqual([]);
});

test.each([
  ['not a URL', 'example', 'the URL is not http or https'],
  ['another scheme', 'ftp://shop.example/', 'the URL is not http or https'],
  ['a user name in it', 'http://me:secret@shop.example/', 'the URL holds a user name or password'],
])('%s is refused', async (_, url, message) => expectFault(get(url), 'protocol', message));

test('DNS: a name that does not exist, one without an address, the real resolver', async () => {
  await expectFault(get('http://nowhere.example/'), 'dns', 'DNS name not found');
  await expectFault(get('http://empty.example/'), 'dns', 'DNS name without an address');
  const byHosts = await faultOf(guardedRequest('http://a..b/', limits, { allow: [] }));
  expect(['dns', 'local']).toContain(byHosts.kind);
});

test('a resolver that fails or hangs is our side, not the other', async () => {
  const failing = { ...net, lookup: () => Promise.reject(Object.assign(new Error('getaddrinfo'), { code: 'EAI_AGAIN' })) };
  await expectFault(get('http://shop.example/', {}, failing), 'local', 'DNS did not answer');
  const hanging = { ...net, lookup: () => new Promise<never>(() => {}) };
  await expectFault(get('http://shop.example/', { timeoutMs: 100 }, hanging), 'local', 'DNS did not answer, timed out after 0.1 s');
});

test('connection refused', async () => {
  const gone = await startWebServer({ host: outside });
  await gone.close();
  await expectFault(get(gone.url), 'refused', 'connection refused');
});

test.each([
  ['hangs', scripts.hang()],
  ['drips for ever', scripts.drip()],
])('a server that %s', async (_, script) => {
  outer.script = script;
  await expectFault(get(outer.url, { timeoutMs: 300 }), 'timeout', 'timed out after 0.3 s');
});

test.each([
  ['resets the connection', scripts.reset()],
  ['breaks off in the body', scripts.breakOff()],
])('a server that %s', async (_, script) => {
  outer.script = script;
  await expectFault(get(outer.url), 'reset', 'connection closed before the answer was complete');
});

test.each([
  ['switches to another protocol', scripts.switchProtocols(), 'the answer switches to another protocol'],
  ['answers with the status 000', scripts.status('000'), 'the answer is not valid HTTP'],
  ['answers with the status 099', scripts.status('099'), 'the answer is not valid HTTP'],
] as const)('a server that %s', async (_, script, message) => {
  outer.script = script;
  await expectFault(get(outer.url), 'protocol', message);
});

test('one deadline for all redirects together', async () => {
  outer.script = (_, response) => void setTimeout(() => response.writeHead(302, { location: '/again' }).end(), 150);
  await expectFault(get(outer.url, { timeoutMs: 400 }), 'timeout', 'timed out after 0.4 s');
});

test.each([
  ['no HTTP at all', 'SSH-2.0-OpenSSH_9.9\r\n'],
  ['headers without end', `HTTP/1.1 200 OK\r\nx: ${'y'.repeat(100_000)}`],
])('%s is a fault of the protocol', async (_, bytes) => {
  const server = createServer((socket) => socket.on('error', () => {}).write(bytes)).listen(0, outside);
  started.push(server);
  await new Promise((resolve) => server.once('listening', resolve));
  await expectFault(get(`http://${outside}:${(server.address() as { port: number }).port}/`), 'protocol', 'the answer is not valid HTTP');
});

test('an answer that does not say how long it is must end where that is asked for; a longer one that says so is cut', async () => {
  outer.script = scripts.endless();
  await expectFault(get(outer.url, { maxUnsizedBytes: 100_000 }), 'protocol', 'the answer did not end within 100000 bytes');
  outer.script = (_, response) => response.writeHead(200).end(Buffer.alloc(50_000));
  expect(await get(outer.url, { maxUnsizedBytes: 100_000 })).toMatchObject({ truncated: true });
  outer.script = (_, response) => response.writeHead(200, { 'content-length': 1e9 }).write(Buffer.alloc(200_000));
  expect(await get(outer.url, { maxUnsizedBytes: 100_000 })).toMatchObject({ truncated: true });
});

test('an endless answer is cut, and so is its connection', async () => {
  let closed: Promise<void> | undefined;
  outer.script = (request, response) => {
    closed = new Promise((resolve) => void response.once('close', resolve));
    scripts.endless()(request, response);
  };
  const answer = await get(outer.url);
  expect(answer).toMatchObject({ status: 200, truncated: true });
  expect(answer.body).toHaveLength(1000);
  await closed;
});

test('an answer of just the allowed size is whole', async () => {
  outer.script = scripts.accept('x'.repeat(1000));
  expect(await get(outer.url)).toMatchObject({ truncated: false });
});

test('a packed answer is not unpacked', async () => {
  outer.script = scripts.accept('not really gzip', 200, { 'content-encoding': 'gzip' });
  expect((await get(outer.url)).body.toString()).toBe('not really gzip');
});

test('redirects are followed, relative ones too, and the last answer counts', async () => {
  outer.script = ({ path }, response) => (path === '/end' ? response.end() : response.writeHead(302, { location: 'end' }).end());
  const answer = await get(`http://shop.example:${outer.port}/start`);
  expect(answer).toMatchObject({ status: 200, url: `http://shop.example:${outer.port}/end` });
  expect(asked).toEqual(['shop.example', 'shop.example']);
});

test.each([
  ['an address', () => `${inner.url}/secret`],
  ['a name', () => `http://private.example:${inner.port}/`],
  ['a name that also has a public address', () => `//rebind.example:${inner.port}/`],
  ['localhost', () => `http://localhost:${inner.port}/`],
])('a redirect to %s that is not allowed is refused, and no connection is made', async (_, location) => {
  outer.script = scripts.redirect(location());
  await expectFault(get(outer.url), 'address_not_allowed', 'address not allowed: it is private, local or reserved');
  expect(inner.connections).toBe(0);
  expect(outer.connections).toBe(1);
});

test.each([
  ['another scheme', 'file:///etc/passwd', 'the redirect is not http or https'],
  ['a URL with a password', 'http://a:b@shop.example/', 'the redirect holds a user name or password'],
])('a redirect to %s is refused', async (_, location, message) => {
  outer.script = scripts.redirect(location);
  await expectFault(get(outer.url), 'redirect', message);
});

test('a redirect in a circle ends after the allowed number', async () => {
  outer.script = scripts.redirect('/');
  await expectFault(get(outer.url, { maxRedirects: 5 }), 'redirect', 'too many redirects');
  expect(outer.requests).toHaveLength(6);
});

test.each([
  ['without a Location', scripts.accept('', 302)],
  ['with one that is no URL', scripts.redirect('http://[')],
])('a redirect %s is the answer', async (_, script) => {
  outer.script = script;
  expect(await get(outer.url)).toMatchObject({ status: 302 });
});

test('with no redirects allowed, a redirect is the answer', async () => {
  outer.script = scripts.redirect(inner.url);
  expect(await get(outer.url, { maxRedirects: 0 })).toMatchObject({ status: 302 });
  expect(inner.connections).toBe(0);
});

test('credentials stay with their origin, and do not come back on the way home', async () => {
  const other = await startWebServer({ host: outside, script: scripts.redirect(`${outer.url}/home`) });
  started.push(other);
  outer.script = ({ path }, response) => {
    if (path === '/home') response.end('home');
    else response.writeHead(302, { location: path === '/' ? '/same' : `${other.url}/` }).end();
  };
  const headers = { Authorization: 'Bearer secret', Cookie: 'a=b', 'X-Api-Key': 'secret', 'Accept-Language': 'de' };
  expect(await get(`${outer.url}/`, { headers })).toMatchObject({ status: 200 });
  const [first, same, home] = outer.requests;
  for (const request of [first, same])
    expect(request?.headers).toMatchObject({ authorization: 'Bearer secret', cookie: 'a=b', 'x-api-key': 'secret' });
  for (const request of [other.requests[0], home]) {
    expect(JSON.stringify(request)).not.toMatch(/secret|a=b/);
    expect(request?.headers['accept-language']).toBe('de');
  }
});

const post = { method: 'POST', body: 'secret', headers: { 'Content-Type': 'text/plain' } };

test.each([301, 302, 303])('after %i a POST goes on as a GET without its body', async (status) => {
  outer.script = ({ path }, response) => (path === '/' ? response.writeHead(status, { location: '/next' }).end() : response.end());
  await get(`${outer.url}/`, post);
  expect(outer.requests[1]).toMatchObject({ method: 'GET', body: '' });
  expect(outer.requests[1]?.headers).not.toHaveProperty('content-type');
  expect(outer.requests[1]?.headers).not.toHaveProperty('content-length');
});

test.each([307, 308])('after %i a POST stays one on the same origin, and goes to no other', async (status) => {
  const other = await startWebServer({ host: outside });
  started.push(other);
  outer.script = ({ path }, response) => (path === '/' ? response.writeHead(status, { location: '/next' }).end() : response.end());
  await get(`${outer.url}/`, post);
  expect(outer.requests[1]).toMatchObject({ method: 'POST', body: 'secret' });
  outer.script = scripts.redirect(other.url, status);
  await expectFault(get(`${outer.url}/`, post), 'redirect', 'the redirect leads to another origin');
  expect(other.connections).toBe(0);
});

test('TLS: a certificate of a trusted authority is accepted', async () => {
  expect(await get(await httpsServer(await authority.issue('shop.example')))).toMatchObject({ status: 200 });
});

test('TLS: an expired certificate is refused with its date', async () => {
  const expired = await authority.issue('shop.example', { from: new Date('2025-01-31T00:00:00Z'), to: new Date('2026-01-31T12:00:00Z') });
  await expectFault(get(await httpsServer(expired)), 'tls', 'TLS certificate expired on 2026-01-31');
});

test('TLS: a certificate that is not valid yet is refused', async () => {
  const early = await authority.issue('shop.example', { from: new Date('2048-01-01T00:00:00Z'), to: new Date('2049-01-01T00:00:00Z') });
  await expectFault(get(await httpsServer(early)), 'tls', 'TLS certificate not valid yet');
});

test('TLS: a certificate for another name is refused', async () => {
  await expectFault(get(await httpsServer(await authority.issue('other.example'))), 'tls', 'TLS certificate is for another name');
});

test('TLS: self-signed and unknown authorities are refused, also with the check switched off in the environment', async () => {
  const stranger = await createAuthority();
  const before = process.env.NODE_TLS_REJECT_UNAUTHORIZED;
  process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0';
  try {
    await expectFault(get(await httpsServer(stranger)), 'tls', 'TLS certificate is self-signed');
    await expectFault(
      get(await httpsServer(await stranger.issue('shop.example'))),
      'tls',
      'TLS certificate signed by an unknown authority',
    );
  } finally {
    if (before === undefined) delete process.env.NODE_TLS_REJECT_UNAUTHORIZED;
    else process.env.NODE_TLS_REJECT_UNAUTHORIZED = before;
  }
});

test('TLS: a server that does not speak it', async () => {
  await expectFault(get(`https://shop.example:${outer.port}/`), 'tls', 'TLS handshake failed');
});

test.each(['ENETUNREACH', 'EMFILE', 'ENFILE', 'ENETDOWN', 'EADDRNOTAVAIL', 'EAI_AGAIN'])('%s is our side', (code) =>
  expect(toNetworkError(Object.assign(new Error(code), { code }))).toMatchObject({ kind: 'local' }),
);

test('where one address has no route and another refuses, the refusal counts', () => {
  const errors = ['ENETUNREACH', 'ECONNREFUSED'].map((code) => Object.assign(new Error(code), { code }));
  expect(toNetworkError(new AggregateError(errors))).toMatchObject({ kind: 'refused' });
  expect(toNetworkError(new AggregateError(errors.slice(0, 1)))).toMatchObject({ kind: 'local' });
});

test('a mistake of our own is no fault of the network', () => {
  const mistake = new TypeError('x is not a function');
  expect(toNetworkError(mistake)).toBe(mistake);
});
