import http, { type IncomingHttpHeaders, type IncomingMessage } from 'node:http';
import https from 'node:https';
import { isIP, type LookupFunction } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { NetFault, toNetFault } from './net-fault.ts';
import { type Net, resolveHost } from './resolve.ts';

export interface GuardedRequest {
  method?: string;
  headers?: Record<string, string>;
  body?: string | Buffer;
  /** For everything together: names, connections, redirects, the last byte. */
  timeoutMs: number;
  /** How much of the answer's body is kept; then the connection is cut. */
  maxBytes: number;
  /** An answer that does not say how long it is must end within so many bytes, or it is a fault. Not asked for if absent. */
  maxOpenBytes?: number;
  /** None if 0: a redirect is then an answer like any other. */
  maxRedirects: number;
}

export interface GuardedAnswer {
  status: number;
  headers: IncomingHttpHeaders;
  body: Buffer;
  /** There was more than `maxBytes`. */
  truncated: boolean;
  /** Where the answer came from after redirects. */
  url: string;
}

interface Hop {
  url: URL;
  method: string;
  headers: Record<string, string>;
  body: string | Buffer | undefined;
}

/**
 * The one way to addresses that users name. Every address is judged before we connect, and it is the judged one that we
 * connect to, on every redirect anew. Throws NetFault where no answer came.
 */
export async function guardedRequest(address: string, options: GuardedRequest, net: Net): Promise<GuardedAnswer> {
  const deadline = new AbortController();
  const timer = setTimeout(() => deadline.abort(), options.timeoutMs);
  try {
    return await follow(address, options, net, deadline.signal);
  } catch (error) {
    if (deadline.signal.aborted && !(error instanceof NetFault)) throw timedOut('timeout', 'timed out', options);
    throw toNetFault(error);
  } finally {
    clearTimeout(timer);
  }
}

async function follow(address: string, options: GuardedRequest, net: Net, signal: AbortSignal): Promise<GuardedAnswer> {
  const { method = 'GET', headers = {}, body, maxRedirects } = options;
  let hop: Hop = { url: usableUrl(URL.parse(address), 'protocol', 'the URL'), method, headers: lowerCased(headers), body };
  for (let redirects = 0; ; redirects++) {
    const answer = await exchange(hop, options, net, signal);
    const target = maxRedirects > 0 ? redirectTarget(answer, hop.url) : undefined;
    if (!target) return await read(answer, hop.url, options);
    answer.destroy();
    if (redirects === maxRedirects) throw new NetFault('redirect', 'too many redirects');
    hop = redirected(hop, answer.statusCode ?? 0, usableUrl(target, 'redirect', 'the redirect'));
  }
}

// Of several addresses each gets this long before the next one is tried; Node's own 250 ms are too few for a far server.
const patience = { autoSelectFamilyAttemptTimeout: 1000 };

/** One request on a connection of its own, up to the head of the answer. */
async function exchange(
  { url, method, headers, body }: Hop,
  options: GuardedRequest,
  net: Net,
  signal: AbortSignal,
): Promise<IncomingMessage> {
  const host = url.hostname.replace(/^\[|\]$/g, '');
  // A resolver that says nothing is most often our own: names of others fail with an answer.
  const late = timedOut('our_side', 'DNS did not answer, timed out', options);
  const addresses = await orAborted(resolveHost(host, net), signal, late);
  return new Promise((resolve, reject) => {
    const request = (url.protocol === 'https:' ? https : http).request({
      protocol: url.protocol,
      hostname: host,
      port: url.port,
      path: `${url.pathname}${url.search}`,
      method,
      headers: {
        'user-agent': 'Sitekeeper',
        accept: '*/*',
        ...headers,
        'accept-encoding': 'identity', // nothing is unpacked here, so a small answer cannot become a huge one
        ...(body !== undefined && { 'content-length': Buffer.byteLength(body) }),
      },
      agent: false,
      signal,
      // Node asks only for names; a host that is an address was judged, and is connected to as it is.
      lookup: answerWith(addresses),
      ...patience,
      servername: isIP(host) === 0 ? host.replace(/\.$/, '') : '',
      rejectUnauthorized: true, // also where NODE_TLS_REJECT_UNAUTHORIZED says otherwise
    });
    let certificateExpiry: Date | undefined;
    request.once('socket', (socket) => {
      // Before Node judges the certificate, because it is gone afterwards.
      socket.prependOnceListener('secure', () => {
        certificateExpiry = new Date((socket as TLSSocket).getPeerCertificate().valid_to);
      });
    });
    request.on('error', (error) => reject(withExpiry(error, certificateExpiry)));
    request.once('upgrade', (_, socket) => {
      socket.destroy();
      reject(new NetFault('protocol', 'the answer switches to another protocol'));
    });
    // Whatever else may end a connection without an answer and without an error: nobody shall wait for ever.
    const endWithoutAnswer = () => reject(new NetFault('reset', 'connection closed before the answer was complete'));
    request.once('close', endWithoutAnswer);
    request.once('response', (answer) => {
      request.off('close', endWithoutAnswer);
      answer.on('error', () => {}); // whoever reads it hears of it; after a redirect nobody does
      if ((answer.statusCode ?? 0) >= 100) return resolve(answer);
      answer.destroy();
      reject(new NetFault('protocol', 'the answer is not valid HTTP'));
    });
    request.end(body);
  });
}

async function read(answer: IncomingMessage, url: URL, { maxBytes, maxOpenBytes = 0 }: GuardedRequest): Promise<GuardedAnswer> {
  const mustEndWithin = answer.headers['content-length'] === undefined ? maxOpenBytes : 0;
  const chunks: Buffer[] = [];
  let size = 0;
  // Leaving the loop destroys the answer and its connection.
  for await (const chunk of answer as AsyncIterable<Buffer>) {
    if (size <= maxBytes) chunks.push(chunk);
    size += chunk.length;
    if (size > maxBytes && mustEndWithin === 0) break;
    if (mustEndWithin > 0 && size > mustEndWithin) throw new NetFault('protocol', `the answer did not end within ${mustEndWithin} bytes`);
  }
  return {
    status: answer.statusCode ?? 0,
    headers: answer.headers,
    body: Buffer.concat(chunks).subarray(0, maxBytes),
    truncated: size > maxBytes,
    url: url.href,
  };
}

/** Undefined where the answer is no redirect, or one that leads nowhere. */
function redirectTarget(answer: IncomingMessage, from: URL): URL | undefined {
  if (![301, 302, 303, 307, 308].includes(answer.statusCode ?? 0) || answer.headers.location === undefined) return undefined;
  return URL.parse(answer.headers.location, from.href) ?? undefined;
}

function usableUrl(url: URL | null, kind: 'protocol' | 'redirect', which: string): URL {
  if (!url || !['http:', 'https:'].includes(url.protocol)) throw new NetFault(kind, `${which} is not http or https`);
  if (url.username !== '' || url.password !== '') throw new NetFault(kind, `${which} holds a user name or password`);
  return url;
}

// Other headers may be secrets, whatever they are called.
const headersForStrangers = ['accept', 'accept-language', 'user-agent'];

function redirected(hop: Hop, status: number, url: URL): Hop {
  const isKept = status === 307 || status === 308 || hop.method === 'GET' || hop.method === 'HEAD';
  const isSameOrigin = url.origin === hop.url.origin;
  if (isKept && !isSameOrigin && hop.body !== undefined) throw new NetFault('redirect', 'the redirect leads to another origin');
  const mayKeep = (name: string) => (isSameOrigin ? isKept || !name.startsWith('content-') : headersForStrangers.includes(name));
  return {
    url,
    method: isKept ? hop.method : 'GET',
    headers: Object.fromEntries(Object.entries(hop.headers).filter(([name]) => mayKeep(name))),
    body: isKept ? hop.body : undefined,
  };
}

function lowerCased(headers: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
}

function answerWith(addresses: Awaited<ReturnType<typeof resolveHost>>): LookupFunction {
  return (_, { all }, callback) => {
    const [first] = addresses;
    if (all) callback(null, addresses);
    else callback(null, first?.address ?? '', first?.family);
  };
}

function orAborted<T>(work: Promise<T>, signal: AbortSignal, fault: NetFault): Promise<T> {
  const aborted = new Promise<never>((_, reject) => signal.addEventListener('abort', () => reject(fault), { once: true }));
  return Promise.race([work, aborted]);
}

function timedOut(kind: 'timeout' | 'our_side', what: string, { timeoutMs }: GuardedRequest): NetFault {
  return new NetFault(kind, `${what} after ${timeoutMs / 1000} s`);
}

function withExpiry(error: Error & { code?: string }, expiry: Date | undefined): Error {
  // It may be another certificate of the chain that has expired; then the date of this one would mislead.
  if (error.code !== 'CERT_HAS_EXPIRED' || !expiry || !(expiry.getTime() < Date.now())) return error;
  return new NetFault('tls', `TLS certificate expired on ${expiry.toISOString().slice(0, 10)}`);
}
