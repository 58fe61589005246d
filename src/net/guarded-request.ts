import type { LookupAddress } from 'node:dns';
import type { IncomingHttpHeaders } from 'node:http';
import { inSpan, traceHeaders } from '../telemetry/tracing.ts';
import { hostOf } from './connection.ts';
import type { Cookies } from './cookies.ts';
import { Deadline } from './deadline.ts';
import { exchangeHttp1, type Head, type Hop, Http1Refused, type Limits, type Response } from './http1.ts';
import { NetworkError, toNetworkError } from './network-error.ts';
import { type Net, resolveHost } from './resolve.ts';

export interface GuardedRequest {
  /** Whose request it is. The users share equally the time that it takes to parse responses. */
  userId?: number;
  method?: string;
  headers?: Record<string, string>;
  body?: string | Buffer;
  /** The names of the headers that must not be sent to another origin. If it is absent, all but the harmless ones must not. */
  secretNames?: readonly string[];
  /** For the whole request: DNS, connections, redirects, the last byte. */
  timeoutMs: number;
  /** How much of the response body is read before the connection is closed. */
  maxBytes: number;
  /** With 0, a redirect is returned like any other response. */
  maxRedirects: number;
  /** Whether the request is complete with this head. The body is then not waited for. */
  endsWithHead?: (headers: IncomingHttpHeaders) => boolean;
  /** Whether cookies that a redirect sets are sent on the rest of its way. They are forgotten afterwards. */
  keepsCookies?: boolean;
  /** Whether the certificate of the server must be valid. True by default. */
  verifiesTls?: boolean;
  /** Whether the receiver is told which trace the request belongs to. The targets of checks are not. */
  propagatesTrace?: boolean;
  /** Called with the time at which the certificate of the URL's server expires, also if it is not valid. Redirects do not count. */
  onCertificate?: (expiresAt: Date) => void;
  /** Called when the head of a response arrives, also for a redirect. The request can still fail afterwards. */
  onResponse?: () => void;
}

export interface GuardedResponse extends Response {
  /** The URL of the response, after redirects. */
  url: string;
}

/**
 * The only way to request URLs that come from users. Each address is checked before connecting, and exactly the checked
 * address is used, again for every redirect. Throws NetworkError if there is no response.
 */
export async function guardedRequest(address: string, options: GuardedRequest, net: Net): Promise<GuardedResponse> {
  const deadline = new Deadline(options.timeoutMs);
  try {
    return await follow(address, options, net, deadline);
  } catch (error) {
    throw toNetworkError(error);
  } finally {
    deadline.clear();
  }
}

async function follow(address: string, options: GuardedRequest, net: Net, deadline: Deadline): Promise<GuardedResponse> {
  const {
    userId = 0,
    method = 'GET',
    headers = {},
    body,
    verifiesTls,
    maxBytes,
    maxRedirects,
    endsWithHead,
    keepsCookies,
    onResponse,
  } = options;
  const url = usableUrl(URL.parse(address), 'protocol', 'the URL');
  let hop: Hop = { url, userId, method, headers: lowerCased(headers), body, verifiesTls, onCertificate: options.onCertificate };
  let cookies: Cookies | undefined;
  for (let redirects = 0; ; redirects++) {
    let target: URL | undefined;
    const bytesWanted = (head: Head) => {
      onResponse?.();
      target = maxRedirects > 0 ? redirectTarget(head, hop.url) : undefined;
      return target || endsWithHead?.(head.headers) ? 0 : maxBytes;
    };
    const request = { ...hop, headers: headersOf(hop, cookies?.headerFor(hop.url)) };
    const response = await sendRequest(request, options, net, { deadline, bytesWanted });
    if (!target) return { ...response, url: hop.url.href };
    if (redirects === maxRedirects) throw new NetworkError('redirect', 'too many redirects');
    const setCookie = response.headers['set-cookie'];
    if (keepsCookies && setCookie) {
      cookies ??= new (await import('./cookies.ts')).Cookies();
      cookies.store(setCookie, hop.url);
    }
    hop = redirected(hop, response.status, usableUrl(target, 'redirect', 'the redirect'), options.secretNames);
  }
}

function headersOf({ headers, body }: Hop, cookie: string | undefined): Record<string, string> {
  return {
    'user-agent': 'Sitekeeper',
    accept: '*/*',
    ...headers,
    ...(cookie !== undefined && { cookie: [headers.cookie, cookie].filter(Boolean).join('; ') }),
    'accept-encoding': 'identity', // Nothing is decompressed, so a small response cannot become a huge one.
    ...(body !== undefined && { 'content-length': String(Buffer.byteLength(body)) }),
  };
}

/** Sends one request and records it as a span. The path is no attribute, because that of a webhook is a secret. */
function sendRequest(hop: Hop, { propagatesTrace }: GuardedRequest, net: Net, limits: Limits): Promise<Response> {
  const { url, method } = hop;
  const host = hostOf(url);
  const attributes = {
    'http.request.method': method,
    'server.address': host,
    'server.port': Number(url.port) || (url.protocol === 'https:' ? 443 : 80),
    'url.scheme': url.protocol.slice(0, -1),
  };
  return inSpan(method, { kind: 'client', attributes }, async (addAttributes) => {
    const addresses = await limits.deadline.limit(resolveHost(host, net), () => 'dns');
    const bytesWanted = (head: Head) => {
      const { status } = head;
      addAttributes({ 'http.response.status_code': status, 'error.type': status >= 400 ? String(status) : undefined });
      return limits.bytesWanted(head);
    };
    const traced = propagatesTrace ? { ...hop, headers: { ...hop.headers, ...traceHeaders() } } : hop;
    return exchange(traced, addresses, { ...limits, bytesWanted });
  });
}

/** HTTP/1.1 costs least, and almost every server speaks it. Only those that refuse it get the request over HTTP/2. */
async function exchange(hop: Hop, addresses: LookupAddress[], limits: Limits): Promise<Response> {
  try {
    return await exchangeHttp1(hop, addresses, limits);
  } catch (error) {
    if (!(error instanceof Http1Refused)) throw error;
    const { exchangeHttp2, Http2Refused } = await import('./http2.ts');
    return await exchangeHttp2(hop, addresses, limits).catch((http2Error: unknown) => {
      throw http2Error instanceof Http2Refused ? error.cause : http2Error;
    });
  }
}

/** Returns undefined if the response is not a redirect or has no usable Location. */
function redirectTarget({ status, headers }: Head, from: URL): URL | undefined {
  if (![301, 302, 303, 307, 308].includes(status) || headers.location === undefined) return undefined;
  return URL.parse(headers.location, from.href) ?? undefined;
}

function usableUrl(url: URL | null, kind: 'protocol' | 'redirect', which: string): URL {
  if (!url || !['http:', 'https:'].includes(url.protocol)) throw new NetworkError(kind, `${which} is not http or https`);
  if (url.username !== '' || url.password !== '') throw new NetworkError(kind, `${which} contains a user name or password`);
  return url;
}

// The only headers that are sent to another origin if it is not known which are secrets.
const harmlessHeaders = ['accept', 'accept-language', 'user-agent'];

function redirected(hop: Hop, status: number, url: URL, secretNames: readonly string[] | undefined): Hop {
  const keepsMethod = ['GET', 'HEAD'].includes(hop.method) || (hop.method === 'POST' ? [307, 308].includes(status) : status !== 303);
  const isSameOrigin = url.origin === hop.url.origin;
  if (keepsMethod && !isSameOrigin && hop.body !== undefined)
    throw new NetworkError('redirect', 'a redirect to another origin cannot repeat the request body');
  const secrets = secretNames?.map((name) => name.toLowerCase());
  const maySend = (name: string) => isSameOrigin || (secrets ? !secrets.includes(name) : harmlessHeaders.includes(name));
  const mayKeep = (name: string) => maySend(name) && (keepsMethod || !name.startsWith('content-'));
  return {
    ...hop,
    onCertificate: undefined,
    url,
    method: keepsMethod ? hop.method : 'GET',
    headers: Object.fromEntries(Object.entries(hop.headers).filter(([name]) => mayKeep(name))),
    body: keepsMethod ? hop.body : undefined,
  };
}

function lowerCased(headers: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
}
