import type { IncomingMessage } from 'node:http';
import { isIPv6 } from 'node:net';
import type { ProblemCode } from '../errors.ts';

const maxHeaderCount = 200;

/** A problem found before the request reaches Koa. */
export type EarlyProblem = [code: ProblemCode, detail: string];

/** Checks the request line, the Host header and the number of headers, which Node's parser does not check. */
export function findRequestProblem({ url = '', rawHeaders, headers, httpVersion }: IncomingMessage): EarlyProblem | undefined {
  if (rawHeaders.length / 2 > maxHeaderCount) return ['headers_too_large', `A request can have at most ${maxHeaderCount} headers.`];
  if (!isValidTarget(url)) return ['malformed_request', 'The URL in the first line of the request is not valid.'];
  if (headers.host === undefined) return httpVersion === '1.1' ? ['malformed_request', 'The Host header is missing.'] : undefined;
  // `headers` contains only the first of several. A proxy may have looked at another one.
  if (rawHeaders.filter((name, index) => index % 2 === 0 && name.toLowerCase() === 'host').length > 1)
    return ['malformed_request', 'The Host header must not be given more than once.'];
  if (!isValidHost(headers.host)) return ['malformed_request', 'The Host header is not a host name with an optional port.'];
  return undefined;
}

/** A path, `*`, or the complete URL that a client sends to a proxy. */
function isValidTarget(target: string): boolean {
  return target.startsWith('/') || target === '*' || (/^https?:\/\//i.test(target) && URL.canParse(target));
}

/** A name, an IPv4 address or an IPv6 address in brackets, and a port. */
const hostAndPort = /^(?:(?:[\w.~!$&'()*+,;=-]|%[\da-f]{2})+|\[([\da-f:.]+)\])(?::(\d{0,5}))?$/i;

function isValidHost(host: string): boolean {
  const [matches, ipv6 = '::', port = ''] = hostAndPort.exec(host) ?? [];
  return matches !== undefined && isIPv6(ipv6) && Number(port) <= 65_535;
}
