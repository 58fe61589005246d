import http, { type IncomingHttpHeaders, type IncomingMessage } from 'node:http';
import https from 'node:https';
import { isIP, type LookupFunction } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { inSpan, traceHeaders } from '../telemetry/tracing.ts';
import { NetworkError, toNetworkError } from './network-error.ts';
import { type Net, resolveHost } from './resolve.ts';

export interface GuardedRequest {
  method?: string;
  headers?: Record<string, string>;
  body?: string | Buffer;
  /** For the whole request: DNS, connections, redirects, the last byte. */
  timeoutMs: number;
  /** How much of the response body is read before the connection is closed. */
  maxBytes: number;
  /** A response without Content-Length must end within this many bytes; otherwise it is an error. Not checked if absent. */
  maxUnsizedBytes?: number;
  /** With 0, a redirect is returned like any other response. */
  maxRedirects: number;
  /** Whether the receiver is told which trace the request belongs to. The targets of checks are not. */
  propagatesTrace?: boolean;
  /** Called when the head of a response arrives, also for a redirect. The request can still fail afterwards. */
  onResponse?: () => void;
}

export interface GuardedResponse {
  status: number;
  headers: IncomingHttpHeaders;
  body: Buffer;
  /** Whether the body was longer than `maxBytes`. */
  truncated: boolean;
  /** The URL of the response, after redirects. */
  url: string;
}

interface Hop {
  url: URL;
  method: string;
  headers: Record<string, string>;
  body: string | Buffer | undefined;
}

/**
 * The only way to request URLs that come from users. Each address is checked before connecting, and exactly the checked
 * address is used, again for every redirect. Throws NetworkError if there is no response.
 */
export async function guardedRequest(address: string, options: GuardedRequest, net: Net): Promise<GuardedResponse> {
  const deadline = new AbortController();
  const timer = setTimeout(() => deadline.abort(), options.timeoutMs);
  try {
    return await follow(address, options, net, deadline.signal);
  } catch (error) {
    if (deadline.signal.aborted && !(error instanceof NetworkError)) throw timedOut('timeout', 'timed out', options);
    throw toNetworkError(error);
  } finally {
    clearTimeout(timer);
  }
}

async function follow(address: string, options: GuardedRequest, net: Net, signal: AbortSignal): Promise<GuardedResponse> {
  const { method = 'GET', headers = {}, body, maxRedirects } = options;
  let hop: Hop = { url: usableUrl(URL.parse(address), 'protocol', 'the URL'), method, headers: lowerCased(headers), body };
  for (let redirects = 0; ; redirects++) {
    const response = await traceRequest(hop, () => sendRequest(hop, options, net, signal));
    options.onResponse?.();
    const target = maxRedirects > 0 ? redirectTarget(response, hop.url) : undefined;
    if (!target) return await read(response, hop.url, options);
    response.destroy();
    if (redirects === maxRedirects) throw new NetworkError('redirect', 'too many redirects');
    hop = redirected(hop, response.statusCode ?? 0, usableUrl(target, 'redirect', 'the redirect'));
  }
}

/** The path is no attribute, because that of a webhook is a secret. */
function traceRequest({ url, method }: Hop, send: () => Promise<IncomingMessage>): Promise<IncomingMessage> {
  const attributes = {
    'http.request.method': method,
    'server.address': url.hostname.replace(/^\[|\]$/g, ''),
    'server.port': Number(url.port) || (url.protocol === 'https:' ? 443 : 80),
    'url.scheme': url.protocol.slice(0, -1),
  };
  return inSpan(method, { kind: 'client', attributes }, async (addAttributes) => {
    const response = await send();
    const { statusCode = 0 } = response;
    addAttributes({ 'http.response.status_code': statusCode, 'error.type': statusCode >= 400 ? String(statusCode) : undefined });
    return response;
  });
}

// How long each of several addresses is tried before the next. Node's default of 250 ms is too short for a distant server.
const attemptTimeout = { autoSelectFamilyAttemptTimeout: 1000 };

/** Sends one request on its own connection and resolves with the head of the response. */
async function sendRequest(
  { url, method, headers, body }: Hop,
  options: GuardedRequest,
  net: Net,
  signal: AbortSignal,
): Promise<IncomingMessage> {
  const host = url.hostname.replace(/^\[|\]$/g, '');
  // If there is no response from DNS at all, the problem is most likely our own resolver: unknown names get a response.
  const dnsTimeout = new NetworkError('local', `DNS did not respond within ${options.timeoutMs / 1000} s`);
  const addresses = await orAborted(resolveHost(host, net), signal, dnsTimeout);
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
        ...(options.propagatesTrace && traceHeaders()),
        'accept-encoding': 'identity', // Nothing is decompressed, so a small response cannot become a huge one.
        ...(body !== undefined && { 'content-length': Buffer.byteLength(body) }),
      },
      agent: false,
      signal,
      // Node calls lookup only for names. A host that is an IP address was checked and is used as it is.
      lookup: fixedLookup(addresses),
      ...attemptTimeout,
      servername: isIP(host) === 0 ? host.replace(/\.$/, '') : '',
      rejectUnauthorized: true, // NODE_TLS_REJECT_UNAUTHORIZED must not disable it.
    });
    let certificateExpiry: Date | undefined;
    request.once('socket', (socket) => {
      // Runs before Node verifies the certificate, because it is not available afterwards.
      socket.prependOnceListener('secure', () => {
        certificateExpiry = new Date((socket as TLSSocket).getPeerCertificate().valid_to);
      });
    });
    request.on('error', (error) => reject(withExpiry(error, certificateExpiry)));
    request.once('upgrade', (_, socket) => {
      socket.destroy();
      reject(new NetworkError('protocol', 'the response switches to another protocol'));
    });
    // A connection can close without a response and without an error. The promise must settle anyway.
    const rejectClosed = () => reject(new NetworkError('reset', 'connection closed before the response was complete'));
    request.once('close', rejectClosed);
    request.once('response', (response) => {
      request.off('close', rejectClosed);
      response.on('error', () => {}); // The reader gets the error. After a redirect there is no reader.
      if ((response.statusCode ?? 0) >= 100) return resolve(response);
      response.destroy();
      reject(new NetworkError('protocol', 'the response is not valid HTTP'));
    });
    request.end(body);
  });
}

async function read(response: IncomingMessage, url: URL, { maxBytes, maxUnsizedBytes = 0 }: GuardedRequest): Promise<GuardedResponse> {
  const mustEndWithin = response.headers['content-length'] === undefined ? maxUnsizedBytes : 0;
  const chunks: Buffer[] = [];
  let size = 0;
  // Leaving the loop destroys the response and its connection.
  for await (const chunk of response as AsyncIterable<Buffer>) {
    if (size <= maxBytes) chunks.push(chunk);
    size += chunk.length;
    if (size > maxBytes && mustEndWithin === 0) break;
    if (mustEndWithin > 0 && size > mustEndWithin)
      throw new NetworkError('protocol', `the response did not end within ${mustEndWithin} bytes`);
  }
  return {
    status: response.statusCode ?? 0,
    headers: response.headers,
    body: Buffer.concat(chunks).subarray(0, maxBytes),
    truncated: size > maxBytes,
    url: url.href,
  };
}

/** Returns undefined if the response is not a redirect or has no usable Location. */
function redirectTarget(response: IncomingMessage, from: URL): URL | undefined {
  if (![301, 302, 303, 307, 308].includes(response.statusCode ?? 0) || response.headers.location === undefined) return undefined;
  return URL.parse(response.headers.location, from.href) ?? undefined;
}

function usableUrl(url: URL | null, kind: 'protocol' | 'redirect', which: string): URL {
  if (!url || !['http:', 'https:'].includes(url.protocol)) throw new NetworkError(kind, `${which} is not http or https`);
  if (url.username !== '' || url.password !== '') throw new NetworkError(kind, `${which} contains a user name or password`);
  return url;
}

// The only headers that are sent to another origin. Any other header may contain a secret.
const crossOriginHeaders = ['accept', 'accept-language', 'user-agent'];

function redirected(hop: Hop, status: number, url: URL): Hop {
  const keepsMethod = status === 307 || status === 308 || hop.method === 'GET' || hop.method === 'HEAD';
  const isSameOrigin = url.origin === hop.url.origin;
  if (keepsMethod && !isSameOrigin && hop.body !== undefined)
    throw new NetworkError('redirect', 'a redirect to another origin cannot repeat the request body');
  const mayKeep = (name: string) => (isSameOrigin ? keepsMethod || !name.startsWith('content-') : crossOriginHeaders.includes(name));
  return {
    url,
    method: keepsMethod ? hop.method : 'GET',
    headers: Object.fromEntries(Object.entries(hop.headers).filter(([name]) => mayKeep(name))),
    body: keepsMethod ? hop.body : undefined,
  };
}

function lowerCased(headers: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
}

function fixedLookup(addresses: Awaited<ReturnType<typeof resolveHost>>): LookupFunction {
  return (_, { all }, callback) => {
    const [first] = addresses;
    if (all) callback(null, addresses);
    else callback(null, first?.address ?? '', first?.family);
  };
}

function orAborted<T>(work: Promise<T>, signal: AbortSignal, timeout: NetworkError): Promise<T> {
  const aborted = new Promise<never>((_, reject) => signal.addEventListener('abort', () => reject(timeout), { once: true }));
  return Promise.race([work, aborted]);
}

function timedOut(kind: 'timeout' | 'local', what: string, { timeoutMs }: GuardedRequest): NetworkError {
  return new NetworkError(kind, `${what} after ${timeoutMs / 1000} s`);
}

function withExpiry(error: Error & { code?: string }, expiry: Date | undefined): Error {
  // Another certificate of the chain may have expired. The date of this one would then be misleading.
  if (error.code !== 'CERT_HAS_EXPIRED' || !expiry || !(expiry.getTime() < Date.now())) return error;
  return new NetworkError('tls', `TLS certificate expired on ${expiry.toISOString().slice(0, 10)}`);
}
